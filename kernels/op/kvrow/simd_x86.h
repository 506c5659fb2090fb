/* SPDX-License-Identifier: MIT
 * simd_x86.h - q8_block() and q4_block() with AVX2. */
#ifndef LLM_KERNELS_OP_KVROW_SIMD_X86_H
#define LLM_KERNELS_OP_KVROW_SIMD_X86_H
#ifdef __AVX2__

#include "kernels/op/kvrow/q.h"
#include "kernels/op/math/simd.h"

/* The greatest magnitude of 32 numbers as bits; a NaN is greater than all. */
SIMD_FN uint32_t amax_bits(const float *x)
{
    __m256i m = _mm256_setzero_si256();
    __m128i h;

    for (int i = 0; i < 4; i++) {
        __m256i a = _mm256_castps_si256(_mm256_loadu_ps(x + i * 8));

        a = _mm256_and_si256(a, _mm256_set1_epi32(0x7fffffff));
        m = _mm256_max_epi32(m, a);
    }
    h = _mm_max_epi32(_mm256_castsi256_si128(m),
                      _mm256_extracti128_si256(m, 1));
    h = _mm_max_epi32(h, _mm_shuffle_epi32(h, 0x4e));
    h = _mm_max_epi32(h, _mm_shuffle_epi32(h, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(h);
}

/* 32 int32, 0..255 or -128..127, to bytes. */
SIMD_FN __m256i bytes_of(__m256i a, __m256i b, __m256i c, __m256i d)
{
    a = _mm256_packs_epi32(a, b);
    c = _mm256_packs_epi32(c, d);
    return _mm256_permutevar8x32_epi32(
        _mm256_packs_epi16(a, c), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* As q8_block(). */
SIMD_FN uint16_t q8_simd(int8_t *q, const float *x)
{
    float d = bits_f32(amax_bits(x)) / 127, id = d != 0 ? 1 / d : 0;
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256i v[4];

    for (int i = 0; i < 4; i++) {
        __m256 t =
            _mm256_mul_ps(_mm256_loadu_ps(x + i * 8), _mm256_set1_ps(id));
        __m256 a, f, up;

        t = _mm256_max_ps(t, _mm256_set1_ps(-127));
        t = _mm256_min_ps(t, _mm256_set1_ps(127));
        a = _mm256_andnot_ps(sign, t);
        f = _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        up = _mm256_cmp_ps(_mm256_sub_ps(a, f), _mm256_set1_ps(0.5f),
                           _CMP_GE_OQ);
        f = _mm256_add_ps(f, _mm256_and_ps(up, _mm256_set1_ps(1)));
        v[i] = _mm256_cvttps_epi32(_mm256_or_ps(f, _mm256_and_ps(t, sign)));
    }
    _mm256_storeu_si256((void *)q, bytes_of(v[0], v[1], v[2], v[3]));
    return f32_to_f16(d);
}

/* As q4_block(), two to a byte. */
SIMD_FN uint16_t q4_simd(uint8_t *q, const float *x)
{
    uint32_t max = amax_bits(x);
    float d, id;
    __m256i v[4];
    int at = 0;

    while ((f32_bits(x[at]) & 0x7fffffff) != max)
        at++;
    d = x[at] / -8;
    id = d != 0 ? 1 / d : 0;
    for (int i = 0; i < 4; i++) {
        __m256 t =
            _mm256_mul_ps(_mm256_loadu_ps(x + i * 8), _mm256_set1_ps(id));

        t = _mm256_add_ps(t, _mm256_set1_ps(8.5f));
        t = _mm256_max_ps(t, _mm256_setzero_ps());
        t = _mm256_min_ps(t, _mm256_set1_ps(15));
        v[i] = _mm256_cvttps_epi32(t);
    }
    v[0] = _mm256_or_si256(v[0], _mm256_slli_epi32(v[2], 4));
    v[1] = _mm256_or_si256(v[1], _mm256_slli_epi32(v[3], 4));
    v[0] = _mm256_permute4x64_epi64(_mm256_packus_epi32(v[0], v[1]), 0xd8);
    _mm_storeu_si128((void *)q,
                     _mm_packus_epi16(_mm256_castsi256_si128(v[0]),
                                      _mm256_extracti128_si256(v[0], 1)));
    return f32_to_f16(d);
}

#endif
#endif
