/* SPDX-License-Identifier: MIT
 * value.c - the values of a record's keys, by type. */
#include <string.h>

#include "base/num.h"
#include "wire/wire_impl.h"

enum { LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

int wrong(const char *key, const char *what, struct err *e)
{
    return err_set(e, ERR_FORMAT, "%s is not %s", key, what);
}

bool find_value(struct value *v, const struct scan *s, const unsigned char *p,
                const char *key)
{
    const struct entry *k = scan_find(s, p, key);

    if (!k)
        return false;
    v->key = key;
    v->p = p + k->val;
    v->n = k->nval;
    item_get(&v->it, v->p, v->n);
    while (v->it.type == ITEM_TAG && !numtype_of(v->it.arg)) {
        v->p += v->it.size;
        v->n -= v->it.size;
        item_get(&v->it, v->p, v->n);
    }
    return v->it.type != ITEM_NULL;
}

int get_uint(uint64_t *out, const struct value *v, struct err *e)
{
    if (v->it.type != ITEM_UINT)
        return wrong(v->key, "an integer of 0 or more", e);
    *out = v->it.arg;
    return 0;
}

int get_double(double *out, const struct value *v, struct err *e)
{
    if (v->it.type == ITEM_FLOAT)
        *out = v->it.f;
    else if (v->it.type == ITEM_UINT)
        *out = (double)v->it.arg;
    else if (v->it.type == ITEM_NEG)
        *out = -1 - (double)v->it.arg;
    else
        return wrong(v->key, "a number", e);
    return 0;
}

static bool is_string(const struct item *it)
{
    return it->type >= ITEM_BYTES && it->type <= ITEM_TEXT_INDEF;
}

int get_bytes(const void **out, size_t *n, const struct value *v,
              struct buf *to, struct err *e)
{
    size_t at = to->n;

    if (!is_string(&v->it))
        return wrong(v->key, "a string", e);
    if (v->it.type == ITEM_BYTES || v->it.type == ITEM_TEXT) {
        *out = v->it.p;
        *n = (size_t)v->it.arg;
        return 0;
    }
    buf_reserve(to, v->n); /* so that OUT is not NULL for nothing */
    item_string(to, v->p, v->n);
    if (buf_ok(to, e))
        return -1;
    *out = to->p + at;
    *n = to->n - at;
    return 0;
}

int get_cstr(const char **out, const struct value *v, struct buf *to,
             struct err *e)
{
    size_t at = to->n;

