/* SPDX-License-Identifier: MIT
 *
 * The reader over any bytes: what it takes is read to the last one, and what
 * the writer makes of it is taken again. */
#include <stdlib.h>
#include <string.h>

#include "safetensors/safetensors.h"
#include "safetensors/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

static void again(const struct safetensors *s)
{
    struct safetensors_out o = {0};
    struct safetensors *t;
    struct buf b = {0};

    for (size_t i = 0; i < safetensors_n(s); i++) {
        const struct safetensors_tensor *x = safetensors_at(s, i);

        if (safetensors_put(&o, x->name, x->dtype, x->ndim, x->shape) !=
            x->bytes)
            abort();
    }
    if (!safetensors_head(&b, &o, NULL)) {
        for (size_t i = 0; i < safetensors_n(s); i++)
            buf_put(&b, safetensors_at(s, i)->p,
                    (size_t)safetensors_at(s, i)->bytes);
        if (safetensors_open_memory(&t, "again", b.p, b.n, NULL) ||
            safetensors_n(t) != safetensors_n(s))
            abort();
        safetensors_close(t);
    }
    safetensors_fini(&o);
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *s;
    struct err e = {0};

    if (safetensors_open_memory(&s, "fuzz", data, size, &e)) {
        if (!e.code || !e.msg[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < safetensors_n(s); i++) {
        const struct safetensors_tensor *t = safetensors_at(s, i);

        if (safetensors_find(s, t->name) != t ||
            t->bytes != t->n * safetensors_dtype_size(t->dtype))
            abort();
        for (uint64_t k = 0; k < t->bytes; k++)
            sink += t->p[k];
    }
    again(s);
    safetensors_close(s);
    return 0;
}
