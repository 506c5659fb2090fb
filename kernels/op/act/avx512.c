/* SPDX-License-Identifier: MIT
 * avx512.c - columns into tiles with AVX-512. */
#include "kernels/op/act/act_impl.h"

#include <immintrin.h>

static __m512i magnitude(const float *x)
{
    return _mm512_and_si512(_mm512_loadu_si512(x),
                            _mm512_set1_epi32(0x7fffffff));
}

/* 16 integers of X * r. */
static __m512i quantise(const float *x, __m512 r)
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), r));
}

static void act_q32(void *tile, int w, int c, const float *x, int64_t k0,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i += 32, x += 32) {
        struct act_q32 t = act_q32_at(tile, w, c, (k0 + i) / 32);
        uint32_t amax = _mm512_reduce_max_epu32(
            _mm512_max_epu32(magnitude(x), magnitude(x + 16)));
        __m512i a, b;
        __m512 r;

        if (act_special(amax, t.q, 32, t.d)) {
            *t.sum = 0;
            *t.ds = *t.d;
            continue;
        }
        r = _mm512_set1_ps(127.0f / act_float(amax));
        a = quantise(x, r);
        b = quantise(x + 16, r);
        _mm_storeu_si128((void *)t.q, _mm512_cvtepi32_epi8(a));
        _mm_storeu_si128((void *)(t.q + 16), _mm512_cvtepi32_epi8(b));
        *t.d = act_float(amax) / 127.0f;
        *t.sum = _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
        *t.ds = *t.d * (float)*t.sum;
    }
}

/* 64 of them as bytes at Q; the sums of each 8, plus 1024. */
static __m128i quantise64(int8_t *q, const float *x, __m512 r)
{
    __m512i v;

    for (int i = 0; i < 64; i += 16)
        _mm_storeu_si128((void *)(q + i),
                         _mm512_cvtepi32_epi8(quantise(x + i, r)));
    v = _mm512_xor_si512(_mm512_loadu_si512(q), _mm512_set1_epi8(-128));
    return _mm512_cvtepi64_epi16(_mm512_sad_epu8(v, _mm512_setzero_si512()));
}

static void act_q256(void *tile, int w, int c, const float *x, int64_t k0,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += 256, x += 256) {
        struct act_q256 t = act_q256_at(tile, w, c, (k0 + i) / 256);
        __m512i m = magnitude(x), s = _mm512_setzero_si512();
        __m256i s16;
        uint32_t amax;
        __m512 r;

        for (int j = 16; j < 256; j += 16)
            m = _mm512_max_epu32(m, magnitude(x + j));
        amax = _mm512_reduce_max_epu32(m);
        if (act_special(amax, t.q, 256, t.d)) {
            memset(t.sum16, 0, 32);
            memset(t.sum32, 0, 16);
            continue;
        }
        r = _mm512_set1_ps(127.0f / act_float(amax));
        *t.d = act_float(amax) / 127.0f;
        s = _mm512_inserti32x4(s, quantise64(t.q, x, r), 0);
        s = _mm512_inserti32x4(s, quantise64(t.q + 64, x + 64, r), 1);
        s = _mm512_inserti32x4(s, quantise64(t.q + 128, x + 128, r), 2);
        s = _mm512_inserti32x4(s, quantise64(t.q + 192, x + 192, r), 3);
        s = _mm512_sub_epi16(s, _mm512_set1_epi16(1024));
        s16 = _mm512_cvtepi32_epi16(_mm512_madd_epi16(s, _mm512_set1_epi16(1)));
        _mm256_storeu_si256((void *)t.sum16, s16);
        _mm_storeu_si128((void *)t.sum32,
                         _mm256_cvtepi32_epi16(
                             _mm256_madd_epi16(s16, _mm256_set1_epi16(1))));
    }
}

void act_avx512(struct kern *k)
{
    k->act[KERN_ACT_Q32] = act_q32;
    k->act[KERN_ACT_Q256] = act_q256;
}
