/* SPDX-License-Identifier: MIT */
#include "safetensors/write.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/num.h"

void safetensors_fini(struct safetensors_out *o)
{
    json_decref(o->json);
    o->json = NULL;
}

static bool begin(struct safetensors_out *o)
{
    if (!o->json && !o->e.code) {
        o->json = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
        if (!o->json)
            err_nomem(&o->e);
    }
    return !o->e.code;
}

/* Elements, in bytes. */
static int size(uint64_t *bytes, enum safetensors_dtype dtype, int ndim,
                const uint64_t *shape)
{
    *bytes = safetensors_dtype_size(dtype);
    for (int i = 0; i < ndim; i++)
        if (shape[i] > INT64_MAX || !mul_ok(*bytes, shape[i], bytes))
            return -1;
    return 0;
}

static json_t *entry(enum safetensors_dtype dtype, int ndim,
                     const uint64_t *shape, uint64_t from, uint64_t to)
{
    json_t *a = json_array();

    for (int i = 0; i < ndim; i++)
        if (json_array_append_new(a, json_integer((json_int_t)shape[i]))) {
            json_decref(a);
            return NULL;
        }
    return json_pack("{s:s,s:o,s:[I,I]}", "dtype",
                     safetensors_dtype_name(dtype), "shape", a, "data_offsets",
                     (json_int_t)from, (json_int_t)to);
}

uint64_t safetensors_put(struct safetensors_out *o, const char *name,
                         enum safetensors_dtype dtype, int ndim,
                         const uint64_t *shape)
{
    uint64_t bytes, end;

    if (!begin(o))
        return 0;
    if (json_object_get(o->json, name)) {
        err_set(&o->e, ERR_FORMAT, "tensor '%.100s' comes twice", name);
        return 0;
    }
    if (ndim > SAFETENSORS_MAX_DIMS || size(&bytes, dtype, ndim, shape) ||
        !add_ok(o->data, bytes, &end) || end > INT64_MAX) {
        err_set(&o->e, ERR_FORMAT, "tensor '%.100s' would be too large", name);
        return 0;
    }
    if (json_object_set_new(o->json, name,
                            entry(dtype, ndim, shape, o->data, end))) {
        err_set(&o->e, ERR_FORMAT,
                "tensor '%.100s': its name is no UTF-8, or memory ran out",
                name);
        return 0;
    }
    o->data = end;
    return bytes;
}

int safetensors_head(struct buf *to, struct safetensors_out *o, struct err *e)
{
    unsigned char len[8];
    char *text;
    size_t n;

    if (!begin(o))
        return err_set(e, o->e.code, "%s", o->e.msg);
    text = json_dumps(o->json, JSON_COMPACT);
    if (!text)
        return err_nomem(e);
    n = strlen(text);
    wr_u64(len, n + (-n & 7));
    buf_put(to, len, sizeof len);
    buf_puts(to, text);
    for (; n & 7; n++)
        buf_putc(to, ' ');
    free(text);
    return buf_ok(to, e);
}
