/* SPDX-License-Identifier: MIT
 *
 * Values from words and from JSON, as they stand in a file. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/set/set.h"

bool set_type_parse(struct set_type *t, const char *s, size_t n)
{
    t->depth = 0;
    while (n > 2 && !memcmp(s + n - 2, "[]", 2) && t->depth < GGUF_MAX_DEPTH) {
        t->depth++;
        n -= 2;
    }
    for (int i = 0; i < GGUF_NTYPE; i++) {
        t->base = (enum gguf_type)i;
        if (i != GGUF_ARR && strlen(gguf_val_name(t->base)) == n &&
            !memcmp(gguf_val_name(t->base), s, n))
            return true;
    }
    return false;
}

bool set_type_of(struct set_type *t, const struct gguf_val *v)
{
    const unsigned char *p = v->p;
    enum gguf_type type = v->type == GGUF_ARR ? v->elem : v->type;
    uint64_t n = v->n;

    t->depth = v->type == GGUF_ARR;
    for (; type == GGUF_ARR; t->depth++) {
        if (!n)
            return false;
        type = (enum gguf_type)rd_u32(p);
        n = rd_u64(p + 4);
        p += 12;
    }
    t->base = type;
    return true;
}

/* ---- one number, one string ---- */

static const struct {
    int64_t min;
    uint64_t max;
} range[GGUF_NTYPE] = {
    [GGUF_U8] = {0, UINT8_MAX},   [GGUF_I8] = {INT8_MIN, INT8_MAX},
    [GGUF_U16] = {0, UINT16_MAX}, [GGUF_I16] = {INT16_MIN, INT16_MAX},
    [GGUF_U32] = {0, UINT32_MAX}, [GGUF_I32] = {INT32_MIN, INT32_MAX},
    [GGUF_U64] = {0, UINT64_MAX}, [GGUF_I64] = {INT64_MIN, INT64_MAX},
    [GGUF_BOOL] = {0, 1},
};

static void put_int(struct buf *b, uint64_t v, size_t n)
{
    unsigned char w[8];

    wr_u64(w, v);
    buf_put(b, w, n);
}

static void put_float(struct buf *b, enum gguf_type type, double d, float f)
{
    uint64_t w = 0;

    if (type == GGUF_F32)
        memcpy(&w, &f, 4);
    else
        memcpy(&w, &d, 8);
    put_int(b, w, gguf_val_size(type));
}

static void put_str(struct buf *b, const char *s, size_t n)
{
    put_int(b, n, 8);
    buf_put(b, s, n);
}

static int not_one(enum gguf_type type, const char *s, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%.60s' is no %s", s, gguf_val_name(type));
}

static int text_int(struct buf *b, enum gguf_type type, const char *s,
                    struct err *e)
{
    char *end;
    uint64_t v;
    bool good;

    errno = 0;
    if (*s == '-') {
        long long i = strtoll(s, &end, 10);

        v = (uint64_t)i;
        good = i >= range[type].min;
    } else {
        v = strtoull(s, &end, 10);
        good = v <= range[type].max;
    }
    if (errno || *end || !good || !strchr("0123456789", s[*s == '-']) ||
        !s[*s == '-'])
        return not_one(type, s, e);
    put_int(b, v, gguf_val_size(type));
    return 0;
}

static int text_float(struct buf *b, enum gguf_type type, const char *s,
                      struct err *e)
{
    char *end = NULL;
    double d = strtod(s, &end);
    float f = strtof(s, NULL);

    /* Infinite is what says so, and not what is too great. */
    if (end == s || *end || (isinf(d) && !strpbrk(s, "iI")) ||
        (type == GGUF_F32 && isinf(f) && !isinf(d)))
        return not_one(type, s, e);
    put_float(b, type, d, f);
    return 0;
}

static int text_scalar(struct buf *b, enum gguf_type type, const char *s,
                       struct err *e)
{
    if (type == GGUF_STR) {
        put_str(b, s, strlen(s));
        return 0;
    }
    if (type == GGUF_F32 || type == GGUF_F64)
        return text_float(b, type, s, e);
    if (type == GGUF_BOOL && (!strcmp(s, "true") || !strcmp(s, "false"))) {
        buf_putc(b, *s == 't');
        return 0;
    }
    return text_int(b, type, s, e);
}

/* ---- JSON ---- */

