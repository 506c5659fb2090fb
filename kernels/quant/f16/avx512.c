/* SPDX-License-Identifier: MIT
 * How f16 is loaded; the product is float_avx512.h's. */
#include "kernels/quant/float_avx512.h"

#include "kernels/quant/rows.h"

static __m512 load(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 2, load);
}

void f16_avx512(struct kern_quant *q)
{
    q->mul = mul;
}