    if (v->it.type != ITEM_TEXT && v->it.type != ITEM_TEXT_INDEF)
        return wrong(v->key, "a text string", e);
    item_string(to, v->p, v->n);
    buf_putc(to, 0);
    if (buf_ok(to, e))
        return -1;
    if (memchr(to->p + at, 0, to->n - at - 1))
        return err_set(e, ERR_FORMAT, "%s has a NUL", v->key);
    *out = (const char *)to->p + at;
    return 0;
}

int opt_cstr(const char **out, const struct scan *s, const unsigned char *p,
             const char *key, struct buf *to, struct err *e)
{
    struct value v;

    return find_value(&v, s, p, key) ? get_cstr(out, &v, to, e) : 0;
}

int opt_uint(uint64_t *out, const struct scan *s, const unsigned char *p,
             const char *key, struct err *e)
{
    struct value v;

    return find_value(&v, s, p, key) ? get_uint(out, &v, e) : 0;
}

int opt_map(struct wire_in *in, const unsigned char **map,
            const unsigned char *p, const char *key, struct err *e)
{
    struct value v;

    if (!find_value(&v, &in->keys, p, key))
        return 0;
    if (v.it.type != ITEM_MAP && v.it.type != ITEM_MAP_INDEF)
        return wrong(key, "a map", e);
    scan_init(&in->sub);
    *map = v.p;
    return scan_more(&in->sub, v.p, v.n, e) < 0 ? -1 : 1;
}

/* One element of a typed array as the 4 bytes of WANT, 'u' or 'f'. */
static bool element(uint32_t *out, const struct numtype *t,
                    const unsigned char *p, char want)
{
    float f;

    if (want == 'u') {
        uint64_t u = num_bits(t, p);

        *out = (uint32_t)u;
        return t->kind != 'f' && u <= UINT32_MAX;
    }
    f = t->kind == 'f'   ? (float)num_float(t, p)
        : t->kind == 'i' ? (float)(int64_t)num_bits(t, p)
                         : (float)num_bits(t, p);
    memcpy(out, &f, 4);
    return true;
}

static int typed_array(const void **out, size_t *n, const struct value *v,
                       char want, struct buf *to, struct err *e)
{
    const struct numtype *t = numtype_of(v->it.arg);
    struct buf whole = {0};
    struct value s = *v;
    const void *bytes;
    const unsigned char *p;
    size_t len;
    uint32_t *put;
    int r = -1;

    s.p += v->it.size;
    s.n -= v->it.size;
    item_get(&s.it, s.p, s.n);
    if (s.it.type != ITEM_BYTES && s.it.type != ITEM_BYTES_INDEF)
        return wrong(v->key, "an array of numbers", e);
    if (get_bytes(&bytes, &len, &s, &whole, e))
        goto out;
    p = bytes;
    if (len % t->size) {
        err_set(e, ERR_FORMAT, "%s is cut: %zu bytes", v->key, len);
        goto out;
    }
    *n = len / t->size;
    if (LITTLE && !whole.p && t->tag == (want == 'u' ? TAG_U32 : TAG_F32) &&
        (uintptr_t)p % 4 == 0) {
        *out = p;
        return 0;
    }
    buf_reserve(to, 4); /* so that an empty array is not NULL */
    put = buf_add(to, 4 * *n);
    if (buf_ok(to, e))
        goto out;
    if (LITTLE && t->tag == (want == 'u' ? TAG_U32 : TAG_F32)) {
        memcpy(put, p, len);
    } else {
        for (size_t i = 0; i < *n; i++)
            if (!element(&put[i], t, p + i * t->size, want)) {
                err_set(e, ERR_FORMAT, "%s[%zu] is not a token id", v->key, i);
                goto out;
            }
    }
    *out = put;
    r = 0;
out:
    buf_free(&whole);
    return r;
}

static int plain_array(const void **out, size_t *n, const struct value *v,
                       char want, struct buf *to, struct err *e)
{
    const unsigned char *p = v->p + v->it.size, *end = v->p + v->n;

    buf_reserve(to, 4);
    while (p < end) {
        struct value x = {.key = v->key, .p = p, .n = (size_t)(end - p)};
        double d;
        float f;

        item_get(&x.it, x.p, x.n);
        if (x.it.type == ITEM_BREAK)
            break;
        if (want == 'u') {
            uint32_t u = (uint32_t)x.it.arg;

            if (x.it.type != ITEM_UINT || x.it.arg > UINT32_MAX)
                return err_set(e, ERR_FORMAT, "%s[%zu] is not a token id",
                               v->key, to->n / 4);
            buf_put(to, &u, 4);
        } else {
            if (get_double(&d, &x, e))
                return err_prefix(e, "element %zu", to->n / 4);
            f = (float)d;
            buf_put(to, &f, 4);
        }
        p += x.it.size;
    }
    *out = to->p;
    *n = to->n / 4;
    return buf_ok(to, e);
}

int get_array(const void **out, size_t *n, const struct value *v, char want,
              struct buf *to, struct err *e)
{
    to->n = 0;
    if (v->it.type == ITEM_TAG)
        return typed_array(out, n, v, want, to, e);
    if (v->it.type == ITEM_ARRAY || v->it.type == ITEM_ARRAY_INDEF)
        return plain_array(out, n, v, want, to, e);
    return wrong(v->key, "an array of numbers", e);
}

int opt_array(const void **out, size_t *n, struct wire_in *in,
              const unsigned char *p, const char *key, char want, struct err *e)
{
    struct value v;

    if (!find_value(&v, &in->keys, p, key))
        return 0;
    return get_array(out, n, &v, want, want == 'u' ? &in->ids : &in->lp, e) ? -1
                                                                            : 1;
}

int wire_get_int(int64_t *out, const struct wire_rec *r, const char *key,
                 int64_t min, int64_t max, struct err *e)
{
    struct value v;
    int64_t i;

    if (!find_value(&v, r->keys, r->map, key))
        return 0;
    if ((v.it.type != ITEM_UINT && v.it.type != ITEM_NEG))
        return wrong(key, "an integer", e);
    i = (int64_t)(v.it.arg & INT64_MAX);
    if (v.it.type == ITEM_NEG)
        i = -1 - i;
    if (v.it.arg > INT64_MAX || i < min || i > max)
        return err_set(e, ERR_FORMAT, "%s is not within %lld and %lld", key,
                       (long long)min, (long long)max);
    *out = i;
    return 1;
}

int wire_get_float(double *out, const struct wire_rec *r, const char *key,
                   struct err *e)
{
    struct value v;

    if (!find_value(&v, r->keys, r->map, key))
        return 0;
    return get_double(out, &v, e) ? -1 : 1;
}

int wire_get_bool(bool *out, const struct wire_rec *r, const char *key,
                  struct err *e)
{
    struct value v;

    if (!find_value(&v, r->keys, r->map, key))
        return 0;
    if (v.it.type != ITEM_BOOL)
        return wrong(key, "true or false", e);
    *out = v.it.arg;
    return 1;
}

int wire_get_str(const char **out, size_t *n, const struct wire_rec *r,
                 const char *key, struct err *e)
{
    const void *p;
    struct value v;

    if (!find_value(&v, r->keys, r->map, key))
        return 0;
    /* Earlier results must stay where they are. */
    if (is_string(&v.it) && !r->in->opt.n)
        buf_reserve(&r->in->opt, r->nraw);
    if (get_bytes(&p, n, &v, &r->in->opt, e))
        return -1;
    *out = p;
    return 1;
}

int wire_get_json(struct buf *out, const struct wire_rec *r, const char *key,
                  struct err *e)
{
    const struct entry *k = scan_find(r->keys, r->map, key);

    if (!k)
        return 0;
    json_item(out, r->map + k->val, k->nval);
    return buf_ok(out, e) ? -1 : 1;
}

int wire_get_embedding(struct wire_embedding *out, const struct wire_rec *r,
                       struct err *e)
{
    int64_t pos = 0;
    const void *p;
    int got;

    *out = (struct wire_embedding){.seq = r->seq, .scale = 1};
    got = opt_array(&p, &out->n, r->in, r->map, "v", 'f', e);
    if (got <= 0)
        return got ? -1 : err_set(e, ERR_FORMAT, "embedding without v");
    out->v = p;
    got = wire_get_int(&pos, r, "pos", 0, INT64_MAX, e);
    if (got < 0 || wire_get_float(&out->scale, r, "scale", e) < 0)
        return -1;
    out->has_pos = got;
    out->pos = (uint64_t)pos;
    got = wire_get_float(&out->score, r, "score", e);
    out->has_score = got > 0;
    return got < 0 ? -1 : 0;
}
