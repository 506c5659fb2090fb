/* SPDX-License-Identifier: MIT
 * json_in.c - a record as JSON, parsed by jansson, to deterministic CBOR.
 *
 * The arrays of numbers that llm-stream(5) defines become typed arrays, "text"
 * a byte string; and a string at a key K64 (but for the options of a "set"
 * record, which are the caller's) the bytes of which it is the base64.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "wire/wire_impl.h"

struct member {
    const char *key;
    size_t n;
    json_t *v;
    bool base64;
};

/* RFC 8949, 4.2.1: bytewise by encoding, which begins with the length. */
static int by_key(const void *x, const void *y)
{
    const struct member *a = x, *b = y;

    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return memcmp(a->key, b->key, a->n);
}

static int from64(int c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static int put_base64(struct buf *b, const struct member *m, struct err *e)
{
    const char *s = json_string_value(m->v);
    size_t n = json_string_length(m->v), pad = 0;

    while (pad < 2 && pad < n && s[n - 1 - pad] == '=')
        pad++;
    if (n % 4)
        return err_set(e, ERR_FORMAT, "%.60s is not base64", m->key);
    wire_put_bytes_head(b, n / 4 * 3 - pad);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t v = 0;
        size_t out = i + 4 == n ? 3 - pad : 3;

        for (size_t k = 0; k < 4; k++) {
            int d = k > out ? 0 : from64((unsigned char)s[i + k]);

            if (d < 0)
                return err_set(e, ERR_FORMAT, "%.60s is not base64", m->key);
            v = v << 6 | (uint32_t)d;
        }
        for (size_t k = 0; k < out; k++)
            buf_putc(b, (int)(v >> (16 - 8 * k) & 255));
    }
    return 0;
}

static int put_ids(struct buf *b, const struct member *m, struct err *e)
{
    const json_t *a = m->v;
    size_t n = json_array_size(a);
    unsigned char *to;

    wire_put_tag(b, TAG_U32);
    wire_put_bytes_head(b, 4 * n);
    to = buf_add(b, 4 * n);
    for (size_t i = 0; to && i < n; i++) {
        const json_t *v = json_array_get(a, i);
        json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0 || id > UINT32_MAX)
            return err_set(e, ERR_FORMAT, "%s[%zu] is not a token id", m->key,
                           i);
        wr_u32(to + 4 * i, (uint32_t)id);
    }
    return 0;
}

static int get_float(float *out, const json_t *v)
{
    const char *s = json_string_value(v);

    if (json_is_number(v))
        *out = (float)json_number_value(v);
    else if (s && !strcmp(s, "NaN"))
        *out = NAN;
    else if (s && !strcmp(s, "Infinity"))
        *out = INFINITY;
    else if (s && !strcmp(s, "-Infinity"))
        *out = -INFINITY;
    else
        return -1;
    return 0;
}

static int put_floats(struct buf *b, const struct member *m, struct err *e)
{
    size_t n = json_array_size(m->v);
    unsigned char *to;

    wire_put_tag(b, TAG_F32);
    wire_put_bytes_head(b, 4 * n);
    to = buf_add(b, 4 * n);
    for (size_t i = 0; to && i < n; i++) {
        uint32_t u;
        float f;

        if (get_float(&f, json_array_get(m->v, i)))
            return err_set(e, ERR_FORMAT, "%s[%zu] is not a number", m->key, i);
        memcpy(&u, &f, 4);
        wr_u32(to + 4 * i, u);
    }
    return 0;
}

/* Integers of 8 bits are written as such only: a float has a point. */
static bool all_bytes(const json_t *a)
{
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *v = json_array_get(a, i);

        if (!json_is_integer(v) || json_integer_value(v) < INT8_MIN ||
            json_integer_value(v) > INT8_MAX)
            return false;
    }
    return json_array_size(a) > 0;
}

static int put_vector(struct buf *b, const struct member *m, struct err *e)
{
    size_t n = json_array_size(m->v);

    if (!all_bytes(m->v))
        return put_floats(b, m, e);
    wire_put_tag(b, TAG_I8);
    wire_put_bytes_head(b, n);
    for (size_t i = 0; i < n; i++)
        buf_putc(b, (int)json_integer_value(json_array_get(m->v, i)) & 255);
    return 0;
}

static int put_value(struct buf *b, json_t *v, int depth, struct err *e);

