/* SPDX-License-Identifier: MIT
 *
 * Values of config.json that are in tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"

/* Products of three sizes fit in 64 bits only when they are compared with what
 * is there; those of two always do. */
enum { MAX_SIZE = 1 << 28 };

/* ---- putting ---- */

const char *convert_key_name(struct convert *c, const char *key, struct err *e)
{
    size_t n = strlen(c->m->arch), k = strlen(key);
    char *s = arena_alloc(&c->mem, n + k + 2);

    if (!s) {
        err_nomem(e);
        return NULL;
    }
    memcpy(s, c->m->arch, n);
    s[n] = '.';
    memcpy(s + n + 1, key, k + 1);
    return s;
}

int convert_put_u32(struct convert *c, const char *key, int64_t v,
                    struct err *e)
{
    const char *name = convert_key_name(c, key, e);

    if (name)
        gguf_put_int(&c->out, name, GGUF_U32, v);
    return name ? 0 : -1;
}

int convert_put_f32(struct convert *c, const char *key, double v, struct err *e)
{
    const char *name = convert_key_name(c, key, e);

    if (!name)
        return -1;
    if (!isfinite((float)v))
        return err_set(e, ERR_FORMAT, "%s/config.json: key '%s' would be %g",
                       c->hf.dir, name, v);
    gguf_put_float(&c->out, name, GGUF_F32, v);
    return 0;
}

int convert_put_bool(struct convert *c, const char *key, bool v, struct err *e)
{
    const char *name = convert_key_name(c, key, e);

    if (name)
        gguf_put_int(&c->out, name, GGUF_BOOL, v);
    return name ? 0 : -1;
}

int convert_put_str(struct convert *c, const char *key, const char *v,
                    struct err *e)
{
    const char *name = convert_key_name(c, key, e);

    if (name)
        gguf_put_str(&c->out, name, (struct gguf_str){v, strlen(v)});
    return name ? 0 : -1;
}

/* ---- sizes ---- */

static int missing(const struct convert *c, const char *names, struct err *e)
{
    return err_set(e, ERR_FORMAT, "%s/config.json: '%.*s' is missing",
                   c->hf.dir, (int)strcspn(names, "|"), names);
}

static int derive(int64_t *v, struct convert *c, const struct convert_key *k,
                  struct err *e)
{
    int64_t heads = convert_size(c, 'A'), dim = convert_size(c, 'D');

    if (k->letter == 'B') {
        *v = heads;
        return 0;
    }
    if (!heads || dim % heads)
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: %lld heads do not share %lld",
                       c->hf.dir, (long long)heads, (long long)dim);
    *v = dim / heads;
    return 0;
}

/* An integer of the table: 1, or 0 when there is none. */
static int integer(int64_t *v, struct convert *c, const struct convert_key *k,
                   struct err *e)
{
    int rc = k->config ? hfconfig_int(v, &c->hf, k->config, 0, MAX_SIZE, e) : 0;

    if (rc)
        return rc;
    if (isnan(k->def))
        return missing(c, k->config, e);
    if (k->def == CONVERT_NONE)
        return 0;
    if (k->def == CONVERT_DERIVE)
        return derive(v, c, k, e) ? -1 : 1;
    *v = (int64_t)k->def;
    return 1;
}

static int flag(int64_t *v, struct convert *c, const struct convert_key *k,
                struct err *e)
{
    bool b = k->def > 0;

    if (k->config && hfconfig_bool(&b, &c->hf, k->config, e) < 0)
        return -1;
    *v = b != (k->kind == CONVERT_NOT);
    return 1;
}

static bool is_integer(const struct convert_key *k)
{
    return k->kind == CONVERT_U32;
}

static bool is_flag(const struct convert_key *k)
{
    return k->kind == CONVERT_FLAG || k->kind == CONVERT_NOT;
}

static int read_sizes(struct convert *c, struct err *e)
{
    for (size_t i = 0; c->m->keys[i]; i++)
        for (const struct convert_key *k = c->m->keys[i];
             k->config || k->key || k->letter; k++) {
            int64_t v = 0;
            int rc = 0;

            if (k->letter && is_integer(k))
                rc = integer(&v, c, k, e);
            else if (k->letter && is_flag(k))
                rc = flag(&v, c, k, e);
            if (rc < 0)
                return -1;
            if (rc)
                c->size[(unsigned char)k->letter] = v;
        }
    return 0;
}

/* Nothing is divided by, or made of, what must not be 0. */
static int check_sizes(const struct convert *c, struct err *e)
{
    static const char needed[] = "DLABHFVP";

    for (const char *p = needed; *p; p++)
        if (!convert_size(c, *p))
            return err_set(e, ERR_FORMAT,
                           "%s/config.json: a size is 0 that must not be: that "
                           "of %c",
                           c->hf.dir, *p);
    if (convert_size(c, 'L') > 4096)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/config.json: %lld layers are too many", c->hf.dir,
                       (long long)convert_size(c, 'L'));
    if (convert_size(c, 'E') &&
        (!convert_size(c, 'X') || convert_size(c, 'X') > convert_size(c, 'E')))
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: %lld of %lld experts cannot be used",
                       c->hf.dir, (long long)convert_size(c, 'X'),
                       (long long)convert_size(c, 'E'));
    if (convert_size(c, 'A') % convert_size(c, 'B'))
        return err_set(
            e, ERR_FORMAT,
            "%s/config.json: %lld heads cannot share %lld of K and V",
            c->hf.dir, (long long)convert_size(c, 'A'),
            (long long)convert_size(c, 'B'));
    return 0;
}

