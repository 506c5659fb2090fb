/* SPDX-License-Identifier: MIT
 * lanes.h - vectors of floats whose lanes are groups of weights.
 *
 * What a search looks at stands with the groups side by side, so that a lane is
 * a group and no sum goes over lanes: the width of a vector changes how many
 * groups are searched at once, and no result.  The compiler's own vectors do,
 * but for minima and maxima. */
#ifndef LLM_QUANTIZE_LANES_H
#define LLM_QUANTIZE_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifdef __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

typedef float vf __attribute__((vector_size(LANES * 4)));
typedef int32_t vi __attribute__((vector_size(LANES * 4)));
typedef uint32_t vu __attribute__((vector_size(LANES * 4)));

#define LANE_FN static inline __attribute__((always_inline))

LANE_FN vf vf_load(const float *p)
{
    vf v;

    memcpy(&v, p, sizeof v);
    return v;
}

LANE_FN void vf_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

LANE_FN vf vf_set1(float a)
{
    return a - (vf){0};
}

LANE_FN vf vf_select(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

LANE_FN vf vf_min(vf a, vf b)
{
#if defined(__AVX2__)
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#elif defined(__ARM_NEON)
    return (vf)vminq_f32((float32x4_t)a, (float32x4_t)b);
#else
    return vf_select(a < b, a, b);
#endif
}

LANE_FN vf vf_max(vf a, vf b)
{
#if defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#elif defined(__ARM_NEON)
    return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
#else
    return vf_select(a > b, a, b);
#endif
}

LANE_FN vf vf_abs(vf a)
{
    return (vf)((vi)a & 0x7fffffff);
}

#ifdef __AVX2__
/* TABLE[AT mod 8] */
LANE_FN vf vf_pick(vf table, vi at)
{
    return (vf)_mm256_permutevar8x32_ps((__m256)table, (__m256i)at);
}
#endif

/* To the nearest integer, even ones of two; |a| < 2^22. */
LANE_FN vf vf_round(vf a)
{
    return a + 12582912.0f - 12582912.0f;
}

LANE_FN vf vf_clamp(vf a, float lo, float hi)
{
    return vf_min(vf_max(a, vf_set1(lo)), vf_set1(hi));
}

/* 1 / a, and 0 where that is not finite. */
LANE_FN vf vf_inverse(vf a)
{
    vf r = 1.0f / a;

    return vf_select(((vi)r & 0x7f800000) == 0x7f800000, (vf){0}, r);
}

#endif
