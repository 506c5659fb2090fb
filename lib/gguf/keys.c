/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf_impl.h"

size_t gguf_nkey(const struct gguf *g)
{
    return g->shard[0].pub.nkey;
}

const struct gguf_val *gguf_key_at(const struct gguf *g, size_t i)
{
    return &g->shard[0].key[i];
}

const struct gguf_val *gguf_shard_key(const struct shard *s, const char *name)
{
    struct gguf_str want = {name, strlen(name)};
    size_t lo = 0, hi = s->pub.nkey;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int r = gguf_str_cmp(s->by_name[mid]->key, want);

        if (!r)
            return s->by_name[mid];
        if (r < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const struct gguf_val *gguf_key(const struct gguf *g, const char *name)
{
    return gguf_shard_key(&g->shard[0], name);
}

static bool read_int(int64_t *out, enum gguf_type type, const unsigned char *p)
{
    switch (type) {
    case GGUF_U8:
    case GGUF_BOOL:
        *out = p[0];
        return true;
    case GGUF_I8:
        *out = (int8_t)p[0];
        return true;
    case GGUF_U16:
        *out = rd_u16(p);
        return true;
    case GGUF_I16:
        *out = (int16_t)rd_u16(p);
        return true;
    case GGUF_U32:
        *out = rd_u32(p);
        return true;
    case GGUF_I32:
        *out = (int32_t)rd_u32(p);
        return true;
    case GGUF_U64:
        *out = (int64_t)rd_u64(p);
        return *out >= 0;
    case GGUF_I64:
        *out = (int64_t)rd_u64(p);
        return true;
    default:
        return false;
    }
}

static bool read_float(double *out, enum gguf_type type, const unsigned char *p)
{
    int64_t i;

    if (type == GGUF_F32)
        *out = rd_f32(p);
    else if (type == GGUF_F64)
        *out = rd_f64(p);
    else if (type == GGUF_U64)
        *out = (double)rd_u64(p);
    else if (type != GGUF_BOOL && read_int(&i, type, p))
        *out = (double)i;
    else
        return false;
    return true;
}

bool gguf_val_int(int64_t *out, const struct gguf_val *v)
{
    return read_int(out, v->type, v->p);
}

bool gguf_val_float(double *out, const struct gguf_val *v)
{
    return read_float(out, v->type, v->p);
}

bool gguf_elem_int(int64_t *out, const struct gguf_val *v, uint64_t i)
{
    return v->type == GGUF_ARR && i < v->n &&
           read_int(out, v->elem, v->p + i * gguf_val_size(v->elem));
}

bool gguf_elem_float(double *out, const struct gguf_val *v, uint64_t i)
{
    return v->type == GGUF_ARR && i < v->n &&
           read_float(out, v->elem, v->p + i * gguf_val_size(v->elem));
}

/* Say of which type KEY is instead of WANT; the message starts as all of this
 * module's do, with the path. */
static int wrong(const struct gguf *g, const struct gguf_val *v,
                 const char *want, struct err *e)
{
    bool arr = v->type == GGUF_ARR;

    err_set(e, ERR_FORMAT, "%s: key '%.*s': is %s%s, must be %s", g->path,
            GGUF_NAME(v->key), arr ? "an array of " : "",
            gguf_val_name(arr ? v->elem : v->type), want);
    return -1;
}

int gguf_get_str(struct gguf_str *out, const struct gguf *g, const char *key,
                 struct err *e)
{
    const struct gguf_val *v = gguf_key(g, key);
    const unsigned char *p;

    if (!v)
        return 0;
    if (v->type != GGUF_STR)
        return wrong(g, v, "a string", e);
    p = v->p;
    *out = gguf_str_next(&p);
    return 1;
}

int gguf_get_int(int64_t *out, const struct gguf *g, const char *key,
                 int64_t min, int64_t max, struct err *e)
{
    const struct gguf_val *v = gguf_key(g, key);
    int64_t i = INT64_MAX;

    if (!v)
        return 0;
    if (!gguf_val_int(&i, v) && v->type != GGUF_U64)
        return wrong(g, v, "an integer", e);
    if (v->type == GGUF_U64 && i < 0)
        return err_set(e, ERR_FORMAT, "%s: key '%s': %llu is out of range",
                       g->path, key, (unsigned long long)rd_u64(v->p));
    if (i < min || i > max)
        return err_set(e, ERR_FORMAT, "%s: key '%s': %lld is not in %lld..%lld",
                       g->path, key, (long long)i, (long long)min,
                       (long long)max);
    *out = i;
    return 1;
}

int gguf_get_bool(bool *out, const struct gguf *g, const char *key,
                  struct err *e)
{
    const struct gguf_val *v = gguf_key(g, key);

    if (!v)
        return 0;
    if (v->type != GGUF_BOOL)
        return wrong(g, v, "a bool", e);
    *out = v->p[0];
    return 1;
}

int gguf_get_float(double *out, const struct gguf *g, const char *key,
                   struct err *e)
{
    const struct gguf_val *v = gguf_key(g, key);

    if (!v)
        return 0;
    return gguf_val_float(out, v) ? 1 : wrong(g, v, "a number", e);
}

int gguf_get_arr(const struct gguf_val **out, const struct gguf *g,
                 const char *key, enum gguf_type elem, uint64_t min,
                 uint64_t max, struct err *e)
{
    const struct gguf_val *v = gguf_key(g, key);
    char want[32];

    if (!v)
        return 0;
    if (v->type != GGUF_ARR || v->elem != elem) {
        memcpy(want, "an array of ", 13);
        strncat(want, gguf_val_name(elem), 8);
        return wrong(g, v, want, e);
    }
    if (v->n < min || v->n > max)
        return err_set(e, ERR_FORMAT,
                       "%s: key '%s': has %llu elements, not %llu..%llu",
                       g->path, key, (unsigned long long)v->n,
                       (unsigned long long)min, (unsigned long long)max);
    *out = v;
    return 1;
}