/* How many labels a ranker has. */
static int64_t labels(struct convert *c)
{
    json_t *v = hfconfig_get(&c->hf, "id2label");
    int64_t n = 2;

    if (json_is_object(v))
        return (int64_t)json_object_size(v);
    hfconfig_int(&n, &c->hf, "num_labels", 1, MAX_SIZE, NULL);
    return n;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = s ? strlen(s) : 0, k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

int convert_sizes(struct convert *c, struct err *e)
{
    int64_t *size = c->size, pad = -1;

    if (read_sizes(c, e) || check_sizes(c, e))
        return -1;
    size['Q'] = size['A'] * size['H'];
    size['K'] = size['B'] * size['H'];
    size['W'] = size['Q'] + 2 * size['K'];
    size['U'] = 2 * size['F'];
    size['N'] = 2 * size['M'];
    size['1'] = 1;
    /* Nothing makes logits. */
    if (ends_in(c->hf.class, "Model"))
        size['u'] = 0;
    if (c->m->flags & CONVERT_RANKS &&
        ends_in(c->hf.class, "ForSequenceClassification")) {
        size['r'] = 1;
        size['C'] = labels(c);
    }
    /* Nomic: beyond these positions other angles are asked for. */
    if (!strcmp(c->m->arch, "nomic-bert")) {
        int64_t trained = size['P'];

        if (hfconfig_int(&trained, &c->hf, "max_trained_positions", 1, MAX_SIZE,
                         e) < 0)
            return -1;
        size['P'] = trained < size['P'] ? trained : size['P'];
    }
    if (c->m->flags & CONVERT_OFFSET) {
        if (hfconfig_int(&pad, &c->hf, "pad_token_id", 0, MAX_SIZE, e) < 0)
            return -1;
        if (pad + 1 >= size['P'])
            return err_set(e, ERR_FORMAT,
                           "%s/config.json: 'pad_token_id' leaves no positions",
                           c->hf.dir);
        c->offset = (uint64_t)(pad + 1);
    }
    return 0;
}

/* ---- keys ---- */

/* A number of the table: 1, or 0 when there is none. */
static int number(double *v, struct convert *c, const struct convert_key *k,
                  struct err *e)
{
    int rc = k->config ? hfconfig_num(v, &c->hf, k->config, e) : 0;

    if (rc)
        return rc;
    if (isnan(k->def))
        return missing(c, k->config, e);
    *v = k->def;
    return isinf(k->def) ? 0 : 1;
}

/* The size that goes into the GGUF. */
static int put_integer(struct convert *c, const struct convert_key *k,
                       struct err *e)
{
    int64_t v = 0;
    int rc = integer(&v, c, k, e);

    if (rc <= 0)
        return rc;
    if (k->letter == 'P')
        v = convert_size(c, 'P') - (int64_t)c->offset;
    return convert_put_u32(c, k->key, v, e);
}

static int put_key(struct convert *c, const struct convert_key *k,
                   struct err *e)
{
    double d = 0;
    bool b = k->def > 0, null;
    int rc;

    switch (k->kind) {
    case CONVERT_U32:
        return put_integer(c, k, e);
    case CONVERT_F32:
        rc = number(&d, c, k, e);
        return rc <= 0 ? rc : convert_put_f32(c, k->key, d, e);
    case CONVERT_BOOL:
        return hfconfig_bool(&b, &c->hf, k->config, e) < 0
                   ? -1
                   : convert_put_bool(c, k->key, b, e);
    case CONVERT_ROOT:
        if (number(&d, c, k, e) < 0)
            return -1;
        if (!(d > 0))
            return err_set(e, ERR_FORMAT,
                           "%s/config.json: '%s': %g is not "
                           "above 0",
                           c->hf.dir, k->config, d);
        return convert_put_f32(c, k->key, 1 / sqrt(d), e);
    case CONVERT_CAP:
        null = json_is_null(json_object_get(c->hf.root, k->config));
        if (number(&d, c, k, e) < 0)
            return -1;
        d = null ? 0 : d;
        return d == 0 && k->def == 0 ? 0 : convert_put_f32(c, k->key, d, e);
    default:
        return 0;
    }
}

/* A value as text: a string as it is, a number, true or false. */
static void text_of(char s[64], const json_t *v)
{
    if (json_is_string(v))
        snprintf(s, 64, "%s", json_string_value(v));
    else if (json_is_number(v))
        snprintf(s, 64, "%g", json_number_value(v));
    else
        snprintf(s, 64, "%s",
                 json_is_boolean(v) ? json_is_true(v) ? "true" : "false"
                                    : "a list");
}

static int check_fixed(struct convert *c, const struct convert_fixed *f,
                       struct err *e)
{
    json_t *v = hfconfig_get(&c->hf, f->config);
    char s[64];

    if (!v || (json_is_array(v) && !json_array_size(v)))
        return 0;
    text_of(s, v);
    if (!*s || !hfconfig_among(s, f->values))
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/config.json: '%s': '%s' is not supported", c->hf.dir,
                       f->config, s);
    return 0;
}

int convert_keys(struct convert *c, struct err *e)
{
    for (size_t i = 0; c->m->keys[i]; i++)
        for (const struct convert_key *k = c->m->keys[i];
             k->config || k->key || k->letter; k++)
            if (k->key && put_key(c, k, e))
                return -1;
    for (size_t i = 0; c->m->fixed[i]; i++)
        for (const struct convert_fixed *f = c->m->fixed[i]; f->config; f++)
            if (check_fixed(c, f, e))
                return -1;
    if (c->m->flags & CONVERT_ENCODER &&
        convert_put_bool(c, "attention.causal", false, e))
        return -1;
    if (convert_size(c, 'T'))
        gguf_put_int(&c->out, "tokenizer.ggml.token_type_count", GGUF_U32,
                     convert_size(c, 'T'));
    return 0;
}
