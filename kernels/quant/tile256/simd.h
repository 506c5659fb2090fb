/* SPDX-License-Identifier: MIT
 * simd.h - a panel of super-blocks times a tile of KERN_ACT_Q256, for vectors
 * of x86: a lane is a row, and 16 rows are one vector or two parts.
 *
 * A vector is 4 consecutive values of each row, as unsigned bytes, which are
 * multiplied by 4 activations of a column, broadcast from memory.  With VNNI
 * the sum over some 16 or 32 values is scaled and added in int32: where it fits
 * in 16 bits, by vpdpwssd, whose upper half of a lane's scale is 0; else by
 * vpmulld.  Without it, vpmaddubsw adds products in pairs: two sums of 16 bits,
 * which take in as many values as fit (FIT products each); vpmaddwd scales both
 * and adds them.  What the values are too high by, times the scales, is I's
 * first value.
 *
 * A file of an instruction set says TILE256_WIDTHS, X(columns that registers
 * take at a time) from the most on, and has TILE256_MUL() of every type. */
#ifndef LLM_KERNELS_QUANT_TILE256_SIMD_H
#define LLM_KERNELS_QUANT_TILE256_SIMD_H

#include "kernels/quant/vec.h"

#if defined(VL)

#include "kernels/quant/ahead.h"
#include "kernels/quant/tile256/form.h"

#define TILE256_VECTORS
#define VB VI

enum { TILE256_PARTS = KERN_ROWS / VL, TILE256_MOST = VL == 16 ? 12 : 6 };

typedef VB tile256_values_fn(const uint8_t *q, int i, int h);

VEC_FN VB tile256_load(const uint8_t *p, int h)
{
    return vi_load(p + h * VL * 4);
}

VEC_FN VB tile256_right(VB v, int n)
{
    return n > 0 ? vi_right16(v, n) : n < 0 ? vi_left16(v, -n) : v;
}

VEC_FN VB tile256_and(VB v, int mask)
{
    return vi_and(v, vi_set8(mask));
}

VEC_FN VB tile256_or_and(VB a, VB b, int mask)
{
    return vi_or_and(a, b, vi_set8(mask));
}

/* In each lane the word that is the first of it, or the second. */
VEC_FN VI tile256_twice(VI v, int second)
{
    static const uint8_t which[2][16] = {
        {0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13},
        {2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15}};

    return vi_look(v, vi_table(which[second]));
}

/* The scales of group G of block P: lanes, whose upper halves are 0 if WORD,
 * or without VNNI twice the word. */
VEC_FN VI tile256_scale(const struct tile256_form *f, const uint8_t *p, int g,
                        int h, bool word)
{
    const uint8_t *s = p + f->scale, *two = s + g / 2 * 32 + h * VL * 2;
    VI v = f->scales == TILE256_EACH    ? vi_u8_32(s + g * 16 + h * VL)
           : f->scales == TILE256_PAIRS ? vi_s8_16(two)
                                        : vi_u8_16(two);

    if (!VEC_VNNI) {
        v = tile256_twice(v, f->scales != TILE256_EACH && g % 2);
        if (f->scales == TILE256_HALVES)
            v = vi_and(v, vi_set16(15));
    } else if (f->scales == TILE256_HALVES) {
        v = vi_and(g % 2 ? vi_right32u(v, 16) : v, vi_set32(15));
    } else if (f->scales == TILE256_PAIRS && word) {
        v = g % 2 ? vi_right32u(v, 16) : vi_and(v, vi_set32(0xffff));
    } else if (f->scales == TILE256_PAIRS) {
        v = vi_right32(g % 2 ? v : vi_left32(v, 16), 16);
    }
    return v;
}

/* What the sums of groups 2 * G and 2 * G + 1 are multiplied by. */
VEC_FN VI tile256_pair(const struct tile256_form *f, const uint8_t *p, int g,
                       int h)
{
    const uint8_t *m = p + f->pair + g * 32 + h * VL * 2;

    if (f->scales == TILE256_PAIRS)
        return vi_mul16(vi_s8_16(m), vi_set16(-f->off));
    return f->scales == TILE256_EACH ? vi_u8_16(m) : vi_right16(vi_u8_16(m), 4);
}

/* Add to S[nc] the products of pairs with sums of groups. */
VEC_FN void tile256_sums(VI *s, int nc, const struct tile256_form *f,
                         const uint8_t *p, int h, const char *sum)
{
    const int pairs = 128 / f->group;

    VEC_UNROLL for (int g = 0; g < pairs; g++)
    {
        VI m = tile256_pair(f, p, g, h);

        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            s[c] = vi_dot16_each(s[c], m, sum + c * (512 / f->group) + 4 * g);
            VEC_KEEP(s[c]);
        }
    }
}

