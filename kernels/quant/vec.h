/* SPDX-License-Identifier: MIT
 * vec.h - vectors of x86, so that products are written once for AVX2 and
 * AVX-512, with and without VNNI: VL lanes of 32 bits, a row of the panel each,
 * as integers VI and floats VF. */
#ifndef LLM_KERNELS_QUANT_VEC_H
#define LLM_KERNELS_QUANT_VEC_H
#if defined(__AVX2__)

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define VEC_FN static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define VL         16
#define VI         __m512i
#define VF         __m512
#define VEC_(op)   _mm512_##op
#define VEC_SI(op) _mm512_##op##_si512
#define VEC_HALF   __m256i
#define VEC_CASTPS _mm512_castsi512_ps
#else
#define VL         8
#define VI         __m256i
#define VF         __m256
#define VEC_(op)   _mm256_##op
#define VEC_SI(op) _mm256_##op##_si256
#define VEC_HALF   __m128i
#define VEC_CASTPS _mm256_castsi256_ps
#endif

/* Before a loop whose every turn is code of its own: indices must be constants.
 * (clang 14 passes over gcc's pragma: a third of the speed.)  Before one whose
 * turns are the same code. */
#if defined(__clang__)
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#define VEC_LOOP   _Pragma("clang loop unroll(disable)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#define VEC_LOOP   _Pragma("GCC unroll 1")
#endif

/* From here on the compiler does not know what V is.  Loops up to it stay loops
 * (gcc 12 unrolls those of 2 in spite of a pragma), and what is read through it
 * is not kept for an iteration where it would be another column's: without,
 * twice to four times the code, and as much time to compile it. */
#define VEC_HIDE(v) __asm__("" : "+r"(v))

/* Sums are added up in the order that is written: in gcc's own they take more
 * registers than AVX2 has. */
#if VL == 16
#define VEC_KEEP(v) ((void)0)
#else
#define VEC_KEEP(v) __asm__("" : "+x"(v))
#endif

VEC_FN VI vi_load(const void *p)
{
    return VEC_SI(loadu)(p);
}

VEC_FN VI vi_zero(void)
{
    return VEC_SI(setzero)();
}

VEC_FN VI vi_set8(int v)
{
    return VEC_(set1_epi8)((char)v);
}

VEC_FN VI vi_set16(int v)
{
    return VEC_(set1_epi16)((short)v);
}

VEC_FN VI vi_set32(int v)
{
    return VEC_(set1_epi32)(v);
}

/* The 4 bytes at P in each lane. */
VEC_FN VI vi_each(const void *p)
{
    int32_t v;

    memcpy(&v, p, 4);
    return vi_set32(v);
}

/* 16 bytes at P, for vi_look(). */
VEC_FN VI vi_table(const void *p)
{
#if VL == 16
    return _mm512_broadcast_i32x4(_mm_loadu_si128(p));
#else
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(p));
#endif
}

/* Those of the table at I's bytes, 0..15; 0 at a byte of 128. */
VEC_FN VI vi_look(VI table, VI i)
{
    return VEC_(shuffle_epi8)(table, i);
}

VEC_FN VEC_HALF vec_half(const void *p)
{
#if VL == 16
    return _mm256_loadu_si256(p);
#else
    return _mm_loadu_si128(p);
#endif
}

/* VL bytes at P to lanes. */
VEC_FN VI vi_u8_32(const void *p)
{
#if VL == 16
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(p));
#else
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(p));
#endif
}

/* 2 VL bytes at P to words. */
VEC_FN VI vi_u8_16(const void *p)
{
    return VEC_(cvtepu8_epi16)(vec_half(p));
}

VEC_FN VI vi_s8_16(const void *p)
{
    return VEC_(cvtepi8_epi16)(vec_half(p));
}

VEC_FN VI vi_and(VI a, VI b)
{
    return VEC_SI(and)(a, b);
}

/* ~a & b */
VEC_FN VI vi_andnot(VI a, VI b)
{
    return VEC_SI(andnot)(a, b);
}

/* a | (b & mask) */
VEC_FN VI vi_or_and(VI a, VI b, VI mask)
{
#if VL == 16
    return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
#else
    return _mm256_or_si256(a, _mm256_and_si256(b, mask));
#endif
}

/* Words, with zeros. */
VEC_FN VI vi_left16(VI a, int n)
{
    return VEC_(slli_epi16)(a, (unsigned)n);
}

VEC_FN VI vi_right16(VI a, int n)
{
    return VEC_(srli_epi16)(a, (unsigned)n);
}

/* Lanes; to the right with their sign, or with zeros. */
VEC_FN VI vi_left32(VI a, int n)
{
    return VEC_(slli_epi32)(a, (unsigned)n);
}

VEC_FN VI vi_right32(VI a, int n)
{
    return VEC_(srai_epi32)(a, (unsigned)n);
}

VEC_FN VI vi_right32u(VI a, int n)
{
    return VEC_(srli_epi32)(a, (unsigned)n);
}

