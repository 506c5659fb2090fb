/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx2.h"
#include "kernels/quant/q5_k/panel.h"

TILE256_INLINE __m256i values(const uint8_t *q, int i, int part)
{
    __m256i v = tile256_right(tile256_load(q + i % 32 * 16), i / 32 * 4);
    __m256i h = tile256_right(tile256_load(q + 512 + i % 8 * 16),
                              i / 32 + i % 32 / 8 * 2 - 4);

    (void)part;
    return _mm256_or_si256(tile256_and(v, 15), tile256_and(h, 16));
}

TILE256_INLINE __m256i scale(const uint8_t *s, int g, int h)
{
    return tile256_u8_twice(s + g * 16 + h * 8);
}

TILE256_INLINE __m256i pair(const uint8_t *s, int g, int h)
{
    return tile256_u8(s + Q5_K_M - Q5_K_S + g * 32 + h * 16);
}

TILE256_AVX2(q5_k)
