/* SPDX-License-Identifier: MIT
 * simd_avx2.h - what simd_avx512.h has, with AVX2, FMA and F16C: VL is 8, and
 * 16 floats are two ymm registers. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_AVX2_H
#define LLM_KERNELS_OP_MATH_SIMD_AVX2_H
#ifdef __AVX2__

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD(name) name##_avx2
#define SIMD_FN    static inline __attribute__((always_inline))
#define VL         8
#define VF         __m256
#define VI         __m256i
#define VM         __m256 /* all bits of a lane */

SIMD_FN VF vf_set1(float a)
{
    return _mm256_set1_ps(a);
}

SIMD_FN VF vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

SIMD_FN void vf_store(float *p, VF a)
{
    _mm256_storeu_ps(p, a);
}

SIMD_FN VM vf_first(int n)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(
        _mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}

SIMD_FN VF vf_load_m(const float *p, VM m)
{
    return _mm256_maskload_ps(p, _mm256_castps_si256(m));
}

SIMD_FN void vf_store_m(float *p, VM m, VF a)
{
    _mm256_maskstore_ps(p, _mm256_castps_si256(m), a);
}

SIMD_FN VF vf_add(VF a, VF b)
{
    return _mm256_add_ps(a, b);
}

SIMD_FN VF vf_sub(VF a, VF b)
{
    return _mm256_sub_ps(a, b);
}

SIMD_FN VF vf_mul(VF a, VF b)
{
    return _mm256_mul_ps(a, b);
}

SIMD_FN VF vf_div(VF a, VF b)
{
    return _mm256_div_ps(a, b);
}

SIMD_FN VF vf_fma(VF a, VF b, VF c)
{
    return _mm256_fmadd_ps(a, b, c);
}

SIMD_FN VF vf_max(VF a, VF b)
{
    return _mm256_max_ps(a, b);
}

SIMD_FN VF vf_min(VF a, VF b)
{
    return _mm256_min_ps(a, b);
}

SIMD_FN VF vf_neg(VF a)
{
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f));
}

SIMD_FN VF vf_abs(VF a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

SIMD_FN VF vf_sign(VF a, VF s)
{
    return _mm256_or_ps(a, _mm256_and_ps(s, _mm256_set1_ps(-0.0f)));
}

SIMD_FN VM vf_lt(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

SIMD_FN VM vf_le(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

SIMD_FN VM vf_eq(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}

SIMD_FN VM vf_nan(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
}

SIMD_FN VM vm_or(VM a, VM b)
{
    return _mm256_or_ps(a, b);
}

SIMD_FN int vm_any(VM m)
{
    return _mm256_movemask_ps(m) != 0;
}

SIMD_FN VF vf_select(VM m, VF a, VF b)
{
    return _mm256_blendv_ps(b, a, m);
}

SIMD_FN VI vf_bits(VF a)
{
    return _mm256_castps_si256(a);
}

SIMD_FN VF vi_float(VI a)
{
    return _mm256_castsi256_ps(a);
}

SIMD_FN VI vi_add(VI a, VI b)
{
    return _mm256_add_epi32(a, b);
}

SIMD_FN VI vi_set1(int a)
{
    return _mm256_set1_epi32(a);
}

SIMD_FN VI vi_shl23(VI a)
{
    return _mm256_slli_epi32(a, 23);
}

SIMD_FN VF vf_f16(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

SIMD_FN VF vf_bf16(const void *p)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16));
}

SIMD_FN VF vf_i8(const void *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p)));
}

SIMD_FN VF vf_u4(const void *p, int high)
{
    __m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64(p));

    v = high ? _mm256_srli_epi32(v, 4)
             : _mm256_and_si256(v, _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(v, _mm256_set1_epi32(8)));
}

SIMD_FN void vf_put_f16(void *p, VF a)
{
    _mm_storeu_si128(
        p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SIMD_FN void vf_unzip(VF *even, VF *odd, const float *p)
{
    VF a = vf_load(p), b = vf_load(p + VL);
    /* 0 1 8 9 4 5 .. after the shuffle: pairs of floats in order 0 2 1 3 */
    __m256d e = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    __m256d o = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));

    *even = _mm256_castpd_ps(_mm256_permute4x64_pd(e, 0xd8));
    *odd = _mm256_castpd_ps(_mm256_permute4x64_pd(o, 0xd8));
}

SIMD_FN VF vf_turn(VF x, VF cs)
{
    VF x1 = _mm256_movehdup_ps(x), sc = _mm256_permute_ps(cs, 0xb1);

    return _mm256_fmaddsub_ps(_mm256_moveldup_ps(x), cs, _mm256_mul_ps(x1, sc));
}

/* Lanes FROM..TO-1 of the 16 from AT on. */
SIMD_FN VM vf_between(int at, int from, int to)
{
    return _mm256_andnot_ps(vf_first(from - at), vf_first(to - at));
}

#include "kernels/op/math/simd_v16.h"

SIMD_FN __m256 v16_low(V16 v)
{
    return v.a;
}

SIMD_FN __m256 v16_high(V16 v)
{
    return v.b;
}

#endif
#endif
