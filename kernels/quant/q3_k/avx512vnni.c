/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx512vnni.h"
#include "kernels/quant/q3_k/panel.h"

TILE256_INLINE __m512i values(const uint8_t *q, int i)
{
    __m512i v = tile256_right(_mm512_loadu_si512(q + i % 32 * 16), i / 32 * 2);
    __m512i h = tile256_right(_mm512_loadu_si512(q + 512 + i % 16 * 16),
                              i / 32 + i % 32 / 16 * 4 - 2);

    return tile256_or_and(_mm512_and_si512(v, _mm512_set1_epi8(3)), h, 4);
}

TILE256_INLINE __m512i scale(const uint8_t *s, int g)
{
    __m512i v = tile256_s8_16(s + g / 2 * 32);

    return g % 2 ? _mm512_srli_epi32(v, 16)
                 : _mm512_and_si512(v, _mm512_set1_epi32(0xffff));
}

TILE256_INLINE __m512i pair(const uint8_t *s, int g)
{
    return _mm512_mullo_epi16(tile256_s8_16(s + g * 32), _mm512_set1_epi16(-4));
}

TILE256_AVX512VNNI(q3_k)
