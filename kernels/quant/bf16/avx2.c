/* SPDX-License-Identifier: MIT
 * How bf16 is loaded; the product is float_avx2.h's. */
#include "kernels/quant/float_avx2.h"

#include "kernels/quant/rows.h"

static __m256 load(const void *p)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16));
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w)
{
    float_mul(y, ldy, panel, tile, n, w, 2, load);
}

void bf16_avx2(struct kern_quant *q)
{
    q->mul = mul;
}
