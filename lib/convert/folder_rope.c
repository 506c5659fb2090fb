/* SPDX-License-Identifier: MIT
 *
 * Rotations, as config.json has them: in rope_parameters, and in rope_theta and
 * rope_scaling, which is where programs looked before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert/folder_impl.h"

struct rope {
    double theta, partial, context;
    int64_t dims;
    json_t *o; /* of the scaling; "rope_type" first */
};

static int refuse(const struct folder *f, const char *what, struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "%s: %s", gguf_path(f->g), what);
}

static void put(struct folder *f, json_t *o, const char *name, json_t *v)
{
    if (json_object_set_new(o, name, v))
        f->nomem = true;
}

static void put_num(struct folder *f, json_t *o, const char *name, double v)
{
    put(f, o, name, json_real(folder_shortest(v)));
}

/* The number of a key, as NAME, when there is one. */
static int copy_num(struct folder *f, const struct rope *r, const char *key,
                    const char *name, struct err *e)
{
    double v;
    int rc = folder_num(&v, f, key, e);

    if (rc > 0)
        put_num(f, r->o, name, v);
    return rc < 0 ? -1 : 0;
}

/* ---- scalings ---- */

static int linear(struct folder *f, const struct rope *r, struct err *e)
{
    return copy_num(f, r, "rope.scaling.factor", "factor", e);
}

static int original(int64_t *v, struct folder *f, const struct rope *r,
                    struct err *e)
{
    int rc = folder_int(v, f, "rope.scaling.original_context_length", e);

    if (!rc)
        return refuse(f, "rope.scaling: no original_context_length", e);
    if (rc > 0)
        put(f, r->o, "original_max_position_embeddings", json_integer(*v));
    return rc < 0 ? -1 : 0;
}

static int yarn(struct folder *f, const struct rope *r, struct err *e)
{
    int64_t old;
    double all;
    int rc;

    if (copy_num(f, r, "rope.scaling.factor", "factor", e) ||
        original(&old, f, r, e) ||
        copy_num(f, r, "rope.scaling.yarn_beta_fast", "beta_fast", e) ||
        copy_num(f, r, "rope.scaling.yarn_beta_slow", "beta_slow", e) ||
        copy_num(f, r, "rope.scaling.yarn_attn_factor", "attention_factor",
                 e) ||
        copy_num(f, r, "attention.temperature_scale", "llama_4_scaling_beta",
                 e))
        return -1;
    rc = folder_num(&all, f, "rope.scaling.yarn_log_multiplier", e);
    if (rc > 0 && all != 0) {
        put_num(f, r->o, "mscale", 1);
        put_num(f, r->o, "mscale_all_dim", all);
    }
    return rc < 0 ? -1 : 0;
}

static int factors(struct folder *f, const struct rope *r, const char *tensor,
                   const char *name, struct err *e)
{
    const struct gguf_tensor *t = folder_find(f, tensor);
    json_t *a = json_array();

    if (!t || t->type != GGUF_T_F32 || t->ndim != 1 ||
        (int64_t)t->ne[0] * 2 != r->dims) {
        json_decref(a);
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: tensor '%s': is not of %lld floats",
                       gguf_path(f->g), tensor, (long long)r->dims / 2);
    }
    for (uint64_t i = 0; i < t->ne[0]; i++)
        json_array_append_new(a,
                              json_real(folder_shortest(rd_f32(t->p + 4 * i))));
    put(f, r->o, name, a);
    return 0;
}

static int longrope(struct folder *f, const struct rope *r, struct err *e)
{
    double attn = 0, usual = 1, factor;
    int64_t old = 0;
    int rc = folder_num(&attn, f, "rope.scaling.attn_factor", e);

    if (rc < 0 || original(&old, f, r, e) ||
        factors(f, r, "rope_factors_long.weight", "long_factor", e) ||
        factors(f, r, "rope_factors_short.weight", "short_factor", e))
        return -1;
    folder_set(f, "original_max_position_embeddings", json_integer(old));
    factor = old > 1 ? r->context / (double)old : 1;
    if (factor > 1)
        usual = sqrt(1 + log(factor) / log((double)old));
    if (rc && fabs(attn - usual) > 1e-6 * usual)
        put_num(f, r->o, "attention_factor", attn);
    return 0;
}

/* What the way there makes of these values. */
static float divisor(double turns, double factor, double low, double high)
{
    double smooth = (turns - low) / (high - low);

    return turns > high  ? 1
           : turns < low ? (float)factor
                         : (float)(1 / ((1 - smooth) / factor + smooth));
}

static bool is_llama3(const struct gguf_tensor *t, const struct rope *r,
                      double factor, double old)
{
    for (uint64_t i = 0; i < t->ne[0]; i++) {
        double turns = old * pow(r->theta, -2.0 * (double)i / (double)r->dims) /
                       6.283185307179586;
        float want = divisor(turns, factor, 1, 4), is = rd_f32(t->p + 4 * i);

        if (!(fabsf(want - is) <= 2e-6f * fabsf(want)))
            return false;
    }
    return true;
}

/* Divisors of each pair: they were made of four values, of which two are the
 * same in all models, one is the greatest divisor, and one a power of 2. */
