/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"
#include "kernels/op/kvrow/kvrow.h"

/* V's form in the kernels is that of a row, so a state that is converted is
 * what the cache would have made of the same floats. */
static const struct kern *kernels(void)
{
    static struct kern k;
    static bool ready;

    if (!ready) {
        kvrow_init(&k, 0);
        ready = true;
    }
    return &k;
}

static void check(const struct buf *b)
{
    struct err e = {0};

    if (buf_ok(b, &e))
        die(&e);
}

void rows_get(float *x, const void *p, enum kern_kv t, int width, int i)
{
    static struct buf row;
    size_t n = kv_row_bytes(t, 1, width);

    /* In a record it may lie anywhere. */
    row.n = 0;
    buf_put(&row, (const char *)p + (size_t)i * n, n);
    check(&row);
    kernels()->v_get[t](x, row.p, width, 0);
}

void rows_convert(struct buf *out, const void *p, enum kern_kv from,
                  enum kern_kv to, int width, int n)
{
    struct buf x = {0};

    buf_add(&x, (size_t)width * sizeof(float));
    check(&x);
    buf_add(out, (size_t)n * kv_row_bytes(to, 1, width));
    check(out);
    for (int i = 0; i < n; i++) {
        rows_get((void *)x.p, p, from, width, i);
        kernels()->v_put[to](out->p, (void *)x.p, width, i);
    }
    buf_free(&x);
}