VEC_FN VI vi_add8(VI a, VI b)
{
    return VEC_(add_epi8)(a, b);
}

VEC_FN VI vi_add16(VI a, VI b)
{
    return VEC_(add_epi16)(a, b);
}

VEC_FN VI vi_add32(VI a, VI b)
{
    return VEC_(add_epi32)(a, b);
}

VEC_FN VI vi_mul16(VI a, VI b)
{
    return VEC_(mullo_epi16)(a, b);
}

VEC_FN VI vi_mul32(VI a, VI b)
{
    return VEC_(mullo_epi32)(a, b);
}

/* Unsigned bytes times signed ones, two neighbours' added to a word. */
VEC_FN VI vi_dot8(VI u, VI s)
{
    return VEC_(maddubs_epi16)(u, s);
}

/* ACC and the products of words, two neighbours' added to a lane. */
VEC_FN VI vi_dot16(VI acc, VI a, VI b)
{
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(acc, a, b);
#elif defined(__AVXVNNI__)
    return _mm256_dpwssd_avx_epi32(acc, a, b);
#else
    return vi_add32(acc, VEC_(madd_epi16)(a, b));
#endif
}

/* VNNI: ACC and unsigned bytes times signed ones, four added to a lane. */
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define VEC_VNNI 1
VEC_FN VI vi_dot(VI acc, VI u, VI s)
{
#if VL == 16
    return _mm512_dpbusd_epi32(acc, u, s);
#else
    return _mm256_dpbusd_avx_epi32(acc, u, s);
#endif
}
#else
#define VEC_VNNI 0
#endif

/* The same with the 4 bytes at S in each lane: one instruction, of which gcc 12
 * makes two, and copies of registers besides. */
#if defined(__AVX512VNNI__)
VEC_FN VI vi_dot_each(VI acc, VI u, const void *s)
{
    __asm__("vpdpbusd %2%{1to16%}, %1, %0"
            : "+v"(acc)
            : "v"(u), "m"(*(const char(*)[4])s));
    return acc;
}

VEC_FN VI vi_dot16_each(VI acc, VI a, const void *b)
{
    __asm__("vpdpwssd %2%{1to16%}, %1, %0"
            : "+v"(acc)
            : "v"(a), "m"(*(const char(*)[4])b));
    return acc;
}
#else
#if VEC_VNNI
VEC_FN VI vi_dot_each(VI acc, VI u, const void *s)
{
    return vi_dot(acc, u, vi_each(s));
}
#endif

VEC_FN VI vi_dot16_each(VI acc, VI a, const void *b)
{
    return vi_dot16(acc, a, vi_each(b));
}
#endif

/* The bits of V; and V with those of BITS. */
VEC_FN VI vf_bits(VF v)
{
    return VEC_SI(castps)(v);
}

VEC_FN VF vf_or(VF v, VI bits)
{
    return VEC_CASTPS(VEC_SI(or)(vf_bits(v), bits));
}

VEC_FN VF vf_set(float v)
{
    return VEC_(set1_ps)(v);
}

VEC_FN VF vf_zero(void)
{
    return VEC_(setzero_ps)();
}

VEC_FN VF vf_each(const float *p)
{
    return VEC_(set1_ps)(*p);
}

VEC_FN VF vf_load(const void *p)
{
    return VEC_(loadu_ps)(p);
}

/* VL f16 at P. */
VEC_FN VF vf_f16(const void *p)
{
    return VEC_(cvtph_ps)(vec_half(p));
}

/* 2^(e - 128) of VL bytes e at P: the exponent e - 1, or a denormal for 0 and
 * 1. */
VEC_FN VF vf_e8m0_half(const void *p)
{
    VI e = vi_u8_32(p), one = vi_set32(1);
    VI d = vi_left32(VEC_(sub_epi32)(e, one), 23);
    VI low = VEC_(sllv_epi32)(vi_set32(0x00200000), e);

#if VL == 16
    d = _mm512_mask_mov_epi32(d, _mm512_cmple_epu32_mask(e, one), low);
    return _mm512_castsi512_ps(d);
#else
    d = _mm256_blendv_epi8(low, d, _mm256_cmpgt_epi32(e, one));
    return _mm256_castsi256_ps(d);
#endif
}

VEC_FN VF vf_of(VI a)
{
    return VEC_(cvtepi32_ps)(a);
}

VEC_FN VF vf_mul(VF a, VF b)
{
    return VEC_(mul_ps)(a, b);
}

VEC_FN VF vf_fma(VF a, VF b, VF c)
{
    return VEC_(fmadd_ps)(a, b, c);
}

/* c - a * b */
VEC_FN VF vf_fnma(VF a, VF b, VF c)
{
    return VEC_(fnmadd_ps)(a, b, c);
}

VEC_FN void vf_store(float *p, VF a)
{
    VEC_(storeu_ps)(p, a);
}

#endif
#endif
