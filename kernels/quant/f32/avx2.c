/* SPDX-License-Identifier: MIT
 * How f32 is loaded; the product is float_avx2.h's. */
#include "kernels/quant/float_avx2.h"

#include "kernels/quant/rows.h"

static __m256 load(const void *p)
{
    return _mm256_loadu_ps(p);
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 4, load);
}

void f32_avx2(struct kern_quant *q)
{
    q->mul = mul;
}
