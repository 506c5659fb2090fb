/* SPDX-License-Identifier: MIT */
#include "gguf/write.h"

#include <assert.h>
#include <string.h>

#include "gguf/gguf_impl.h"

static void put_u32(struct buf *b, uint32_t v)
{
    void *p = buf_add(b, 4);

    if (p)
        wr_u32(p, v);
}

static void put_u64(struct buf *b, uint64_t v)
{
    void *p = buf_add(b, 8);

    if (p)
        wr_u64(p, v);
}

static void put_str(struct buf *b, struct gguf_str s)
{
    put_u64(b, s.n);
    buf_put(b, s.p, s.n);
}

void gguf_out_init(struct gguf_out *o, uint32_t alignment)
{
    assert(alignment >= 8 && !(alignment & (alignment - 1)));
    *o = (struct gguf_out){.alignment = alignment};
    if (alignment != 32)
        gguf_put_int(o, "general.alignment", GGUF_U32, alignment);
}

void gguf_out_fini(struct gguf_out *o)
{
    buf_free(&o->keys);
    buf_free(&o->tensors);
}

static void put_key(struct gguf_out *o, struct gguf_str key,
                    enum gguf_type type)
{
    put_str(&o->keys, key);
    put_u32(&o->keys, type);
    o->nkey++;
}

static struct gguf_str str(const char *s)
{
    return (struct gguf_str){s, strlen(s)};
}

void gguf_put_val(struct gguf_out *o, const struct gguf_val *v)
{
    put_key(o, v->key, v->type);
    if (v->type == GGUF_ARR) {
        put_u32(&o->keys, v->elem);
        put_u64(&o->keys, v->n);
    }
    buf_put(&o->keys, v->p, v->bytes);
}

void gguf_put_str(struct gguf_out *o, const char *key, struct gguf_str s)
{
    put_key(o, str(key), GGUF_STR);
    put_str(&o->keys, s);
}

void gguf_put_int(struct gguf_out *o, const char *key, enum gguf_type type,
                  int64_t i)
{
    unsigned char b[8];

    assert(gguf_val_size(type) && type != GGUF_F32 && type != GGUF_F64);
    wr_u64(b, (uint64_t)i);
    put_key(o, str(key), type);
    buf_put(&o->keys, b, gguf_val_size(type));
}

void gguf_put_float(struct gguf_out *o, const char *key, enum gguf_type type,
                    double d)
{
    float f = (float)d;
    uint32_t u;
    uint64_t w;

    assert(type == GGUF_F32 || type == GGUF_F64);
    memcpy(&u, &f, 4);
    memcpy(&w, &d, 8);
    put_key(o, str(key), type);
    if (type == GGUF_F32)
        put_u32(&o->keys, u);
    else
        put_u64(&o->keys, w);
}

void gguf_put_arr(struct gguf_out *o, const char *key, enum gguf_type elem,
                  uint64_t n, const void *p, size_t bytes)
{
    struct gguf_val v = {.key = str(key),
                         .type = GGUF_ARR,
                         .elem = elem,
                         .n = n,
                         .p = p,
                         .bytes = bytes};

    gguf_put_val(o, &v);
}

size_t gguf_out_pad(const struct gguf_out *o, uint64_t bytes)
{
    return (size_t)(-bytes & (o->alignment - 1));
}

uint64_t gguf_put_tensor(struct gguf_out *o, struct gguf_str name,
                         uint32_t type, int ndim, const uint64_t *ne)
{
    struct gguf_tensor t = {.name = name, .ndim = ndim, .type = type};
    uint64_t end;

    if (o->e.code)
        return 0;
    for (int i = 0; i < GGUF_MAX_DIMS; i++)
        t.ne[i] = i < ndim ? ne[i] : 1;
    if (gguf_size_tensor(&t, &o->e) || !add_ok(o->data, t.bytes, &end) ||
        end > INT64_MAX) {
        err_set(&o->e, ERR_FORMAT, "the file would be too large");
        err_prefix(&o->e, "tensor '%.*s'", GGUF_NAME(name));
        return 0;
    }
    put_str(&o->tensors, name);
    put_u32(&o->tensors, (uint32_t)ndim);
    for (int i = 0; i < ndim; i++)
        put_u64(&o->tensors, ne[i]);
    put_u32(&o->tensors, type);
    put_u64(&o->tensors, o->data);
    o->data = end + gguf_out_pad(o, end);
    o->ntensor++;
    return t.bytes;
}

int gguf_out_head(struct buf *to, const struct gguf_out *o, struct err *e)
{
    size_t start = to->n, pad;

    if (o->e.code)
        return err_set(e, o->e.code, "%s", o->e.msg);
    buf_puts(to, "GGUF");
    put_u32(to, 3);
    put_u64(to, o->ntensor);
    put_u64(to, o->nkey);
    buf_put(to, o->keys.p, o->keys.n);
    buf_put(to, o->tensors.p, o->tensors.n);
    pad = gguf_out_pad(o, to->n - start);
    if (pad && buf_reserve(to, pad))
        memset(buf_add(to, pad), 0, pad);
    return o->keys.bad || o->tensors.bad ? err_nomem(e) : buf_ok(to, e);
}