#if VEC_VNNI
/* Add one chunk at Q of block P to I[nc]; G is its first group. */
VEC_FN void tile256_chunk(VI *in, int nc, const struct tile256_form *f,
                          const uint8_t *q, const uint8_t *p, int g, int h,
                          const int8_t *x, tile256_values_fn *values)
{
    /* 16 products to an int32, scaled by its low half; or all of a group's. */
    const bool small = f->fit >= 16 && !TILE256_TABLE(f);
    const int step = small ? 16 : f->group;
    const int steps = f->chunk / step;
    const VI table = vi_table(f->table);
    VI t[TILE256_MOST];

    VEC_UNROLL for (int s = 0; s < steps; s++)
    {
        VI k;

        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            t[c] = vi_zero();
        }
        VEC_UNROLL for (int i = s * step; i < (s + 1) * step; i += 4)
        {
            VB v = values(q, i, h);

            if (TILE256_TABLE(f))
                v = vi_look(table, v);
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                t[c] = vi_dot_each(t[c], v, x + c * 256 + i);
            }
        }
        k = tile256_scale(f, p, g + s * step / f->group, h, small);
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            in[c] = small ? vi_dot16(in[c], t[c], k)
                          : vi_add32(in[c], vi_mul32(t[c], k));
        }
    }
}
#else
VEC_FN void tile256_chunk(VI *in, int nc, const struct tile256_form *f,
                          const uint8_t *q, const uint8_t *p, int g, int h,
                          const int8_t *x, tile256_values_fn *values)
{
    const int step = f->fit * 2 < f->group ? f->fit * 2 : f->group;
    const int steps = f->chunk / step, parts = TILE256_TABLE(f) ? 2 : 1;
    /* Both halves of the values of a table at once, where registers are enough.
     */
    const int at_once = VL == 16 || nc <= 2 ? parts : 1;
    const VI whole = vi_table(f->table);
    const VI half[2] = {tile256_and(whole, 15),
                        tile256_and(vi_right16(whole, 4), 15)};
    VI t[2][TILE256_MOST];

    VEC_UNROLL for (int s = 0; s < steps; s++)
        VEC_UNROLL for (int from = 0; from < parts; from += at_once)
    {
        VI k = tile256_scale(f, p, g + s * step / f->group, h, true);

        VEC_UNROLL for (int i = s * step; i < (s + 1) * step; i += 4)
        {
            VB u = values(q, i, h);

            VEC_UNROLL for (int part = from; part < from + at_once; part++)
            {
                VB v = TILE256_TABLE(f) ? vi_look(half[part], u) : u;

                VEC_UNROLL for (int c = 0; c < nc; c++)
                {
                    VI d = vi_dot8(v, vi_each(x + c * 256 + i));

                    t[part][c] = i == s * step ? d : vi_add16(t[part][c], d);
                    VEC_KEEP(t[part][c]);
                }
            }
        }
        VEC_UNROLL for (int part = from; part < from + at_once; part++)
        {
            if (part)
                k = vi_left16(k, 4);
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                in[c] = vi_dot16(in[c], t[part][c], k);
                VEC_KEEP(in[c]);
            }
        }
    }
}
#endif

/* Block P times columns from X on, part H of its rows. */
VEC_FN void tile256_block(VF *acc, int nc, int h, const uint8_t *p,
                          const int8_t *x, const char *sum, const float *dx,
                          const struct tile256_form *f,
                          tile256_values_fn *values)
{
    VI in[TILE256_MOST];
    VF d;
    int chunks = 256 / f->chunk;

    VEC_HIDE(chunks);
    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        in[c] = vi_zero();
    }
    if (f->off)
        tile256_sums(in, nc, f, p, h, sum);
    for (int k = 0; k < chunks; k++) {
        const int8_t *at = x + k * f->chunk;

        VEC_HIDE(at);
        tile256_chunk(in, nc, f, p + f->quant + k * f->chunk_bytes, p,
                      k * f->chunk / f->group, h, at, values);
    }
    d = f->off ? vf_load(p + h * VL * 4) : vf_f16(p + h * VL * 2);
    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] = vf_fma(vf_of(in[c]), vf_mul(d, vf_each(dx + c)), acc[c]);
        in[c] = vi_zero();
    }
    if (f->off)
        return;
    d = vf_f16(p + 32 + h * VL * 2);
    tile256_sums(in, nc, f, p, h, sum);
    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] = vf_fnma(vf_of(in[c]), vf_mul(d, vf_each(dx + c)), acc[c]);
    }
}

/* Columns c0..c0+nc-1. */
VEC_FN void tile256_cols(float *y, size_t ldy, const uint8_t *p, const char *x,
                         int64_t n, int w, int c0, int nc,
                         const struct tile256_form *f,
                         tile256_values_fn *values)
{
    VF acc[TILE256_PARTS][TILE256_MOST];
    int parts = TILE256_PARTS;

    if (parts > 1)
        VEC_HIDE(parts);
    for (int h = 0; h < TILE256_PARTS; h++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            acc[h][c] = vf_zero();
        }
    for (int64_t b = 0; b < n; b += 256) {
        const float *dx = (const float *)(const void *)(x + w * 256) + c0;
        const char *sum =
            x + w * (f->group == 16 ? 260 : 292) + c0 * (512 / f->group);

        ahead(p, f->bytes, c0 == 0);
        for (int h = 0; h < parts; h++)
            tile256_block(acc[h], nc, h, p, (const int8_t *)x + c0 * 256, sum,
                          dx, f, values);
        p += f->bytes;
        x += (size_t)w * ACT_Q256_BYTES;
    }
    for (int h = 0; h < TILE256_PARTS; h++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            vf_store(y + (size_t)(c0 + c) * ldy + h * VL, acc[h][c]);
        }
}

/* Any W of a tile. */
VEC_FN void tile256_tile(float *y, size_t ldy, const void *panel,
                         const void *tile, int64_t n, int w,
                         const struct tile256_form *f,
                         tile256_values_fn *values)
{
    for (int c = 0; c < w;) {
#define X(nc)                                                                  \
    if (w - c >= nc) {                                                         \
        tile256_cols(y, ldy, panel, tile, n, w, c, nc, f, values);             \
        c += nc;                                                               \
        continue;                                                              \
    }
        TILE256_WIDTHS
#undef X
    }
}

#define TILE256_MUL(name, level)                                               \
    void tile256_##name##_##level(float *y, size_t ldy, const void *panel,     \
                                  const void *tile, int64_t n, int w)          \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q256, n, w, v, tile, y, ldy)                   \
        tile256_tile(y, ldy, panel, tile, n, v, &name##_form, name##_values);  \
    }

#endif
#endif
