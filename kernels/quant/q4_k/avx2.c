/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx2.h"
#include "kernels/quant/q4_k/panel.h"

TILE256_INLINE __m256i values(const uint8_t *q, int i, int part)
{
    (void)part;
    return tile256_and(tile256_right(tile256_load(q + i % 32 * 16), i / 32 * 4),
                       15);
}

TILE256_INLINE __m256i scale(const uint8_t *s, int g, int h)
{
    return tile256_u8_twice(s + g * 16 + h * 8);
}

TILE256_INLINE __m256i pair(const uint8_t *s, int g, int h)
{
    return tile256_u8(s + Q4_K_M - Q4_K_S + g * 32 + h * 16);
}

TILE256_AVX2(q4_k)
