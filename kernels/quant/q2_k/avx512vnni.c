/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx512vnni.h"
#include "kernels/quant/q2_k/panel.h"

TILE256_INLINE __m512i values(const uint8_t *q, int i)
{
    __m512i v = tile256_right(_mm512_loadu_si512(q + i % 32 * 16), i / 32 * 2);

    return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

TILE256_INLINE __m512i scale(const uint8_t *s, int g)
{
    __m512i v = tile256_u8_16(s + g / 2 * 32);

    return _mm512_and_si512(g % 2 ? _mm512_srli_epi32(v, 16) : v,
                            _mm512_set1_epi32(15));
}

TILE256_INLINE __m512i pair(const uint8_t *s, int g)
{
    return _mm512_srli_epi16(tile256_u8_16(s + g * 32), 4);
}

TILE256_AVX512VNNI(q2_k)
