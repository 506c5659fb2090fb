/* SPDX-License-Identifier: MIT
 *
 * Rotations: keys and tensors.  What config.json has of them stands in
 * rope_parameters, of late for each kind of layer, or, before that, in
 * rope_scaling and values beside it; files that have both must say the same. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"

static const char where[] = "rope_parameters";

struct rope {
    const json_t *o; /* an object, or NULL */
    double theta, partial, original, context;
    int64_t dims;
    const char *type;
};

static int unsupported(const struct convert *c, const char *what,
                       const char *value, struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED,
                   "%s/config.json: '%s': '%.40s' is not supported", c->hf.dir,
                   what, value);
}

static int must(double *v, const struct rope *r, const char *key,
                const struct convert *c, struct err *e)
{
    int rc = hfconfig_num_in(v, r->o, key, where, &c->hf, e);

    if (!rc)
        return err_set(e, ERR_FORMAT, "%s/config.json: '%s' has no '%s'",
                       c->hf.dir, where, key);
    if (rc > 0 && !(*v > 0))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: '%s': '%s': %g is not above 0",
                       c->hf.dir, where, key, *v);
    return rc < 0 ? -1 : 0;
}

/* ---- what is said where ---- */

static const char *type_of(const json_t *o)
{
    const char *s = json_string_value(json_object_get(o, "rope_type"));

    s = s ? s : json_string_value(json_object_get(o, "type"));
    return s ? s : "default";
}

/* The old form beside the new one: no value of it differs. */
static int check_old(const struct convert *c, const json_t *old,
                     const json_t *now, struct err *e)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)old, key, v)
    {
        const json_t *w = json_object_get(now, key);

        if (!strcmp(key, "type") || !strcmp(key, "rope_type") ||
            json_is_null(v))
            continue;
        if (json_is_number(v) && json_is_number(w)
                ? json_number_value(v) != json_number_value(w)
                : !json_equal(v, w))
            return err_set(e, ERR_FORMAT,
                           "%s/config.json: 'rope_scaling' and "
                           "'rope_parameters' differ in '%.60s'",
                           c->hf.dir, key);
    }
    if (old && strcmp(type_of(old), type_of(now)))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: 'rope_scaling' and 'rope_parameters' "
                       "differ in their type",
                       c->hf.dir);
    return 0;
}

/* A number that stands in O, or under NAMES in config.json; in both the same.
 */
static int twice(double *v, struct convert *c, const json_t *o, const char *key,
                 const char *names, struct err *e)
{
    double in = 0, beside = 0;
    int a = hfconfig_num_in(&in, o, key, where, &c->hf, e),
        b = hfconfig_num(&beside, &c->hf, names, e);

    if (a < 0 || b < 0)
        return -1;
    if (a && b && in != beside)
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: '%s' is %g there and %g in '%s'",
                       c->hf.dir, key, beside, in, where);
    if (a || b)
        *v = a ? in : beside;
    return 0;
}

/* An object, or null, under NAME. */
static int object(json_t **o, struct convert *c, const char *name,
                  struct err *e)
{
    *o = hfconfig_get(&c->hf, name);
    if (*o && !json_is_object(*o))
        return err_set(e, ERR_FORMAT, "%s/config.json: '%s' is no object",
                       c->hf.dir, name);
    return 0;
}

/* ---- scalings ---- */

static int linear(struct convert *c, const struct rope *r, struct err *e)
{
    double factor;

    if (must(&factor, r, "factor", c, e))
        return -1;
    return convert_put_str(c, "rope.scaling.type", "linear", e) ||
                   convert_put_f32(c, "rope.scaling.factor", factor, e)
               ? -1
               : 0;
}

/* Pairs that turn seldom are divided by the factor, those that turn often stay,
 * and between there is a line: divisors for each (rope_freqs). */
static int llama3(struct convert *c, const struct rope *r, struct err *e)
{
    static const double two_pi = 6.283185307179586;
    double factor, low, high, old;
    uint64_t n = (uint64_t)r->dims / 2;
    float *v;
    int rc;

    if (must(&factor, r, "factor", c, e) ||
        must(&low, r, "low_freq_factor", c, e) ||
        must(&high, r, "high_freq_factor", c, e) ||
        must(&old, r, "original_max_position_embeddings", c, e))
        return -1;
    if (!(high > low))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: '%s': 'high_freq_factor' is not above "
                       "'low_freq_factor'",
                       c->hf.dir, where);
    v = calloc(n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (uint64_t i = 0; i < n; i++) {
        double turns =
            old * pow(r->theta, -2.0 * (double)i / (double)r->dims) / two_pi;
        double smooth = (turns - low) / (high - low);

        if (turns > high)
            v[i] = 1;
        else if (turns < low)
            v[i] = (float)factor;
        else
            v[i] = (float)(1 / ((1 - smooth) / factor + smooth));
    }
    rc = convert_make(c, "rope_freqs.weight", v, n, e);
    free(v);
    return rc;
}

