/* SPDX-License-Identifier: MIT
 * neon.c - columns into tiles with NEON. */
#include "kernels/op/act/act_impl.h"

#include <arm_neon.h>

/* The greatest magnitude of N (a multiple of 32), as bits. */
static uint32_t greatest(const float *x, int n)
{
    uint32x4_t a = vdupq_n_u32(0), b = a;

    for (int i = 0; i < n; i += 8) {
        a = vmaxq_u32(a, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
        b = vmaxq_u32(b,
                      vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i + 4))));
    }
    return vmaxvq_u32(vmaxq_u32(a, b));
}

static int16x4_t quantise4(const float *x, float32x4_t r)
{
    return vmovn_s32(vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x), r)));
}

/* 16 integers of X * r as bytes at Q; their sums in pairs. */
static int16x8_t quantise(int8_t *q, const float *x, float32x4_t r)
{
    int16x8_t a = vcombine_s16(quantise4(x, r), quantise4(x + 4, r));
    int16x8_t b = vcombine_s16(quantise4(x + 8, r), quantise4(x + 12, r));

    vst1q_s8(q, vcombine_s8(vmovn_s16(a), vmovn_s16(b)));
    return vpaddq_s16(a, b);
}

static void act_q32(void *tile, int w, int c, const float *x, int64_t k0,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i += 32, x += 32) {
        struct act_q32 t = act_q32_at(tile, w, c, (k0 + i) / 32);
        uint32_t amax = greatest(x, 32);
        float32x4_t r;
        int16x8_t s;

        if (act_special(amax, t.q, 32, t.d)) {
            *t.sum = 0;
            *t.ds = *t.d;
            continue;
        }
        r = vdupq_n_f32(127.0f / act_float(amax));
        s = quantise(t.q, x, r);
        s = vaddq_s16(s, quantise(t.q + 16, x + 16, r));
        *t.d = act_float(amax) / 127.0f;
        *t.sum = vaddlvq_s16(s);
        *t.ds = *t.d * (float)*t.sum;
    }
}

/* 128 of them; the sums of each 16. */
static int16x8_t quantise128(int8_t *q, const float *x, float32x4_t r)
{
    int16x8_t s[8];

    for (int i = 0; i < 8; i++)
        s[i] = quantise(q + 16 * i, x + 16 * i, r);
    for (int i = 0; i < 4; i++)
        s[i] = vpaddq_s16(s[2 * i], s[2 * i + 1]);
    return vpaddq_s16(vpaddq_s16(s[0], s[1]), vpaddq_s16(s[2], s[3]));
}

static void act_q256(void *tile, int w, int c, const float *x, int64_t k0,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += 256, x += 256) {
        struct act_q256 t = act_q256_at(tile, w, c, (k0 + i) / 256);
        uint32_t amax = greatest(x, 256);
        int16x8_t a, b;
        float32x4_t r;

        if (act_special(amax, t.q, 256, t.d)) {
            memset(t.sum16, 0, 32);
            memset(t.sum32, 0, 16);
            continue;
        }
        r = vdupq_n_f32(127.0f / act_float(amax));
        *t.d = act_float(amax) / 127.0f;
        a = quantise128(t.q, x, r);
        b = quantise128(t.q + 128, x + 128, r);
        vst1q_s16(t.sum16, a);
        vst1q_s16(t.sum16 + 8, b);
        vst1q_s16(t.sum32, vpaddq_s16(a, b));
    }
}

void act_neon(struct kern *k)
{
    k->act[KERN_ACT_Q32] = act_q32;
    k->act[KERN_ACT_Q256] = act_q256;
}
