/* SPDX-License-Identifier: MIT
 * sampling_set.c - the sampler's options in "set" records: those of a sequence,
 * and what a model recommends. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/sampling_impl.h"

int sampling_copy(struct sampling *to, const struct sampling *from,
                  struct err *e)
{
    size_t nbias = (size_t)from->o.nbias, nnever = (size_t)from->o.nnever;

    *to = *from;
    to->bias = malloc((nbias + 1) * sizeof *to->bias);
    to->never = malloc((nnever + 1) * sizeof *to->never);
    to->o.bias = to->bias;
    to->o.never = to->never;
    if (!to->bias || !to->never) {
        sampling_fini(to);
        return err_nomem(e);
    }
    if (nbias)
        memcpy(to->bias, from->bias, nbias * sizeof *to->bias);
    if (nnever)
        memcpy(to->never, from->never, nnever * sizeof *to->never);
    return 0;
}

static void clear_bias(struct sampling *s)
{
    free(s->bias);
    s->bias = NULL;
    s->o.bias = NULL;
    s->o.nbias = 0;
}

void sampling_fini(struct sampling *s)
{
    clear_bias(s);
    free(s->never);
    s->never = NULL;
    s->o.never = NULL;
    s->o.nnever = 0;
}

/* KEY of R as jansson has it, the caller's; NULL with 0 when it is absent or
 * null. */
static int get(json_t **out, const struct wire_rec *r, const char *key,
               struct err *e)
{
    struct buf text = {0};
    int got = wire_get_json(&text, r, key, e);

    *out = NULL;
    if (got > 0) {
        *out = json_loadb((const char *)text.p, text.n,
                          JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (!*out)
            got = err_set(e, ERR_FORMAT, "key '%s' is malformed", key);
    }
    buf_free(&text);
    if (json_is_null(*out)) {
        json_decref(*out);
        *out = NULL;
        return 0;
    }
    return got;
}

static int order_json(struct sampling *s, const json_t *v, struct err *e)
{
    if (!json_is_string(v))
        return err_set(e, ERR_FORMAT, "option 'samplers' is not a string");
    return sample_set_order(&s->o, json_string_value(v), json_string_length(v),
                            e);
}

/* What is wrong in a record is not wrong usage. */
static int in_record(int rc, struct err *e)
{
    if (rc < 0 && e && e->code == ERR_USAGE)
        e->code = ERR_FORMAT;
    return rc;
}

/* ---- the model ---- */

static int model_option(struct sampling *s, const char *name, const json_t *v,
                        struct err *e)
{
    struct sampling_number o;

    if (!strcmp(name, "samplers"))
        return s->over & SAMPLING_ORDER ? 0 : order_json(s, v, e);
    if (!sampling_number(&o, name, strlen(name)))
        return err_set(e, ERR_UNSUPPORTED,
                       "sampling: option '%.64s' is not known", name);
    if (o.option->integer
            ? !json_is_integer(v) || json_integer_value(v) > INT_MAX ||
                  json_integer_value(v) < INT_MIN
            : !json_is_number(v))
        return err_set(e, ERR_FORMAT, "sampling: '%s' is not a number", name);
    if (!(s->over & o.bit))
        sampling_put_number(s, o.option, json_number_value(v));
    return 0;
}

int sampling_set_model(struct sampling *s, const struct wire_rec *r,
                       struct err *e)
{
    const char *name;
    json_t *o, *v;
    int rc = get(&o, r, "sampling", e);

    if (rc > 0 && !json_is_object(o))
        rc = err_set(e, ERR_FORMAT, "key 'sampling' is not a map");
    json_object_foreach(o, name, v) if (rc > 0 && model_option(s, name, v, e))
        rc = -1;
    json_decref(o);
    return in_record(rc < 0 ? -1 : sample_check(&s->o, e), e);
}

/* ---- a sequence's own ---- */

static int set_number(struct sampling *s, const struct wire_rec *r,
                      const struct sampling_number *o, struct err *e)
{
    const char *name = o->option->name;
    int64_t n = 0;
    double v = 0;
    int got = o->option->integer
                  ? wire_get_int(&n, r, name, INT_MIN, INT_MAX, e)
                  : wire_get_float(&v, r, name, e);

    if (got <= 0)
        return got < 0 ? -1 : 1;
    s->over |= o->bit;
    sampling_put_number(s, o->option, o->option->integer ? (double)n : v);
    return sample_check(&s->o, e) ? -1 : 1;
}

static int set_seed(struct sampling *s, const struct wire_rec *r, struct err *e)
{
    int64_t n = -1;

    if (wire_get_int(&n, r, "seed", -1, INT64_MAX, e) < 0)
        return -1;
    if (n >= 0) {
        s->o.seed = (uint64_t)n;
        s->own_seed = true;
    }
    return 0;
}

/* In place of those of the command line. */
static int set_bias(struct sampling *s, json_t *v, struct err *e)
{
    clear_bias(s);
    return sampling_bias_json(s, v, e);
}

static int set_order(struct sampling *s, json_t *v, struct err *e)
{
    s->over |= SAMPLING_ORDER;
    return order_json(s, v, e);
}

static int set_logprobs_of(struct sampling *s, json_t *v, struct err *e)
{
    const char *word = json_is_string(v) ? json_string_value(v) : "";

    s->o.lp_sampled = !strcmp(word, "sampled");
    if (!s->o.lp_sampled && strcmp(word, "model"))
        return err_set(e, ERR_FORMAT,
                       "option 'logprobs-of' is neither model nor sampled");
    return 0;
}

/* Those that are no numbers. */
static const struct {
    const char *key;
    int (*set)(struct sampling *s, json_t *v, struct err *e);
} others[] = {
    {"logit-bias", set_bias},
    {"suppress", sampling_never_json},
    {"samplers", set_order},
    {"dry-sequence-breaker", sampling_breakers_json},
    {"logprobs-of", set_logprobs_of},
};

int sampling_set(struct sampling *s, const struct wire_rec *r, const char *key,
                 size_t n, struct err *e)
{
    struct sampling_number o;

    if (sampling_number(&o, key, n))
        return in_record(set_number(s, r, &o, e), e);
    if (n == 4 && !memcmp(key, "seed", n))
        return set_seed(s, r, e) ? -1 : 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *name = others[i].key;
        json_t *v;
        int rc;

        if (strlen(name) != n || memcmp(name, key, n))
            continue;
        rc = get(&v, r, name, e);
        if (rc > 0)
            rc = others[i].set(s, v, e);
        json_decref(v);
        return in_record(rc < 0 ? -1 : 1, e);
    }
    return 0;
}

bool sampling_draws(const struct sampling *s)
{
    return s->o.temp > 0 || s->o.dynatemp_range > 0;
}

int sampling_put_seed(struct wire_out *w, uint64_t seq,
                      const struct sampling *s, struct err *e)
{
    json_t *o;
    int rc;

    if (s->own_seed || !sampling_draws(s))
        return 0;
    o = json_pack("{sI}", "seed", (json_int_t)s->o.seed);
    if (!o)
        return err_nomem(e);
    rc = wire_put_set(w, seq, o, e);
    json_decref(o);
    return rc;
}