static int yarn_times(struct convert *c, const struct rope *r, double factor,
                      struct err *e)
{
    double attn = 0, m = 0, all = 0, a, b;
    int has =
        hfconfig_num_in(&attn, r->o, "attention_factor", where, &c->hf, e);

    if (has < 0 || hfconfig_num_in(&m, r->o, "mscale", where, &c->hf, e) < 0 ||
        hfconfig_num_in(&all, r->o, "mscale_all_dim", where, &c->hf, e) < 0)
        return -1;
    if (has)
        return convert_put_f32(c, "rope.scaling.yarn_attn_factor", attn, e);
    if (m == 0 || all == 0)
        return 0;
    if (m == 1)
        return convert_put_f32(c, "rope.scaling.yarn_log_multiplier", all, e);
    a = factor <= 1 ? 1 : 0.1 * m * log(factor) + 1;
    b = factor <= 1 ? 1 : 0.1 * all * log(factor) + 1;
    return convert_put_f32(c, "rope.scaling.yarn_attn_factor", a / b, e);
}

static int yarn(struct convert *c, const struct rope *r, struct err *e)
{
    double factor = r->original > 0 ? r->context / r->original : 1, beta = 0;
    double original = r->original > 0 ? r->original : r->context, v;
    const json_t *truncate = json_object_get(r->o, "truncate");

    if (json_is_false(truncate))
        return unsupported(c, where, "truncate: false", e);
    if (hfconfig_num_in(&factor, r->o, "factor", where, &c->hf, e) < 0 ||
        convert_put_str(c, "rope.scaling.type", "yarn", e) ||
        convert_put_f32(c, "rope.scaling.factor", factor, e) ||
        convert_put_u32(c, "rope.scaling.original_context_length",
                        (int64_t)original, e))
        return -1;
    v = 32;
    if (hfconfig_num_in(&v, r->o, "beta_fast", where, &c->hf, e) < 0 ||
        convert_put_f32(c, "rope.scaling.yarn_beta_fast", v, e))
        return -1;
    v = 1;
    if (hfconfig_num_in(&v, r->o, "beta_slow", where, &c->hf, e) < 0 ||
        convert_put_f32(c, "rope.scaling.yarn_beta_slow", v, e))
        return -1;
    if (yarn_times(c, r, factor, e))
        return -1;
    switch (hfconfig_num_in(&beta, r->o, "llama_4_scaling_beta", where, &c->hf,
                            e)) {
    case 0:
        return 0;
    case 1:
        if (strcmp(c->m->arch, "mistral3"))
            return unsupported(c, where, "llama_4_scaling_beta", e);
        return convert_put_f32(c, "attention.temperature_scale", beta, e);
    default:
        return -1;
    }
}

static int factors(struct convert *c, const struct rope *r, const char *key,
                   const char *tensor, struct err *e)
{
    const json_t *a = json_object_get(r->o, key);
    size_t n = json_array_size(a);
    float *v;
    int rc = 0;

    if (!json_is_array(a) || (int64_t)n * 2 != r->dims)
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: '%s': '%s' has not %lld numbers",
                       c->hf.dir, where, key, (long long)r->dims / 2);
    v = calloc(n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(a, i);

        v[i] = (float)json_number_value(x);
        if (!json_is_number(x) || !(v[i] > 0 && isfinite(v[i])))
            rc = err_set(e, ERR_FORMAT,
                         "%s/config.json: '%s': '%s': number %zu is not above "
                         "0",
                         c->hf.dir, where, key, i);
    }
    if (!rc)
        rc = convert_make(c, tensor, v, n, e);
    free(v);
    return rc;
}

static int longrope(struct convert *c, const struct rope *r, struct err *e)
{
    double factor, attn = 1;
    int rc;

    if (!(r->original > 1))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: 'original_max_position_embeddings' is "
                       "missing, or not above 1",
                       c->hf.dir);
    factor = r->context / r->original;
    if (hfconfig_num_in(&factor, r->o, "factor", where, &c->hf, e) < 0)
        return -1;
    if (factor > 1)
        attn = sqrt(1 + log(factor) / log(r->original));
    rc = hfconfig_num_in(&attn, r->o, "attention_factor", where, &c->hf, e);
    if (rc < 0 || convert_put_str(c, "rope.scaling.type", "longrope", e) ||
        convert_put_f32(c, "rope.scaling.attn_factor", attn, e) ||
        convert_put_u32(c, "rope.scaling.original_context_length",
                        (int64_t)r->original, e) ||
        factors(c, r, "long_factor", "rope_factors_long.weight", e) ||
        factors(c, r, "short_factor", "rope_factors_short.weight", e))
        return -1;
    return 0;
}

static int none(struct convert *c, const struct rope *r, struct err *e)
{
    (void)c, (void)r, (void)e;
    return 0;
}

