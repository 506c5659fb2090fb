/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/avx512vnni.h"
#include "kernels/quant/iq4_xs/panel.h"

/* The values and 128. */
TILE256_INLINE __m512i values(const uint8_t *q, int i)
{
    static const uint8_t table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                      129, 141, 153, 166, 181, 197, 217, 241};
    __m512i v = tile256_right(
        _mm512_loadu_si512(q + i / 32 * 256 + i % 16 * 16), i % 32 / 16 * 4);

    return _mm512_shuffle_epi8(
        _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)table)),
        _mm512_and_si512(v, _mm512_set1_epi8(15)));
}

TILE256_INLINE __m512i scale(const uint8_t *s, int g)
{
    __m512i v = tile256_s8_16(s + g / 2 * 32);

    return _mm512_srai_epi32(g % 2 ? v : _mm512_slli_epi32(v, 16), 16);
}

TILE256_INLINE __m512i pair(const uint8_t *s, int g)
{
    return _mm512_mullo_epi16(tile256_s8_16(s + g * 32),
                              _mm512_set1_epi16(-128));
}

TILE256_AVX512VNNI(iq4_xs)
