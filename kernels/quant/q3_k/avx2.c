/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx2.h"
#include "kernels/quant/q3_k/panel.h"

TILE256_INLINE __m256i values(const uint8_t *q, int i, int part)
{
    __m256i v = tile256_right(tile256_load(q + i % 32 * 16), i / 32 * 2);
    __m256i h = tile256_right(tile256_load(q + 512 + i % 16 * 16),
                              i / 32 + i % 32 / 16 * 4 - 2);

    (void)part;
    return _mm256_or_si256(tile256_and(v, 3), tile256_and(h, 4));
}

TILE256_INLINE __m256i scale(const uint8_t *s, int g, int h)
{
    return _mm256_cvtepi8_epi16(tile256_which(s + g / 2 * 32 + h * 16, g % 2));
}

TILE256_INLINE __m256i pair(const uint8_t *s, int g, int h)
{
    return _mm256_mullo_epi16(tile256_s8(s + g * 32 + h * 16),
                              _mm256_set1_epi16(-4));
}

TILE256_AVX2(q3_k)