/* What each type of scaling is made of; no other value may stand there. */
#define ANY "rope_type|type|rope_theta|partial_rotary_factor"
static const struct {
    const char *type, *keys;
    int (*put)(struct convert *c, const struct rope *r, struct err *e);
} scalings[] = {
    {"default", ANY "|original_max_position_embeddings", none},
    {"linear", ANY "|factor|original_max_position_embeddings", linear},
    {"llama3",
     ANY "|factor|low_freq_factor|high_freq_factor|"
         "original_max_position_embeddings",
     llama3},
    {"yarn",
     ANY "|factor|original_max_position_embeddings|beta_fast|beta_slow|mscale|"
         "mscale_all_dim|attention_factor|llama_4_scaling_beta|truncate|"
         "finetuned",
     yarn},
    {"longrope",
     ANY "|factor|original_max_position_embeddings|attention_factor|"
         "long_factor|short_factor",
     longrope},
};

static int put_scaling(struct convert *c, const struct rope *r, struct err *e)
{
    /* Its first name. */
    const char *type = strcmp(r->type, "su") ? r->type : "longrope", *key;
    json_t *v;

    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        if (strcmp(type, scalings[i].type))
            continue;
        json_object_foreach(
            (json_t *)(uintptr_t)r->o, key,
            v) if (!hfconfig_among(key, scalings[i].keys) &&
                   !json_is_null(v)) return unsupported(c, where, key, e);
        return scalings[i].put(c, r, e);
    }
    return unsupported(c, "rope_type", r->type, e);
}

/* ---- the whole ---- */

/* Numbers of R, which O, for all layers or those that see everything, has. */
static int read_rope(struct rope *r, struct convert *c, json_t *o,
                     struct err *e)
{
    r->o = o;
    r->type = type_of(o);
    r->theta = c->m->theta;
    r->partial = c->m->partial > 0 ? c->m->partial : 1;
    r->context = (double)convert_size(c, 'P');
    if (twice(&r->theta, c, o, "rope_theta",
              "rope_theta|global_rope_theta|rotary_emb_base", e) ||
        twice(&r->partial, c, o, "partial_rotary_factor",
              "partial_rotary_factor", e) ||
        twice(&r->original, c, o, "original_max_position_embeddings",
              "original_max_position_embeddings", e))
        return -1;
    if (!(r->theta > 1) || !(r->partial > 0 && r->partial <= 1) ||
        !(r->original >= 0 && r->original < 1e9))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: a value of rope is out of range",
                       c->hf.dir);
    r->dims = (int64_t)((double)convert_size(c, 'H') * r->partial);
    if (r->dims < 2 || r->dims % 2)
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: rope would turn %lld elements of a "
                       "head",
                       c->hf.dir, (long long)r->dims);
    if (c->m->flags & CONVERT_PAIRS && r->dims != convert_size(c, 'H'))
        return unsupported(c, "partial_rotary_factor", "a part of a head", e);
    return 0;
}

/* The base of layers that see a window, which have no scaling. */
static int windows(struct convert *c, const json_t *o, struct err *e)
{
    double theta = c->m->window_theta;
    const char *key;
    json_t *v;

    if (!(theta > 0) && !o)
        return 0;
    if (!(c->m->flags & CONVERT_NO_SCALING) && !(theta > 0))
        return unsupported(c, where, "sliding_attention", e);
    if (strcmp(type_of(o), "default"))
        return unsupported(c, "rope_type of sliding_attention", type_of(o), e);
    json_object_foreach(
        (json_t *)(uintptr_t)o, key,
        v) if (!hfconfig_among(key, "rope_type|type|rope_theta") &&
               !json_is_null(v)) return unsupported(c, where, key, e);
    if (twice(&theta, c, o, "rope_theta",
              "rope_local_base_freq|local_rope_theta", e))
        return -1;
    if (!(theta > 1))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: a value of rope is out of range",
                       c->hf.dir);
    return convert_put_f32(c, "rope.freq_base_swa", theta, e);
}

int convert_rope(struct convert *c, struct err *e)
{
    json_t *now, *old, *full, *slide;
    struct rope r = {0};

    if (c->m->flags & CONVERT_NO_ROPE)
        return 0;
    if (object(&now, c, "rope_parameters", e) ||
        object(&old, c, "rope_scaling", e))
        return -1;
    full = json_object_get(now, "full_attention");
    slide = json_object_get(now, "sliding_attention");
    if (full || slide) {
        const char *key;
        json_t *v;

        json_object_foreach(
            now, key,
            v) if (!hfconfig_among(key, "full_attention|sliding_attention") ||
                   !json_is_object(v)) return unsupported(c, where, key, e);
        now = full;
    }
    if (now && check_old(c, old, now, e))
        return -1;
    if (read_rope(&r, c, now ? now : old, e) ||
        convert_put_f32(c, "rope.freq_base", r.theta, e) ||
        windows(c, slide, e) ||
        convert_put_u32(c, "rope.dimension_count", r.dims, e))
        return -1;
    return put_scaling(c, &r, e);
}
