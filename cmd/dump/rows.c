/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cmd/dump/dump.h"

/* V's form in the kernels is that of a row, so a state that is converted is
 * what the cache would have made of the same floats. */
static const struct kern *kernels(void)
{
    static struct kern k;
    static bool ready;

    if (!ready) {
        kern_init(&k, 0);
        ready = true;
    }
    return &k;
}

void rows_get(float *x, const void *p, enum kern_kv t, int width, int i)
{
    kernels()->v_get[t](x, p, width, i);
}

void rows_convert(struct buf *out, const void *p, enum kern_kv from,
                  enum kern_kv to, int width, int n)
{
    const struct kern *k = kernels();
    float *x = malloc((size_t)width * sizeof *x);
    void *q = buf_add(out, (size_t)n * kv_row_bytes(to, 1, width));
    struct err e = {0};

    if (!x || !q) {
        err_nomem(&e);
        die(&e);
    }
    for (int i = 0; i < n; i++) {
        k->v_get[from](x, p, width, i);
        k->v_put[to](q, x, width, i);
    }
    free(x);
}
