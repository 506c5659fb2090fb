/* SPDX-License-Identifier: MIT
 * simd_x86.h - what simd_avx2.h and simd_avx512.h have in common. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_X86_H
#define LLM_KERNELS_OP_MATH_SIMD_X86_H
#if defined(__AVX512F__)
#include "kernels/op/math/simd_avx512.h"
#elif defined(__AVX2__)
#include "kernels/op/math/simd_avx2.h"
#endif
#ifdef __AVX2__

SIMD_FN float f1_sqrt(float x)
{
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}

/* All lanes the half-precision number at P. */
SIMD_FN VF vf_set1_f16(const void *p)
{
    uint16_t h;

    memcpy(&h, p, 2);
    return vf_set1(_cvtsh_ss(h));
}

/* Four floats, each of which may multiply a vector: fma(x[u], v, c). */
#define VQ const float *

SIMD_FN VQ vq_load(const float *p)
{
    return p;
}

SIMD_FN VF vq_fma(VQ x, int u, VF v, VF c)
{
    return vf_fma(vf_set1(x[u]), v, c);
}

/* sum_lanes() and max_lanes() */
SIMD_FN float v16_sum(V16 x)
{
    __m256 a = _mm256_add_ps(v16_low(x), v16_high(x));
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

SIMD_FN float v16_maximum(V16 x)
{
    __m256 a = _mm256_max_ps(v16_low(x), v16_high(x));
    __m128 b =
        _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

#endif
#endif
