/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx512vnni.h"
#include "kernels/quant/q6_k/panel.h"

TILE256_INLINE __m512i values(const uint8_t *q, int i)
{
    __m512i v = tile256_right(_mm512_loadu_si512(q + i % 64 * 16), i / 64 * 4);
    __m512i h = tile256_right(_mm512_loadu_si512(q + 1024 + i % 32 * 16),
                              i / 32 * 2 - 4);

    return tile256_or_and(_mm512_and_si512(v, _mm512_set1_epi8(15)), h, 48);
}

TILE256_INLINE __m512i scale(const uint8_t *s, int g)
{
    __m512i v = tile256_s8_16(s + g / 2 * 32);

    return _mm512_srai_epi32(g % 2 ? v : _mm512_slli_epi32(v, 16), 16);
}

TILE256_INLINE __m512i pair(const uint8_t *s, int g)
{
    return _mm512_mullo_epi16(tile256_s8_16(s + g * 32),
                              _mm512_set1_epi16(-32));
}

TILE256_AVX512VNNI(q6_k)
