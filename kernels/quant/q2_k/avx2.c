/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx2.h"
#include "kernels/quant/q2_k/panel.h"

TILE256_INLINE __m256i values(const uint8_t *q, int i, int part)
{
    (void)part;
    return tile256_and(tile256_right(tile256_load(q + i % 32 * 16), i / 32 * 2),
                       3);
}

TILE256_INLINE __m256i scale(const uint8_t *s, int g, int h)
{
    __m128i v = tile256_which(s + g / 2 * 32 + h * 16, g % 2);

    return _mm256_cvtepu8_epi16(_mm_and_si128(v, _mm_set1_epi8(15)));
}

TILE256_INLINE __m256i pair(const uint8_t *s, int g, int h)
{
    return _mm256_srli_epi16(tile256_u8(s + g * 32 + h * 16), 4);
}

TILE256_AVX2(q2_k)