static int llama3(struct folder *f, const struct rope *r, struct err *e)
{
    const struct gguf_tensor *t = folder_find(f, "rope_freqs.weight");
    float factor = 0;

    if (t->type != GGUF_T_F32 || t->ndim != 1 ||
        (int64_t)t->ne[0] * 2 != r->dims)
        return refuse(f, "tensor 'rope_freqs.weight': has another size", e);
    for (uint64_t i = 0; i < t->ne[0]; i++)
        factor = fmaxf(factor, rd_f32(t->p + 4 * i));
    for (double old = 2; old < 0x1p24; old *= 2) {
        if (!is_llama3(t, r, factor, old))
            continue;
        put_num(f, r->o, "factor", factor);
        put_num(f, r->o, "low_freq_factor", 1);
        put_num(f, r->o, "high_freq_factor", 4);
        put(f, r->o, "original_max_position_embeddings",
            json_integer((json_int_t)old));
        return 0;
    }
    return refuse(f,
                  "tensor 'rope_freqs.weight': no values of config.json are "
                  "known to make it",
                  e);
}

static int scaling(struct folder *f, const struct rope *r, struct err *e)
{
    static const struct {
        const char *type;
        int (*put)(struct folder *f, const struct rope *r, struct err *e);
    } types[] = {{"linear", linear}, {"yarn", yarn}, {"longrope", longrope}};
    const struct gguf_val *v = folder_key(f, "rope.scaling.type");
    const unsigned char *p = v ? v->p : NULL;
    struct gguf_str s = {"none", 4};

    folder_key(f, "rope.scaling.finetuned");
    if (v && v->type != GGUF_STR)
        return refuse(f, "rope.scaling.type is no string", e);
    if (v)
        s = gguf_str_next(&p);
    if (s.n == 4 && !memcmp(s.p, "none", 4)) {
        if (!gguf_tensor(f->g, "rope_freqs.weight"))
            return 0;
        put(f, r->o, "rope_type", json_string("llama3"));
        return llama3(f, r, e);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (s.n == strlen(types[i].type) && !memcmp(s.p, types[i].type, s.n)) {
            put(f, r->o, "rope_type", json_string(types[i].type));
            return types[i].put(f, r, e);
        }
    return err_set(e, ERR_UNSUPPORTED,
                   "%s: key '%s.rope.scaling.type': '%.*s' is not supported",
                   gguf_path(f->g), f->m->arch, (int)(s.n < 40 ? s.n : 40),
                   s.p);
}

/* ---- the whole ---- */

/* Not where it is the whole head, which most models take for granted. */
static bool says_partial(const struct folder *f, const struct rope *r)
{
    return r->partial < 1 || f->m->partial > 0;
}

/* The same as rope_theta, rope_scaling and what stands beside them. */
static void put_old(struct folder *f, const struct rope *r)
{
    if (json_object_size(r->o)) {
        json_t *copy = json_deep_copy(r->o), *type;

        type = json_object_get(copy, "rope_type");
        if (type && json_object_set(copy, "type", type))
            f->nomem = true;
        folder_set(f, "rope_scaling", copy);
    }
    folder_set(f, "rope_theta", json_real(folder_shortest(r->theta)));
}

static void put_new(struct folder *f, const struct rope *r, double window)
{
    json_t *all = json_deep_copy(r->o), *o = all, *slide;

    if (!json_object_get(all, "rope_type"))
        put(f, all, "rope_type", json_string("default"));
    put_num(f, all, "rope_theta", r->theta);
    if (says_partial(f, r))
        put_num(f, all, "partial_rotary_factor", r->partial);
    if (window > 0) {
        o = json_object();
        slide = json_pack("{s:s,s:f}", "rope_type", "default", "rope_theta",
                          folder_shortest(window));
        put(f, o, "full_attention", all);
        put(f, o, "sliding_attention", slide);
    }
    folder_set(f, "rope_parameters", o);
}

int folder_rope(struct folder *f, struct err *e)
{
    struct rope r = {.theta = f->m->theta,
                     .partial = f->m->partial > 0 ? f->m->partial : 1,
                     .context = (double)folder_size(f, 'P')};
    double window = f->m->window_theta;
    int64_t head = folder_size(f, 'H');
    int rc;

    if (f->m->flags & CONVERT_NO_ROPE)
        return 0;
    r.dims = (int64_t)((double)head * r.partial);
    rc = folder_int(&r.dims, f, "rope.dimension_count", e);
    if (rc < 0 || folder_num(&r.theta, f, "rope.freq_base", e) < 0 ||
        folder_num(&window, f, "rope.freq_base_swa", e) < 0)
        return -1;
    if (r.dims < 1 || r.dims > head)
        return refuse(f, "rope.dimension_count is not within a head", e);
    r.partial = (double)r.dims / (double)head;
    if (f->m->flags & CONVERT_PAIRS && r.dims != head)
        return refuse(f, "rope turns a part of a head only", e);
    r.o = json_object();
    if (!r.o)
        return err_nomem(e);
    rc = scaling(f, &r, e);
    if (!rc) {
        put_old(f, &r);
        put_new(f, &r, f->m->window_theta > 0 ? window : 0);
        if (says_partial(f, &r))
            folder_set(f, "partial_rotary_factor",
                       json_real(folder_shortest(r.partial)));
        if (f->m->window_theta > 0)
            folder_set(f, "rope_local_base_freq",
                       json_real(folder_shortest(window)));
    }
    json_decref(r.o);
    return rc;
}
