/* SPDX-License-Identifier: MIT
 * avx2.c - columns into tiles with AVX2. */
#include "kernels/op/act/act_impl.h"

#include <immintrin.h>

static __m256i magnitude(const float *x)
{
    return _mm256_and_si256(_mm256_loadu_si256((const void *)x),
                            _mm256_set1_epi32(0x7fffffff));
}

/* The greatest of N (a multiple of 32), as bits. */
static uint32_t greatest(const float *x, int n)
{
    __m256i m = magnitude(x);
    __m128i h;

    for (int i = 8; i < n; i += 8)
        m = _mm256_max_epu32(m, magnitude(x + i));
    h = _mm_max_epu32(_mm256_castsi256_si128(m),
                      _mm256_extracti128_si256(m, 1));
    h = _mm_max_epu32(h, _mm_shuffle_epi32(h, 0x4e));
    h = _mm_max_epu32(h, _mm_shuffle_epi32(h, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(h);
}

static __m256i quantise8(const float *x, __m256 r)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), r));
}

/* 32 integers of X * r as bytes at Q; the sums of each 8, plus 1024. */
static __m256i quantise(int8_t *q, const float *x, __m256 r)
{
    __m256i a = _mm256_packs_epi32(quantise8(x, r), quantise8(x + 8, r));
    __m256i b = _mm256_packs_epi32(quantise8(x + 16, r), quantise8(x + 24, r));

    /* Packing keeps to halves: 4 of each 8 lie together. */
    a = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b),
                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((void *)q, a);
    return _mm256_sad_epu8(_mm256_xor_si256(a, _mm256_set1_epi8(-128)),
                           _mm256_setzero_si256());
}

static void act_q32(void *tile, int w, int c, const float *x, int64_t k0,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i += 32, x += 32) {
        struct act_q32 t = act_q32_at(tile, w, c, (k0 + i) / 32);
        uint32_t amax = greatest(x, 32);
        __m256i s;
        __m128i h;

        if (act_special(amax, t.q, 32, t.d)) {
            *t.sum = 0;
            *t.ds = *t.d;
            continue;
        }
        s = quantise(t.q, x, _mm256_set1_ps(127.0f / act_float(amax)));
        h = _mm_add_epi32(_mm256_castsi256_si128(s),
                          _mm256_extracti128_si256(s, 1));
        h = _mm_add_epi32(h, _mm_shuffle_epi32(h, 0x4e));
        *t.d = act_float(amax) / 127.0f;
        *t.sum = _mm_cvtsi128_si32(h) - 32 * 128;
        *t.ds = *t.d * (float)*t.sum;
    }
}

static void act_q256(void *tile, int w, int c, const float *x, int64_t k0,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += 256, x += 256) {
        struct act_q256 t = act_q256_at(tile, w, c, (k0 + i) / 256);
        uint32_t amax = greatest(x, 256);
        uint64_t s[32];
        __m256 r;

        if (act_special(amax, t.q, 256, t.d)) {
            memset(t.sum16, 0, 32);
            memset(t.sum32, 0, 16);
            continue;
        }
        r = _mm256_set1_ps(127.0f / act_float(amax));
        *t.d = act_float(amax) / 127.0f;
        for (int j = 0; j < 8; j++)
            _mm256_storeu_si256((void *)(s + 4 * j),
                                quantise(t.q + 32 * j, x + 32 * j, r));
        for (int j = 0; j < 16; j++)
            t.sum16[j] = (int16_t)((int)(s[2 * j] + s[2 * j + 1]) - 16 * 128);
        for (int j = 0; j < 8; j++)
            t.sum32[j] = (int16_t)(t.sum16[2 * j] + t.sum16[2 * j + 1]);
    }
}

void act_avx2(struct kern *k)
{
    k->act[KERN_ACT_Q32] = act_q32;
    k->act[KERN_ACT_Q256] = act_q256;
}
