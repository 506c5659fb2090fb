/* SPDX-License-Identifier: MIT
 * neon.h - panels "l16" of blocks of 32 with each of NEON's instruction sets.
 */
#ifndef LLM_KERNELS_QUANT_TILE32_NEON_H
#define LLM_KERNELS_QUANT_TILE32_NEON_H
#if defined(__aarch64__)

#include "kernels/quant/ahead.h"
#include "kernels/quant/neon.h"
#include "kernels/quant/tile32/tile32.h"

NEON_INLINE int8x16_t tile32_values(const void *form, const uint8_t *q, int i,
                                    int v)
{
    const struct tile32_form *f = form;
    const int bits = f->bits;
    uint8x16_t u, h;

    q += 16 * v;
    if (bits == 8)
        return vreinterpretq_s8_u8(
            veorq_u8(vld1q_u8(q + 64 * i), vdupq_n_u8(128)));
    u = vld1q_u8(q + 64 * (i % 4 + (bits == 5)));
    u = i < 4 ? vandq_u8(u, vdupq_n_u8(15)) : vshrq_n_u8(u, 4);
    if (f->table)
        return vqtbl1q_s8(vld1q_s8(f->value), u);
    if (bits == 5) {
        h = vld1q_u8(q);
        h = i < 4 ? h << (4 - i) : h >> (i - 4);
        u = vbslq_u8(vdupq_n_u8(16), h, u);
    }
    return vreinterpretq_s8_u8(u);
}

/* What is to be taken from each of tile32_values(). */
NEON_INLINE int tile32_off(const struct tile32_form *f)
{
    return f->table || f->bits == 8 ? 0 : f->off;
}

/* Groups of 4 whose products, of both signs, fit in 16 bits:
 *   |v| <= 31, 8 groups: 31496;  |v| <= 128, 2 groups: 32512 */
NEON_INLINE int tile32_fit(const struct tile32_form *f)
{
    return f->top > 31 ? 2 : 8;
}

/* The scales d of 8 rows. */
NEON_INLINE void tile32_scale(float32x4_t d[2], const struct tile32_form *f,
                              const uint8_t *s)
{
    uint16x8_t e16;

    if (f->scales > 1) {
        neon_f16(d, s);
        return;
    }
    /* 2^(e - 128): the exponent e - 1, or a denormal for 0 and 1. */
    e16 = vmovl_u8(vld1_u8(s));
    for (int v = 0; v < 2; v++) {
        uint32x4_t e = vmovl_u16(v ? vget_high_u16(e16) : vget_low_u16(e16));
        uint32x4_t one = vdupq_n_u32(1);
        uint32x4_t low =
            vshlq_u32(vdupq_n_u32(0x00200000), vreinterpretq_s32_u32(e));

        d[v] = vreinterpretq_f32_u32(vbslq_u32(
            vcgtq_u32(e, one), vshlq_n_u32(vsubq_u32(e, one), 23), low));
    }
}

/* acc += half a block . NC columns of W; X: the first one's integers, XF its
 * d. */
NEON_INLINE void tile32_block(const struct tile32_form *f, const int nc,
                              float32x4_t *acc, const uint8_t *s,
                              const uint8_t *q, const int8_t *x,
                              const float *xf, int w)
{
    const int u = neon_u(nc);
    int32x4_t sum[NEON_SUMS];
    float32x4_t d[2];

    NEON_UNROLL for (int c = 0; c < nc; c += u)
    {
        const int32_t *t = (const int32_t *)(const void *)(xf + w) + c;
        int32x4_t start = vdupq_n_s32(0);

        if (tile32_off(f))
            start = vmulq_n_s32(u == 1 ? vld1q_dup_s32(t)
                                       : vcombine_s32(vld1_s32(t), vld1_s32(t)),
                                -tile32_off(f));
        NEON_UNROLL for (int v = 0; v < 2 * u; v++)
        {
            sum[2 * c + v] = start;
        }
    }
    neon_sums(sum, nc, f, q, tile32_values, x, 32, 0, 8, tile32_fit(f));
    tile32_scale(d, f, s);
    neon_fma(acc, sum, nc, d, xf, 1);
    if (f->scales == 4) {
        neon_f16(d, s + 32);
        neon_add(acc, nc, d, xf + 2 * w);
    }
}

/* Columns C..C+NC-1 of W. */
NEON_INLINE void tile32_cols(const struct tile32_form *f, const int nc, int c,
                             float *y, size_t ldy, const uint8_t *p,
                             const void *tile, int64_t n, int w)
{
    const int8_t *x = (const int8_t *)tile + 32 * c;
    const float *xf = (const float *)tile + 8 * w + c;
    const int all = TILE32_G(f), ns = TILE32_S(f), nq = TILE32_Q(f);
    const int step = f->scales == 1 ? 8 : 16;
    float32x4_t acc[2][NEON_SUMS];
    int halves = 2;

    NEON_HIDE(halves);
    NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
    {
        acc[0][i] = acc[1][i] = vdupq_n_f32(0);
    }
    for (int64_t nb = n / 32; nb > 0; nb -= all) {
        const int g = nb < all ? (int)nb : all;

        ahead(p, (size_t)(g * (ns + nq)), c == 0);
        for (int i = 0; i < g; i++) {
            for (int h = 0; h < halves; h++)
                tile32_block(f, nc, acc[h], p + i * ns + h * step,
                             p + g * ns + i * nq + 32 * h, x, xf, w);
            x += ACT_Q32_BYTES * w;
            xf += ACT_Q32_BYTES / 4 * w;
        }
        p += g * (ns + nq);
    }
    for (int h = 0; h < 2; h++)
        neon_store(y + (size_t)c * ldy + 8 * h, ldy, acc[h], nc);
}

NEON_INLINE void tile32_tile(const struct tile32_form *f, float *y, size_t ldy,
                             const void *panel, const void *tile, int64_t n,
                             int w)
{
#define COLS(nc, c) tile32_cols(f, nc, c, y, ldy, panel, tile, n, w)
    NEON_EACH_COLS(w, COLS)
#undef COLS
}

#define X(name)                                                                \
    static void name##_mul(float *y, size_t ldy, const void *panel,            \
                           const void *tile, int64_t n, int w)                 \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)                    \
        tile32_tile(&tile32_##name, y, ldy, panel, tile, n, v);                \
    }
#include "kernels/quant/tile32/types.h"
#undef X

void NEON_LEVEL(tile32)(struct kern *k)
{
#define X(name) k->quant[KERN_##name].mul = name##_mul;
#include "kernels/quant/tile32/types.h"
#undef X
}

#endif
#endif
