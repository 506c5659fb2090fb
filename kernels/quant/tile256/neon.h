/* SPDX-License-Identifier: MIT
 * neon.h - a panel of super-blocks times a tile of KERN_ACT_Q256 with each of
 * NEON's instruction sets.
 *
 * The sums of each group's products are multiplied by its scales in int32.  A
 * table's values are taken as signed bytes; others are unsigned and at most 63,
 * and what they are too high by, times the scales, is I's first value. */
#ifndef LLM_KERNELS_QUANT_TILE256_NEON_H
#define LLM_KERNELS_QUANT_TILE256_NEON_H
#if defined(__aarch64__)

#include "kernels/quant/ahead.h"
#include "kernels/quant/neon.h"
#include "kernels/quant/tile256/form.h"

#define TILE256_VECTORS
#define VB struct tile256_bytes

/* Bytes whose bits from BITS on are 0, which the compiler has to be told. */
struct tile256_bytes {
    uint8x16_t v;
    int bits;
};

NEON_INLINE VB tile256_load(const uint8_t *p, int h)
{
    return (VB){vld1q_u8(p + 16 * h), 8};
}

/* Of bytes, not words: each value is in one, and MASK takes the rest away. */
NEON_INLINE VB tile256_right(VB a, int n)
{
    return n > 0 ? (VB){a.v >> n, a.bits - n} : n < 0 ? (VB){a.v << -n, 8} : a;
}

NEON_INLINE VB tile256_and(VB a, int mask)
{
    if (!(~mask & ((1 << a.bits) - 1)))
        return a;
    return (VB){vandq_u8(a.v, vdupq_n_u8((uint8_t)mask)),
                32 - __builtin_clz((unsigned)mask)};
}

/* A has no bits of MASK. */
NEON_INLINE VB tile256_or_and(VB a, VB b, int mask)
{
    return (VB){vbslq_u8(vdupq_n_u8((uint8_t)mask), b.v, a.v), 8};
}

#include "kernels/quant/tile256/panels.h"

/* As signed bytes. */
#define X(name)                                                                \
    NEON_INLINE int8x16_t name##_signed(const void *form, const uint8_t *q,    \
                                        int i, int v)                          \
    {                                                                          \
        const struct tile256_form *f = form;                                   \
        uint8x16_t u = name##_values(q, 4 * i, v).v;                           \
                                                                               \
        if (TILE256_TABLE(f))                                                  \
            u = vqtbl1q_u8(veorq_u8(vld1q_u8(f->table), vdupq_n_u8(128)), u);  \
        return vreinterpretq_s8_u8(u);                                         \
    }
#include "kernels/quant/tile256/types.h"
#undef X

/* Bytes of group G in words of two groups, 8 rows. */
NEON_INLINE int16x8_t tile256_one(const uint8_t *p, int g, const bool sign)
{
    uint16x8_t w = vreinterpretq_u16_u8(vld1q_u8(p + g / 2 * 32));
    int16x8_t s = vreinterpretq_s16_u16(w);

    if (sign)
        return vshrq_n_s16(g % 2 ? s : vshlq_n_s16(s, 8), 8);
    w = g % 2 ? vshrq_n_u16(w, 8) : vandq_u16(w, vdupq_n_u16(255));
    return vreinterpretq_s16_u16(w);
}

/* The scales of group G of block P for half H of its rows. */
NEON_INLINE int16x8_t tile256_scale(const struct tile256_form *f,
                                    const uint8_t *p, int g, int h)
{
    int16x8_t s;

    p += f->scale;
    if (f->scales == TILE256_EACH)
        return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p + g * 16 + h * 8)));
    s = tile256_one(p + h * 16, g, f->scales == TILE256_PAIRS);
    return f->scales == TILE256_PAIRS ? s : vandq_s16(s, vdupq_n_s16(15));
}

/* What the sum of group G is multiplied by. */
NEON_INLINE int16x8_t tile256_min(const struct tile256_form *f,
                                  const uint8_t *p, int g, int h)
{
    int16x8_t m =
        tile256_one(p + f->pair + h * 16, g, f->scales == TILE256_PAIRS);

    return f->scales == TILE256_PAIRS    ? vmulq_n_s16(m, (int16_t)-f->off)
           : f->scales == TILE256_HALVES ? vshrq_n_s16(m, 4)
                                         : m;
}

/* Add to S of NC columns the products of those with sums of groups. */
NEON_INLINE void tile256_sums(int32x4_t *s, const int nc,
                              const struct tile256_form *f, const uint8_t *p,
                              int h, const int16_t *sum)
{
    const int groups = 256 / f->group, u = neon_u(nc);

    NEON_UNROLL for (int g = 0; g < groups; g++)
    {
        const int16x8_t m = tile256_min(f, p, g, h);
        const int16x8_t m0 = vzip1q_s16(m, m), m1 = vzip2q_s16(m, m);

        NEON_UNROLL for (int c = 0; c < nc; c += u)
        {
            const int16_t *at = sum + c * groups + g;
            int32x4_t *to = s + 2 * c;

            if (u == 1) {
                to[0] = vmlal_n_s16(to[0], vget_low_s16(m), *at);
                to[1] = vmlal_high_n_s16(to[1], m, *at);
            } else {
                int16x8_t x =
                    vzip1q_s16(vld1q_dup_s16(at), vld1q_dup_s16(at + groups));

                to[0] = vmlal_s16(to[0], vget_low_s16(m0), vget_low_s16(x));
                to[1] = vmlal_high_s16(to[1], m0, x);
                to[2] = vmlal_s16(to[2], vget_low_s16(m1), vget_low_s16(x));
                to[3] = vmlal_high_s16(to[3], m1, x);
            }
        }
    }
}

