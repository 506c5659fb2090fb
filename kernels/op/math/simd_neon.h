/* SPDX-License-Identifier: MIT
 * simd_neon.h - what simd_avx512.h and simd_x86.h have, with NEON: VL is 8, two
 * registers, of which there are 32, so that kernels can be those of AVX2. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_NEON_H
#define LLM_KERNELS_OP_MATH_SIMD_NEON_H
#ifdef __aarch64__

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct vf {
    float32x4_t a, b;
};
struct vi {
    int32x4_t a, b;
};
struct vm {
    uint32x4_t a, b; /* all bits of a lane */
};

#define SIMD(name) name##_neon
#define SIMD_FN    static inline __attribute__((always_inline))
#define VL         8
#define VF         struct vf
#define VI         struct vi
#define VM         struct vm

SIMD_FN VF vf_set1(float a)
{
    return (VF){vdupq_n_f32(a), vdupq_n_f32(a)};
}

SIMD_FN VF vf_load(const float *p)
{
    return (VF){vld1q_f32(p), vld1q_f32(p + 4)};
}

SIMD_FN void vf_store(float *p, VF x)
{
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
}

SIMD_FN VM vf_first(int n)
{
    const int32x4_t a = {0, 1, 2, 3}, b = {4, 5, 6, 7};

    return (VM){vcltq_s32(a, vdupq_n_s32(n)), vcltq_s32(b, vdupq_n_s32(n))};
}

/* Lanes FROM..TO-1 of the 16 from AT on. */
SIMD_FN VM vf_between(int at, int from, int to)
{
    VM x = vf_first(from - at), y = vf_first(to - at);

    return (VM){vbicq_u32(y.a, x.a), vbicq_u32(y.b, x.b)};
}

/* There are no masks for memory: one by one. */
SIMD_FN VF vf_load_m(const float *p, VM m)
{
    uint32_t bit[VL];
    float t[VL];

    vst1q_u32(bit, m.a);
    vst1q_u32(bit + 4, m.b);
    for (int i = 0; i < VL; i++)
        t[i] = bit[i] ? p[i] : 0;
    return vf_load(t);
}

SIMD_FN void vf_store_m(float *p, VM m, VF x)
{
    uint32_t bit[VL];
    float t[VL];

    vst1q_u32(bit, m.a);
    vst1q_u32(bit + 4, m.b);
    vf_store(t, x);
    for (int i = 0; i < VL; i++)
        if (bit[i])
            p[i] = t[i];
}

SIMD_FN VF vf_add(VF x, VF y)
{
    return (VF){vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b)};
}

SIMD_FN VF vf_sub(VF x, VF y)
{
    return (VF){vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b)};
}

SIMD_FN VF vf_mul(VF x, VF y)
{
    return (VF){vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b)};
}

SIMD_FN VF vf_div(VF x, VF y)
{
    return (VF){vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b)};
}

SIMD_FN VF vf_fma(VF x, VF y, VF z)
{
    return (VF){vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b)};
}

SIMD_FN VF vf_neg(VF x)
{
    return (VF){vnegq_f32(x.a), vnegq_f32(x.b)};
}

SIMD_FN VF vf_abs(VF x)
{
    return (VF){vabsq_f32(x.a), vabsq_f32(x.b)};
}

SIMD_FN VF vf_select(VM m, VF x, VF y)
{
    return (VF){vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b)};
}

SIMD_FN VI vf_bits(VF x)
{
    return (VI){vreinterpretq_s32_f32(x.a), vreinterpretq_s32_f32(x.b)};
}

SIMD_FN VF vi_float(VI x)
{
    return (VF){vreinterpretq_f32_s32(x.a), vreinterpretq_f32_s32(x.b)};
}

SIMD_FN VF vf_sign(VF x, VF s)
{
    const int32x4_t m = vdupq_n_s32(INT32_MIN);
    VI a = vf_bits(x), b = vf_bits(s);

    return vi_float((VI){vorrq_s32(a.a, vandq_s32(b.a, m)),
                         vorrq_s32(a.b, vandq_s32(b.b, m))});
}

SIMD_FN VM vf_lt(VF x, VF y)
{
    return (VM){vcltq_f32(x.a, y.a), vcltq_f32(x.b, y.b)};
}

SIMD_FN VM vf_le(VF x, VF y)
{
    return (VM){vcleq_f32(x.a, y.a), vcleq_f32(x.b, y.b)};
}

SIMD_FN VM vf_eq(VF x, VF y)
{
    return (VM){vceqq_f32(x.a, y.a), vceqq_f32(x.b, y.b)};
}

SIMD_FN VM vf_nan(VF x, VF y)
{
    VM a = vf_eq(x, x), b = vf_eq(y, y);

    return (VM){vmvnq_u32(vandq_u32(a.a, b.a)), vmvnq_u32(vandq_u32(a.b, b.b))};
}

/* Not vmaxq_f32() and vminq_f32(), for which a NaN is the greatest, and 0 is
 * greater than -0. */
SIMD_FN VF vf_max(VF x, VF y)
{
    return vf_select(vf_lt(y, x), x, y);
}

