/* SPDX-License-Identifier: MIT
 * f32: floats as they are.  See float_ref.h. */
#include "kernels/quant/float_ref.h"

#include "base/num.h"
#include "kernels/quant/rows.h"

static float read_elem(const void *p)
{
    return rd_f32(p);
}

static void dequant(float *y, const void *row, int64_t n)
{
    float_dequant(y, row, n, 4, read_elem);
}

static float dot(const void *row, const void *tile, int64_t n, int w, int c)
{
    return float_dot(row, tile, n, w, c, 4, read_elem);
}

static void pack(void *panel, const void *row, size_t stride, int rows,
                 int64_t n)
{
    float_pack(panel, row, stride, rows, n, 4);
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 4, read_elem);
}

void f32_init(struct kern *k, unsigned flags)
{
    struct kern_quant *q = &k->quant[KERN_f32];

    q->layout = "k16";
    q->panel_bytes = KERN_ROWS * 4;
    q->dequant = dequant;
    q->dot = dot;
    q->pack = pack;
    q->mul = mul;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        f32_avx2(q);
    if (flags & CPU_AVX512)
        f32_avx512(q);
#else
    (void)flags;
#endif
}
