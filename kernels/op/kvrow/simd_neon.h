/* SPDX-License-Identifier: MIT
 * simd_neon.h - q8_block() and q4_block() with NEON. */
#ifndef LLM_KERNELS_OP_KVROW_SIMD_NEON_H
#define LLM_KERNELS_OP_KVROW_SIMD_NEON_H
#ifdef __aarch64__

#include "kernels/op/kvrow/q.h"
#include "kernels/op/math/simd.h"

/* The greatest magnitude of 32 numbers as bits; a NaN is greater than all. */
SIMD_FN uint32_t amax_bits(const float *x)
{
    uint32x4_t m = vdupq_n_u32(0);

    for (int i = 0; i < 32; i += 4)
        m = vmaxq_u32(m, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
    return vmaxvq_u32(m);
}

/* X[0..7] * m + b, product and sum rounded, no less than LOW and no more than
 * HIGH; a NaN is LOW. */
SIMD_FN VF scaled(const float *x, float m, float b, float low, float high)
{
    VF t = vf_mul(vf_load(x), vf_set1(m));

    if (b != 0)
        t = vf_add(t, vf_set1(b));
    return vf_min(vf_max(t, vf_set1(low)), vf_set1(high));
}

/* As q8_block(). */
SIMD_FN uint16_t q8_simd(int8_t *q, const float *x)
{
    float d = bits_f32(amax_bits(x)) / 127, id = d != 0 ? 1 / d : 0;

    for (int i = 0; i < 32; i += 8) {
        VF t = scaled(x + i, id, 0, -127, 127);
        /* To nearest, halves away from 0. */
        int16x4_t a = vmovn_s32(vcvtaq_s32_f32(t.a));
        int16x4_t b = vmovn_s32(vcvtaq_s32_f32(t.b));

        vst1_s8(q + i, vmovn_s16(vcombine_s16(a, b)));
    }
    return f32_to_f16(d);
}

/* As q4_block(), two to a byte. */
SIMD_FN uint16_t q4_simd(uint8_t *q, const float *x)
{
    uint32_t max = amax_bits(x);
    uint8x8_t v[4];
    float d, id;
    int at = 0;

    while ((f32_bits(x[at]) & 0x7fffffff) != max)
        at++;
    d = x[at] / -8;
    id = d != 0 ? 1 / d : 0;
    for (int i = 0; i < 4; i++) {
        VF t = scaled(x + 8 * i, id, 8.5f, 0, 15);
        uint16x4_t a = vmovn_u32(vcvtq_u32_f32(t.a));
        uint16x4_t b = vmovn_u32(vcvtq_u32_f32(t.b));

        v[i] = vmovn_u16(vcombine_u16(a, b));
    }
    vst1_u8(q, vorr_u8(v[0], vshl_n_u8(v[2], 4)));
    vst1_u8(q + 8, vorr_u8(v[1], vshl_n_u8(v[3], 4)));
    return f32_to_f16(d);
}

#endif
#endif
