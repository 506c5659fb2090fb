/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx512vnni.h"
#include "kernels/quant/q5_k/panel.h"

TILE256_INLINE __m512i values(const uint8_t *q, int i)
{
    __m512i v = tile256_right(_mm512_loadu_si512(q + i % 32 * 16), i / 32 * 4);
    __m512i h = tile256_right(_mm512_loadu_si512(q + 512 + i % 8 * 16),
                              i / 32 + i % 32 / 8 * 2 - 4);

    return tile256_or_and(_mm512_and_si512(v, _mm512_set1_epi8(15)), h, 16);
}

TILE256_INLINE __m512i scale(const uint8_t *s, int g)
{
    return tile256_u8_32(s + g * 16);
}

TILE256_INLINE __m512i pair(const uint8_t *s, int g)
{
    return tile256_u8_16(s + Q5_K_M - Q5_K_S + g * 32);
}

TILE256_AVX512VNNI(q5_k)
