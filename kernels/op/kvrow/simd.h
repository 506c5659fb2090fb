/* SPDX-License-Identifier: MIT
 * simd.h - rows of K and V on vectors: what avx2.c and avx512.c are made of.
 * Only putting: rows are taken back for snapshots alone. */
#ifndef LLM_KERNELS_OP_KVROW_SIMD_H
#define LLM_KERNELS_OP_KVROW_SIMD_H

#include "kernels/op/kvrow/kvrow.h"
#include "kernels/op/kvrow/q.h"
#include "kernels/op/math/simd.h"

#ifdef VL

static void k_put_f16(void *page, const float *x, int d, int pos)
{
    uint16_t *p = (uint16_t *)page + (size_t)(pos / 16) * 16 * (size_t)d +
                  pos % 16,
             h[VL];
    int i;

    for (i = 0; i + VL <= d; i += VL, p += 16 * VL) {
        vf_put_f16(h, vf_load(x + i));
        for (int l = 0; l < VL; l++)
            p[l * 16] = h[l];
    }
    for (; i < d; i++, p += 16)
        *p = f32_to_f16(x[i]);
}

static void v_put_f16(void *page, const float *x, int d, int pos)
{
    uint16_t *p = (uint16_t *)page + (size_t)pos * (size_t)d;
    int i;

    for (i = 0; i + VL <= d; i += VL)
        vf_put_f16(p + i, vf_load(x + i));
    for (; i < d; i++)
        p[i] = f32_to_f16(x[i]);
}

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

static void v_put_q8_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)pos * (size_t)(d / 32) * 34;

    for (int b = 0; b < d / 32; b++, p += 34) {
        uint16_t s = q8_simd((int8_t *)p + 2, x + b * 32);

        memcpy(p, &s, 2);
    }
}

static void v_put_q4_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)pos * (size_t)(d / 32) * 18;

    for (int b = 0; b < d / 32; b++, p += 18) {
        uint16_t s = q4_simd((uint8_t *)p + 2, x + b * 32);

        memcpy(p, &s, 2);
    }
}

static void k_put_q8_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)(pos / 16) * (size_t)(d / 32) * (16 * 34);

    for (int b = 0; b < d / 32; b++, p += 16 * 34) {
        int8_t q[32];
        uint16_t s = q8_simd(q, x + b * 32);

        memcpy(p + pos % 16 * 2, &s, 2);
        for (int i = 0; i < 32; i++)
            p[32 + i * 16 + pos % 16] = (char)q[i];
    }
}

static void k_put_q4_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)(pos / 16) * (size_t)(d / 32) * (16 * 18);

    for (int b = 0; b < d / 32; b++, p += 16 * 18) {
        uint8_t q[16];
        uint16_t s = q4_simd(q, x + b * 32);

        memcpy(p + pos % 16 * 2, &s, 2);
        for (int i = 0; i < 16; i++)
            p[32 + i * 16 + pos % 16] = (char)q[i];
    }
}

void SIMD(kvrow)(struct kern *k)
{
    k->k_put[KV_F16] = k_put_f16;
    k->v_put[KV_F16] = v_put_f16;
    k->k_put[KV_Q8_0] = k_put_q8_0;
    k->v_put[KV_Q8_0] = v_put_q8_0;
    k->k_put[KV_Q4_0] = k_put_q4_0;
    k->v_put[KV_Q4_0] = v_put_q4_0;
}

#endif
#endif
