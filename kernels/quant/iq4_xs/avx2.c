/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx2.h"
#include "kernels/quant/iq4_xs/panel.h"

/* The values and 128 in two parts: low halves, high halves. */
TILE256_INLINE __m256i values(const uint8_t *q, int i, int part)
{
    __m256i v = tile256_right(tile256_load(q + i / 32 * 256 + i % 16 * 16),
                              i % 32 / 16 * 4);
    __m128i table = part ? _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10,
                                         11, 12, 13, 15)
                         : _mm_setr_epi8(1, 8, 13, 15, 15, 13, 10, 6, 1, 13, 9,
                                         6, 5, 5, 9, 1);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table),
                               tile256_and(v, 15));
}

TILE256_INLINE __m256i scale(const uint8_t *s, int g, int h)
{
    return _mm256_cvtepi8_epi16(tile256_which(s + g / 2 * 32 + h * 16, g % 2));
}

TILE256_INLINE __m256i pair(const uint8_t *s, int g, int h)
{
    return _mm256_mullo_epi16(tile256_s8(s + g * 32 + h * 16),
                              _mm256_set1_epi16(-128));
}

TILE256_AVX2(iq4_xs)
