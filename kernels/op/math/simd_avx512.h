/* SPDX-License-Identifier: MIT
 * simd_avx512.h - vectors of VL floats, and V16 of 16, as the shared kernels
 * (simd.h of each folder) use them: here the same, a zmm register.
 *
 * vf_: VL floats; v16_: 16 floats.  Comparisons with a NaN are false, max and
 * min as `a > b ? a : b` and `a < b ? a : b`. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_AVX512_H
#define LLM_KERNELS_OP_MATH_SIMD_AVX512_H
#ifdef __AVX512F__

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD(name) name##_avx512
#define SIMD_FN    static inline __attribute__((always_inline))
#define VL         16
#define VF         __m512
#define VI         __m512i /* VL int32 */
#define VM         __mmask16

SIMD_FN VF vf_set1(float a)
{
    return _mm512_set1_ps(a);
}

SIMD_FN VF vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

SIMD_FN void vf_store(float *p, VF a)
{
    _mm512_storeu_ps(p, a);
}

/* Of the first N (0..VL) lanes. */
SIMD_FN VM vf_first(int n)
{
    return (VM)((1u << n) - 1);
}

/* The lanes of M, the others 0; nothing else is read. */
SIMD_FN VF vf_load_m(const float *p, VM m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

SIMD_FN void vf_store_m(float *p, VM m, VF a)
{
    _mm512_mask_storeu_ps(p, m, a);
}

SIMD_FN VF vf_add(VF a, VF b)
{
    return _mm512_add_ps(a, b);
}

SIMD_FN VF vf_sub(VF a, VF b)
{
    return _mm512_sub_ps(a, b);
}

SIMD_FN VF vf_mul(VF a, VF b)
{
    return _mm512_mul_ps(a, b);
}

SIMD_FN VF vf_div(VF a, VF b)
{
    return _mm512_div_ps(a, b);
}

SIMD_FN VF vf_fma(VF a, VF b, VF c)
{
    return _mm512_fmadd_ps(a, b, c);
}

SIMD_FN VF vf_max(VF a, VF b)
{
    return _mm512_max_ps(a, b);
}

SIMD_FN VF vf_min(VF a, VF b)
{
    return _mm512_min_ps(a, b);
}

SIMD_FN VF vf_neg(VF a)
{
    return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}

SIMD_FN VF vf_abs(VF a)
{
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}

/* A with its sign bit set where S's is. */
SIMD_FN VF vf_sign(VF a, VF s)
{
    return _mm512_or_ps(a, _mm512_and_ps(s, _mm512_set1_ps(-0.0f)));
}

SIMD_FN VM vf_lt(VF a, VF b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

SIMD_FN VM vf_le(VF a, VF b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

SIMD_FN VM vf_eq(VF a, VF b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

/* Is either of them NaN? */
SIMD_FN VM vf_nan(VF a, VF b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}

SIMD_FN VM vm_or(VM a, VM b)
{
    return a | b;
}

SIMD_FN int vm_any(VM m)
{
    return m != 0;
}

SIMD_FN VF vf_select(VM m, VF a, VF b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

SIMD_FN VI vf_bits(VF a)
{
    return _mm512_castps_si512(a);
}

SIMD_FN VF vi_float(VI a)
{
    return _mm512_castsi512_ps(a);
}

SIMD_FN VI vi_add(VI a, VI b)
{
    return _mm512_add_epi32(a, b);
}

SIMD_FN VI vi_set1(int a)
{
    return _mm512_set1_epi32(a);
}

SIMD_FN VI vi_shl23(VI a)
{
    return _mm512_slli_epi32(a, 23);
}

/* VL numbers of 16 bits, and of 8, to float. */
SIMD_FN VF vf_f16(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

SIMD_FN VF vf_bf16(const void *p)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16));
}

SIMD_FN VF vf_i8(const void *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p)));
}

/* The low, or HIGH, 4 bits of VL bytes, less 8. */
SIMD_FN VF vf_u4(const void *p, int high)
{
    const __m512 table =
        _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    __m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128(p));

    /* vpermps takes the low 4 bits of an index. */
    return _mm512_permutexvar_ps(high ? _mm512_srli_epi32(v, 4) : v, table);
}

SIMD_FN void vf_put_f16(void *p, VF a)
{
    _mm256_storeu_si256(
        p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Even and odd elements of the 2 VL at P. */
SIMD_FN void vf_unzip(VF *even, VF *odd, const float *p)
{
    const __m512i i = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                        22, 24, 26, 28, 30);
    VF a = vf_load(p), b = vf_load(p + VL);

    *even = _mm512_permutex2var_ps(a, i, b);
    *odd =
        _mm512_permutex2var_ps(a, _mm512_add_epi32(i, _mm512_set1_epi32(1)), b);
}

/* Pairs (x0, x1) turned by (c, s), lane by lane: fma(x0, c, -(x1 * s)) and
 * fma(x0, s, x1 * c). */
SIMD_FN VF vf_turn(VF x, VF cs)
{
    VF x1 = _mm512_movehdup_ps(x), sc = _mm512_permute_ps(cs, 0xb1);

    return _mm512_fmaddsub_ps(_mm512_moveldup_ps(x), cs, _mm512_mul_ps(x1, sc));
}

#define V16       VF
#define v16_load  vf_load
#define v16_store vf_store
#define v16_set1  vf_set1
#define v16_add   vf_add
#define v16_sub   vf_sub
#define v16_mul   vf_mul
#define v16_fma   vf_fma
#define v16_max   vf_max

/* Lanes FROM..TO-1; the others A. */
SIMD_FN V16 v16_part(V16 v, int from, int to, V16 a)
{
    VM m = (VM)(vf_first(to) & ~vf_first(from));

    return _mm512_mask_blend_ps(m, a, v);
}

SIMD_FN V16 v16_load_part(const float *p, int from, int to)
{
    return vf_load_m(p, (VM)(vf_first(to) & ~vf_first(from)));
}

SIMD_FN void v16_store_part(float *p, int from, int to, V16 a)
{
    vf_store_m(p, (VM)(vf_first(to) & ~vf_first(from)), a);
}

/* The two halves of 16 lanes. */
SIMD_FN __m256 v16_low(V16 a)
{
    return _mm512_castps512_ps256(a);
}

SIMD_FN __m256 v16_high(V16 a)
{
    return _mm512_extractf32x8_ps(a, 1);
}

#endif
#endif