/* {"base64": "..."}: a string that is no UTF-8, as gguf-inspect(1) has it. */
static int put_base64(struct buf *b, const char *s, struct err *e)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(s), at = b->n;
    uint32_t v = 0;

    put_int(b, 0, 8);
    while (n && s[n - 1] == '=' && strlen(s) - n < 2)
        n--;
    for (size_t i = 0; i < n; i++) {
        const char *d = strchr(digit, s[i]);

        if (!d || strlen(s) % 4)
            return err_set(e, ERR_FORMAT, "a string is no base64");
        v = v << 6 | (uint32_t)(d - digit);
        if (i % 4)
            buf_putc(b, (int)(v >> (6 - 2 * (i % 4)) & 255));
    }
    if (!b->bad)
        wr_u64(b->p + at, b->n - at - 8);
    return 0;
}

static int json_scalar(struct buf *b, enum gguf_type type, const json_t *j,
                       struct err *e)
{
    const char *base64 = json_string_value(json_object_get(j, "base64"));
    json_int_t i = json_integer_value(j);

    if (type == GGUF_STR && json_is_string(j)) {
        put_str(b, json_string_value(j), json_string_length(j));
        return 0;
    }
    if (type == GGUF_STR && base64 && json_object_size(j) == 1)
        return put_base64(b, base64, e);
    if (type == GGUF_BOOL && json_is_boolean(j)) {
        buf_putc(b, json_is_true(j));
        return 0;
    }
    if ((type == GGUF_F32 || type == GGUF_F64) && json_is_number(j)) {
        double d = json_number_value(j);

        if (type == GGUF_F32 && isinf((float)d))
            return err_set(e, ERR_FORMAT, "%g is no f32", d);
        put_float(b, type, d, (float)d);
        return 0;
    }
    if (type != GGUF_STR && json_is_integer(j) && i >= range[type].min &&
        (i < 0 || (uint64_t)i <= range[type].max)) {
        put_int(b, (uint64_t)i, gguf_val_size(type));
        return 0;
    }
    /* What JSON has no number for: "nan", and integers beyond int64. */
    if (type != GGUF_STR && type != GGUF_BOOL && json_is_string(j))
        return text_scalar(b, type, json_string_value(j), e);
    return err_set(e, ERR_FORMAT, "a value is no %s", gguf_val_name(type));
}

static enum gguf_type elem_type(struct set_type t)
{
    return t.depth > 1 ? GGUF_ARR : t.base;
}

/* The elements of an array, which may be arrays: T.depth bounds how deep. */
static int json_elems(struct buf *b, struct set_type t, const json_t *j,
                      struct err *e)
{
    struct set_type in = {t.base, t.depth - 1};

    if (!json_is_array(j))
        return err_set(e, ERR_FORMAT, "an array of %s is wanted",
                       gguf_val_name(elem_type(t)));
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *x = json_array_get(j, i);
        int rc;

        if (in.depth) {
            put_int(b, elem_type(in), 4);
            put_int(b, json_array_size(x), 8);
            rc = json_elems(b, in, x, e);
        } else {
            rc = json_scalar(b, t.base, x, e);
        }
        if (rc)
            return err_prefix(e, "element %zu", i);
    }
    return 0;
}

int set_json(struct gguf_val *v, struct buf *b, struct set_type t,
             const json_t *j, struct err *e)
{
    int rc;

    v->type = t.depth ? GGUF_ARR : t.base;
    v->elem = t.depth ? elem_type(t) : GGUF_U8;
    v->n = t.depth ? json_array_size(j) : 1;
    rc = t.depth ? json_elems(b, t, j, e) : json_scalar(b, t.base, j, e);
    v->p = b->p;
    v->bytes = b->n;
    return rc ? rc : buf_ok(b, e);
}

int set_text(struct gguf_val *v, struct buf *b, struct set_type t,
             const char *s, struct err *e)
{
    json_error_t why;
    json_t *j;
    int rc;

    if (!t.depth) {
        *v = (struct gguf_val){.key = v->key, .type = t.base, .n = 1};
        rc = text_scalar(b, t.base, s, e);
        v->p = b->p;
        v->bytes = b->n;
        return rc ? rc : buf_ok(b, e);
    }
    j = json_loads(s, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j)
        return err_set(e, ERR_USAGE, "'%.60s' is no JSON array: %s", s,
                       why.text);
    rc = set_json(v, b, t, j, e);
    json_decref(j);
    return rc;
}
