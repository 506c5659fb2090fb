/* SPDX-License-Identifier: MIT
 * neon.h - x8's product with each of NEON's instruction sets.
 *
 * All of them multiply signed bytes, so a panel's c is left alone.  Of 4
 * products each, |q| <= 64 and |x| <= 127 make at most 32512, which fits in 16
 * bits. */
#ifndef LLM_KERNELS_QUANT_X8_NEON_H
#define LLM_KERNELS_QUANT_X8_NEON_H
#if defined(__aarch64__)

#include "kernels/quant/ahead.h"
#include "kernels/quant/neon.h"
#include "kernels/quant/x8/x8.h"

NEON_INLINE int8x16_t values(const void *form, const uint8_t *q, int i, int v)
{
    (void)form;
    return vreinterpretq_s8_u8(vld1q_u8(q + 64 * i + 16 * v));
}

/* acc += half H of a record of the panel times NC columns of X; DX: scales. */
NEON_INLINE void record(float32x4_t *acc, const char *p, const int8_t *x,
                        const float *dx, const int nc, int h, const int group)
{
    const int groups = 32 / group, each = group / 4;
    const uint8_t *q = (const uint8_t *)p + groups * 128 + 32 * h;

    NEON_UNROLL for (int g = 0; g < groups; g++)
    {
        const float *at = (const float *)(const void *)p + 16 * g + 8 * h;
        float32x4_t d[2] = {vld1q_f32(at), vld1q_f32(at + 4)};
        int32x4_t s[NEON_SUMS];

        NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
        {
            s[i] = vdupq_n_s32(0);
        }
        neon_sums(s, nc, NULL, q, values, x, 32, g * each, each, 4);
        neon_fma(acc, s, nc, d, dx, 1);
    }
}

/* Columns C..C+NC-1 of W. */
NEON_INLINE void cols(float *y, size_t ldy, const char *p, const char *x,
                      int64_t n, int w, int c, const int nc, const int group)
{
    float32x4_t acc[2][NEON_SUMS];
    int halves = 2;

    NEON_HIDE(halves);
    NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
    {
        acc[0][i] = acc[1][i] = vdupq_n_f32(0);
    }
    for (int64_t k = 0; k < n; k += 32) {
        const int8_t *q = (const int8_t *)x + 32 * c;
        const float *dx = (const float *)(const void *)(x + 32 * w) + c;

        ahead(p, x8_bytes(group), c == 0);
        for (int h = 0; h < halves; h++)
            record(acc[h], p, q, dx, nc, h, group);
        p += x8_bytes(group);
        x += (size_t)w * ACT_Q32_BYTES;
    }
    for (int h = 0; h < 2; h++)
        neon_store(y + (size_t)c * ldy + 8 * h, ldy, acc[h], nc);
}

NEON_INLINE void mul(float *y, size_t ldy, const void *panel, const void *tile,
                     int64_t n, int w, const int group)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    {
#define COLS(nc, c) cols(y, ldy, panel, tile, n, v, c, nc, group)
        NEON_EACH_COLS(v, COLS)
#undef COLS
    }
}

static void mul16(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 16);
}

static void mul32(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 32);
}

const struct x8_muls NEON_LEVEL(x8) = {mul16, mul32};

#endif
#endif
