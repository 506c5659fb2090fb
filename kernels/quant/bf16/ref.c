/* SPDX-License-Identifier: MIT
 * bf16: the upper half of a float.  See float_ref.h. */
#include "kernels/quant/float_ref.h"

#include "base/num.h"
#include "kernels/quant/rows.h"

static float read_elem(const void *p)
{
    return bf16_f32(rd_u16(p));
}

static void dequant(float *y, const void *row, int64_t n)
{
    float_dequant(y, row, n, 2, read_elem);
}

static float dot(const void *row, const void *tile, int64_t n, int w, int c)
{
    return float_dot(row, tile, n, w, c, 2, read_elem);
}

static void pack(void *panel, const void *row, size_t stride, int rows,
                 int64_t n)
{
    float_pack(panel, row, stride, rows, n, 2);
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 2, read_elem);
}

void bf16_init(struct kern *k, unsigned flags)
{
    struct kern_quant *q = &k->quant[KERN_bf16];

    q->layout = "k16";
    q->panel_bytes = KERN_ROWS * 2;
    q->dequant = dequant;
    q->dot = dot;
    q->pack = pack;
    q->mul = mul;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        bf16_avx2(q);
    if (flags & CPU_AVX512)
        bf16_avx512(q);
#else
    (void)flags;
#endif
}