SIMD_FN VF vf_min(VF x, VF y)
{
    return vf_select(vf_lt(x, y), x, y);
}

SIMD_FN VM vm_or(VM x, VM y)
{
    return (VM){vorrq_u32(x.a, y.a), vorrq_u32(x.b, y.b)};
}

SIMD_FN int vm_any(VM m)
{
    return vmaxvq_u32(vorrq_u32(m.a, m.b)) != 0;
}

SIMD_FN VI vi_add(VI x, VI y)
{
    return (VI){vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b)};
}

SIMD_FN VI vi_set1(int a)
{
    return (VI){vdupq_n_s32(a), vdupq_n_s32(a)};
}

SIMD_FN VI vi_shl23(VI x)
{
    return (VI){vshlq_n_s32(x.a, 23), vshlq_n_s32(x.b, 23)};
}

SIMD_FN VF vf_f16(const void *p)
{
    uint16x8_t h = vld1q_u16(p);

    return (VF){vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(h))),
                vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(h)))};
}

SIMD_FN VF vf_bf16(const void *p)
{
    uint16x8_t h = vld1q_u16(p);

    return (VF){vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(h), 16)),
                vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(h), 16))};
}

SIMD_FN VF vf_of_s8(int8x8_t v)
{
    int16x8_t w = vmovl_s8(v);

    return (VF){vcvtq_f32_s32(vmovl_s16(vget_low_s16(w))),
                vcvtq_f32_s32(vmovl_s16(vget_high_s16(w)))};
}

SIMD_FN VF vf_i8(const void *p)
{
    return vf_of_s8(vld1_s8(p));
}

SIMD_FN VF vf_u4(const void *p, int high)
{
    uint8x8_t v = vld1_u8(p);

    v = high ? vshr_n_u8(v, 4) : vand_u8(v, vdup_n_u8(15));
    return vf_of_s8(vsub_s8(vreinterpret_s8_u8(v), vdup_n_s8(8)));
}

SIMD_FN void vf_put_f16(void *p, VF x)
{
    vst1q_u16(p, vcombine_u16(vreinterpret_u16_f16(vcvt_f16_f32(x.a)),
                              vreinterpret_u16_f16(vcvt_f16_f32(x.b))));
}

SIMD_FN VF vf_set1_f16(const void *p)
{
    float32x4_t a = vcvt_f32_f16(vreinterpret_f16_u16(vld1_dup_u16(p)));

    return (VF){a, a};
}

SIMD_FN void vf_unzip(VF *even, VF *odd, const float *p)
{
    float32x4x2_t a = vld2q_f32(p), b = vld2q_f32(p + 8);

    *even = (VF){a.val[0], b.val[0]};
    *odd = (VF){a.val[1], b.val[1]};
}

SIMD_FN float32x4_t turn4(float32x4_t x, float32x4_t cs)
{
    const uint32x4_t sign = {0x80000000, 0, 0x80000000, 0};
    float32x4_t t = vmulq_f32(vtrn2q_f32(x, x), vrev64q_f32(cs));

    t = vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(t), sign));
    return vfmaq_f32(t, vtrn1q_f32(x, x), cs);
}

SIMD_FN VF vf_turn(VF x, VF cs)
{
    return (VF){turn4(x.a, cs.a), turn4(x.b, cs.b)};
}

SIMD_FN float f1_sqrt(float x)
{
    return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
}

#define VQ float32x4_t

SIMD_FN VQ vq_load(const float *p)
{
    return vld1q_f32(p);
}

SIMD_FN VF vq_fma(VQ x, int u, VF v, VF c)
{
    switch (u) {
    case 0:
        return (VF){vfmaq_laneq_f32(c.a, v.a, x, 0),
                    vfmaq_laneq_f32(c.b, v.b, x, 0)};
    case 1:
        return (VF){vfmaq_laneq_f32(c.a, v.a, x, 1),
                    vfmaq_laneq_f32(c.b, v.b, x, 1)};
    case 2:
        return (VF){vfmaq_laneq_f32(c.a, v.a, x, 2),
                    vfmaq_laneq_f32(c.b, v.b, x, 2)};
    default:
        return (VF){vfmaq_laneq_f32(c.a, v.a, x, 3),
                    vfmaq_laneq_f32(c.b, v.b, x, 3)};
    }
}

#include "kernels/op/math/simd_v16.h"

SIMD_FN float v16_sum(V16 x)
{
    VF a = vf_add(x.a, x.b);
    float32x4_t b = vaddq_f32(a.a, a.b);
    float32x2_t c = vadd_f32(vget_low_f32(b), vget_high_f32(b));

    return vget_lane_f32(c, 0) + vget_lane_f32(c, 1);
}

SIMD_FN float v16_maximum(V16 x)
{
    VF a = vf_max(x.a, x.b), b = vf_max(a, (VF){a.b, a.b});
    float32x2_t l = vget_low_f32(b.a), h = vget_high_f32(b.a);
    float c[2];

    vst1_f32(c, vbsl_f32(vcgt_f32(l, h), l, h));
    return c[0] > c[1] ? c[0] : c[1];
}

#endif
#endif
