/* SPDX-License-Identifier: MIT
 * How bf16 is loaded; the product is float_avx512.h's. */
#include "kernels/quant/float_avx512.h"

#include "kernels/quant/rows.h"

static __m512 load(const void *p)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16));
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 2, load);
}

void bf16_avx512(struct kern_quant *q)
{
    q->mul = mul;
}