/* Add one chunk at Q of block P to I of NC columns; G is its first group. */
NEON_INLINE void tile256_chunk(int32x4_t *in, const int nc,
                               const struct tile256_form *f, const uint8_t *q,
                               const uint8_t *p, int g, int h, const int8_t *x,
                               neon_values_fn *values)
{
    const int groups = f->chunk / f->group, each = f->group / 4, u = neon_u(nc);
    /* |v| <= 127, 2 groups of 4: 32258;  63, 4: 32004;  31, 8: 31496 */
    const int fit = TILE256_TABLE(f) ? 2 : each;

    NEON_UNROLL for (int i = 0; i < groups; i++)
    {
        int32x4_t s[NEON_SUMS], k[2];
        int16x8_t scale;

        NEON_UNROLL for (int j = 0; j < 2 * nc; j++)
        {
            s[j] = vdupq_n_s32(0);
        }
        neon_sums(s, nc, f, q, values, x, 256, i * each, each, fit);
        scale = tile256_scale(f, p, g + i, h);
        k[0] = vmovl_s16(vget_low_s16(scale));
        k[1] = vmovl_high_s16(scale);
        NEON_UNROLL for (int j = 0; j < 2 * nc; j++)
        {
            const int v = j % (2 * u);
            const int32x4_t r = u == 1  ? k[v]
                                : v & 1 ? vzip2q_s32(k[v / 2], k[v / 2])
                                        : vzip1q_s32(k[v / 2], k[v / 2]);

            in[j] = vmlaq_s32(in[j], s[j], r);
        }
    }
}

/* Half H of block P times NC columns from X on. */
NEON_INLINE void tile256_block(float32x4_t *acc, const int nc, int h,
                               const uint8_t *p, const int8_t *x,
                               const int16_t *sum, const float *dx,
                               const struct tile256_form *f,
                               neon_values_fn *values)
{
    int32x4_t in[NEON_SUMS];
    float32x4_t d[2];
    int chunks = 256 / f->chunk;

    NEON_HIDE(chunks);
    NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
    {
        in[i] = vdupq_n_s32(0);
    }
    if (f->off && !TILE256_TABLE(f))
        tile256_sums(in, nc, f, p, h, sum);
    for (int k = 0; k < chunks; k++) {
        tile256_chunk(in, nc, f, p + f->quant + k * f->chunk_bytes + 32 * h, p,
                      k * f->chunk / f->group, h, x + k * f->chunk, values);
    }
    if (f->off) {
        d[0] = vld1q_f32((const float *)(const void *)p + 8 * h);
        d[1] = vld1q_f32((const float *)(const void *)p + 8 * h + 4);
        neon_fma(acc, in, nc, d, dx, 1);
        return;
    }
    neon_f16(d, p + 16 * h);
    neon_fma(acc, in, nc, d, dx, 1);
    NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
    {
        in[i] = vdupq_n_s32(0);
    }
    tile256_sums(in, nc, f, p, h, sum);
    neon_f16(d, p + 32 + 16 * h);
    neon_fma(acc, in, nc, d, dx, -1);
}

/* Columns C..C+NC-1 of W. */
NEON_INLINE void tile256_cols(const struct tile256_form *f,
                              neon_values_fn *values, const int nc, int c,
                              float *y, size_t ldy, const uint8_t *p,
                              const char *x, int64_t n, int w)
{
    float32x4_t acc[2][NEON_SUMS];
    int halves = 2;

    NEON_HIDE(halves);
    NEON_UNROLL for (int i = 0; i < 2 * nc; i++)
    {
        acc[0][i] = acc[1][i] = vdupq_n_f32(0);
    }
    for (int64_t b = 0; b < n; b += 256) {
        const float *dx = (const float *)(const void *)(x + w * 256) + c;
        const int16_t *sum =
            (const int16_t *)(const void *)(x +
                                            w * (f->group == 16 ? 260 : 292)) +
            c * (256 / f->group);

        ahead(p, f->bytes, c == 0);
        for (int h = 0; h < halves; h++)
            tile256_block(acc[h], nc, h, p, (const int8_t *)x + c * 256, sum,
                          dx, f, values);
        p += f->bytes;
        x += (size_t)w * ACT_Q256_BYTES;
    }
    for (int h = 0; h < 2; h++)
        neon_store(y + (size_t)c * ldy + 8 * h, ldy, acc[h], nc);
}

NEON_INLINE void tile256_tile(const struct tile256_form *f,
                              neon_values_fn *values, float *y, size_t ldy,
                              const void *panel, const void *tile, int64_t n,
                              int w)
{
#define COLS(nc, c) tile256_cols(f, values, nc, c, y, ldy, panel, tile, n, w)
    NEON_EACH_COLS(w, COLS)
#undef COLS
}

#define X(name)                                                                \
    static void name##_mul(float *y, size_t ldy, const void *panel,            \
                           const void *tile, int64_t n, int w)                 \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q256, n, w, v, tile, y, ldy)                   \
        tile256_tile(&name##_form, name##_signed, y, ldy, panel, tile, n, v);  \
    }
#include "kernels/quant/tile256/types.h"
#undef X

void NEON_LEVEL(tile256)(struct kern *k)
{
#define X(name) k->quant[KERN_##name].mul = name##_mul;
#include "kernels/quant/tile256/types.h"
#undef X
}

#endif
#endif