static int put_members(struct buf *b, json_t *obj, int depth, struct err *e)
{
    size_t n = json_object_size(obj), i = 0;
    struct member *m = malloc((n + 1) * sizeof *m);
    const char *key;
    json_t *v;
    int r = 0;

    if (!m)
        return err_nomem(e);
    json_object_foreach(obj, key, v) m[i++] =
        (struct member){key, strlen(key), v, false};
    qsort(m, n, sizeof *m, by_key);
    wire_put_map(b, n);
    for (i = 0; i < n && !r; i++) {
        wire_put_text(b, m[i].key, m[i].n);
        r = put_value(b, m[i].v, depth, e);
    }
    free(m);
    return r;
}

/* Arrays and objects go DEPTH deep, no deeper: this bounds the recursion. */
static int put_value(struct buf *b, json_t *v, int depth, struct err *e)
{
    size_t n = json_is_array(v) ? json_array_size(v) : json_object_size(v);
    int r = 0;

    if (n && !depth)
        return err_set(e, ERR_FORMAT, "nested more than %d deep",
                       WIRE_MAX_DEPTH);
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return put_members(b, v, depth - 1, e);
    case JSON_ARRAY:
        wire_put_array(b, n);
        for (size_t i = 0; i < n && !r; i++)
            r = put_value(b, json_array_get(v, i), depth - 1, e);
        return r;
    case JSON_STRING:
        wire_put_text(b, json_string_value(v), json_string_length(v));
        return 0;
    case JSON_INTEGER:
        wire_put_int(b, json_integer_value(v));
        return 0;
    case JSON_REAL:
        wire_put_double(b, json_real_value(v));
        return 0;
    case JSON_NULL:
        wire_put_null(b);
        return 0;
    default:
        wire_put_bool(b, json_is_true(v));
        return 0;
    }
}

int json_value_to_cbor(struct buf *b, const struct json_t *v, struct err *e)
{
    return put_value(b, (json_t *)(uintptr_t)v, WIRE_MAX_DEPTH - 1, e);
}

/* A value of the record itself: those that llm-stream(5) gives a type. */
static int put_field(struct buf *b, const struct member *m, const char *kind,
                     struct err *e)
{
    bool tokens = !strcmp(kind, "tokens"), kv = !strcmp(kind, "kv"),
         array = json_is_array(m->v);

    if (m->base64)
        return put_base64(b, m, e);
    if ((tokens || kv) && array && !strcmp(m->key, "ids"))
        return put_ids(b, m, e);
    if (kv && array && !strcmp(m->key, "layers"))
        return put_ids(b, m, e);
    if ((tokens && array && !strcmp(m->key, "lp")) ||
        (!strcmp(kind, "logits") && array && !strcmp(m->key, "v")))
        return put_floats(b, m, e);
    if (!strcmp(kind, "embedding") && array && !strcmp(m->key, "v"))
        return put_vector(b, m, e);
    if ((tokens || !strcmp(kind, "text")) && json_is_string(m->v) &&
        !strcmp(m->key, "text")) {
        wire_put_bytes_head(b, json_string_length(m->v));
        buf_put(b, json_string_value(m->v), json_string_length(m->v));
        return 0;
    }
    return put_value(b, m->v, WIRE_MAX_DEPTH - 1, e);
}

int json_to_cbor(struct buf *b, const struct json_t *object, struct err *e)
{
    json_t *obj = (json_t *)(uintptr_t)object, *v;
    const char *kind = json_string_value(json_object_get(obj, "t")), *key;
    size_t n = json_object_size(obj), i = 0;
    struct member m[WIRE_MAX_KEYS];
    bool set;
    int r = 0;

    if (n > WIRE_MAX_KEYS)
        return err_set(e, ERR_FORMAT, "more than %d keys", WIRE_MAX_KEYS);
    kind = kind ? kind : "";
    set = !strcmp(kind, "set");
    json_object_foreach(obj, key, v)
    {
        size_t len = strlen(key);
        bool coded = !set && len > 2 && !strcmp(key + len - 2, "64") &&
                     json_is_string(v);

        m[i++] = (struct member){key, coded ? len - 2 : len, v, coded};
    }
    qsort(m, n, sizeof *m, by_key);
    wire_put_map(b, n);
    for (i = 0; i < n && !r; i++) {
        wire_put_text(b, m[i].key, m[i].n);
        r = put_field(b, &m[i], kind, e);
    }
    return r;
}
