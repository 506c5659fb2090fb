/* SPDX-License-Identifier: MIT
 * simd.h - panels "l16" of blocks of 32 for vectors of x86: a lane is a row,
 * and 16 rows are one vector or two parts.
 *
 * A vector is 4 integers of each row, which are multiplied by 4 activations of
 * a column, broadcast from memory: VNNI adds the products to a lane.  Without
 * it vpmaddubsw adds two neighbours in 16 bits.  Activations are -127..127, so
 * with integers of at most TOP a sum over G vectors is within 2 * G * 127 *
 * TOP:
 *   TOP 15, G 8: 30480      TOP 31, G 4: 31496
 * and never leaves 16 bits.  Greater integers (q8_0, iq4_nl) are taken as
 * 16 * high + low, both of TOP 15.
 *
 * A file of an instruction set says TILE32_WIDTHS, X(columns that registers
 * take at a time) from the most on. */
#ifndef LLM_KERNELS_QUANT_TILE32_SIMD_H
#define LLM_KERNELS_QUANT_TILE32_SIMD_H

#include "kernels/quant/vec.h"

#if defined(VL)

#include "kernels/quant/ahead.h"
#include "kernels/quant/tile32/tile32.h"

enum { TILE32_PARTS = KERN_ROWS / VL, TILE32_MOST = VL == 16 ? 12 : 6 };

/* What integers of 4 bits are indices into: the values, unsigned; and the low
 * and the high halves of their bits. */
struct tile32_table {
    VI whole, low, high;
};

VEC_FN struct tile32_table tile32_table(const struct tile32_form *f)
{
    struct tile32_table t;

    t.whole = vi_add8(vi_table(f->value), vi_set8(f->off));
    t.low = vi_and(t.whole, vi_set8(15));
    t.high = vi_and(vi_right16(t.whole, 4), vi_set8(15));
    return t;
}

/* The scales d at S of part H. */
VEC_FN VF tile32_scale(const struct tile32_form *f, const uint8_t *s, int h)
{
    VF d = f->scales == 1 ? vf_e8m0_half(s + h * VL) : vf_f16(s + h * VL * 2);

    if (f->most) {
        /* NaN where it is negative. */
        d = vf_mul(vf_or(d, vi_right32(vf_bits(d), 31)), vf_set(16));
    }
    return d;
}

/* Integers 4j..4j+3 and 16+4j..19+4j of the block at Q, and its second plane
 * if it has one, part H; J goes up from 0.  FIFTH: fifth bits of what comes
 * next, where there are any.  SHIFTED: the second may be 16 times as great. */
VEC_FN void tile32_integers(const struct tile32_form *f, VI v[2], VI fifth[2],
                            const uint8_t *q, const uint8_t *second, int j,
                            int h, bool shifted)
{
    const VI low = vi_set8(15);

    q += h * VL * 4;
    if (f->split) {
        VI a = vi_load(q + 64 * j), b = vi_load(second + h * VL * 4 + 64 * j);

        v[0] = vi_or_and(vi_andnot(low, vi_left16(a, 4)), b, low);
        v[1] = vi_or_and(vi_andnot(low, a), vi_right16(b, 4), low);
        return;
    }
    if (f->bits == 8) {
        v[0] = vi_load(q + 64 * j);
        v[1] = vi_load(q + 64 * (j + 4));
        return;
    }
    v[0] = vi_load(q + 64 * (j + (f->bits == 5)));
    v[1] = shifted ? vi_andnot(low, v[0]) : vi_and(vi_right16(v[0], 4), low);
    v[0] = vi_and(v[0], low);
    if (f->bits == 5) {
        VEC_UNROLL for (int i = 0; i < 2; i++)
        {
            v[i] = vi_or_and(v[i], fifth[i], vi_set8(16));
            fifth[i] = vi_right16(fifth[i], 1);
        }
    }
}

VEC_FN void tile32_fifth(const struct tile32_form *f, VI fifth[2],
                         const uint8_t *q, int h)
{
    if (f->bits == 5) {
        fifth[1] = vi_load(q + h * VL * 4);
        fifth[0] = vi_left16(fifth[1], 4);
    }
}

#if VEC_VNNI
/* SUM[c] += integers of the block at Q . column c at X. */
VEC_FN void tile32_sums(const struct tile32_form *f, int nc,
                        VI to[][TILE32_MOST], const uint8_t *q,
                        const uint8_t *second, const int8_t *x, int h,
                        int parts, const struct tile32_table *table)
{
    /* Few columns have two chains each: one would be as long as the latency of
     * 8. */
    const bool shifted = nc <= 2 && f->bits == 4 && !f->table;
    VI v[2], fifth[2], t[2], *sum = to[0];

    (void)parts;
    tile32_fifth(f, fifth, q, h);
    if (nc <= 2) {
        t[0] = t[1] = vi_zero();
        VEC_UNROLL for (int j = 0; j < 4; j++)
        {
            tile32_integers(f, v, fifth, q, second, j, h, shifted);
            if (f->table) {
                v[0] = vi_look(table->whole, v[0]);
                v[1] = vi_look(table->whole, v[1]);
            }
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                const int8_t *at = x + 32 * c + 4 * j;

                sum[c] = vi_dot(sum[c], v[0], vi_each(at));
                t[c] = vi_dot(t[c], v[1], vi_each(at + 16));
            }
        }
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            sum[c] = vi_add32(sum[c], shifted ? vi_right32(t[c], 4) : t[c]);
        }
        return;
    }
    /* A loop: as fast, and compiled in a third of the time. */
    VEC_LOOP for (int j = 0; j < 4; j++)
    {
        tile32_integers(f, v, fifth, q, second, j, h, false);
        VEC_UNROLL for (int i = 0; i < 2; i++)
        {
            if (f->table)
                v[i] = vi_look(table->whole, v[i]);
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                sum[c] = vi_dot_each(sum[c], v[i], x + 32 * c + 4 * j + 16 * i);
            }
        }
    }
}
#else
/* A[c] += v . column c, in 16 bits; A becomes it if FIRST. */
VEC_FN void tile32_add(int nc, VI *a, VI v, const int8_t *x, bool first)
{
    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        VI d = vi_dot8(v, vi_each(x + 32 * c));

        a[c] = first ? d : vi_add16(a[c], d);
        VEC_KEEP(a[c]);
    }
}

/* SUM[c] += integers of the block at Q . column c at X, of parts H to H + PARTS
 * - 1, which are at SUM's beginning. */
VEC_FN void tile32_sums(const struct tile32_form *f, int nc,
                        VI sum[][TILE32_MOST], const uint8_t *q,
                        const uint8_t *second, const int8_t *x, int h,
                        int parts, const struct tile32_table *table)
{
    const VI one = vi_set16(1), low = vi_set8(15);
    const int each = f->top > 15 ? 2 : 4;
    VI v[2], fifth[2][2], a[2][TILE32_MOST], b[TILE32_MOST];

    VEC_UNROLL for (int p = 0; p < parts; p++)
    {
        tile32_fifth(f, fifth[p], q, h + p);
    }
    VEC_UNROLL for (int j = 0; j < 4; j++)
        VEC_UNROLL for (int p = 0; p < parts; p++)
    {
        tile32_integers(f, v, fifth[p], q, second, j, h + p, false);
        VEC_UNROLL for (int i = 0; i < 2; i++)
        {
            const int8_t *at = x + 4 * j + 16 * i;

            if (f->top > 31) {
                tile32_add(nc, a[p],
                           f->table ? vi_look(table->low, v[i])
                                    : vi_and(v[i], low),
                           at, !i && !j);
                tile32_add(nc, b,
                           f->table ? vi_look(table->high, v[i])
                                    : vi_and(vi_right16(v[i], 4), low),
                           at, !i && !j);
                continue;
            }
            tile32_add(nc, a[p], f->table ? vi_look(table->whole, v[i]) : v[i],
                       at, !i && j % each == 0);
        }
        if (j % each == each - 1)
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                if (f->top <= 31)
                    sum[p][c] = vi_dot16(sum[p][c], a[p][c], one);
                else if (j == 3)
                    sum[p][c] = vi_dot16(vi_dot16(sum[p][c], a[p][c], one),
                                         b[c], vi_set16(16));
            }
    }
}
#endif

/* acc[c] += block . column c, of the PARTS from H on; X: the first column's
 * integers, XF its d, of W; START: what integers are too high by, in all. */
VEC_FN void tile32_block(const struct tile32_form *f, int nc,
                         VF acc[][TILE32_MOST], const uint8_t *s,
                         const uint8_t *q, const uint8_t *second,
                         const int8_t *x, const float *xf, const int32_t *start,
                         int w, int h, int parts,
                         const struct tile32_table *table)
{
    VI sum[2][TILE32_MOST];
    VF d;

    VEC_UNROLL for (int p = 0; p < parts; p++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        sum[p][c] = f->off || f->most ? vi_each(start + c) : vi_zero();
    }
    tile32_sums(f, nc, sum, q, second, x, h, parts, table);
    VEC_UNROLL for (int p = 0; p < parts; p++)
    {
        VF *to = acc[h + p];

        d = tile32_scale(f, s, h + p);
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            to[c] = vf_fma(vf_of(sum[p][c]), vf_mul(d, vf_each(xf + c)), to[c]);
        }
        if (f->scales == 4) {
            d = vf_f16(s + 32 + (h + p) * VL * 2);
            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                to[c] = vf_fma(d, vf_each(xf + 2 * w + c), to[c]);
            }
        }
    }
}

/* All parts: together, where that takes few registers. */
VEC_FN void tile32_rows(const struct tile32_form *f, int nc,
                        VF acc[][TILE32_MOST], const uint8_t *s,
                        const uint8_t *q, const uint8_t *second,
                        const int8_t *x, const float *xf, int w,
                        const struct tile32_table *table)
{
    const bool together = !VEC_VNNI && f->top <= 31;
    int32_t start[TILE32_MOST];
    const int32_t *at = f->most ? (const int32_t *)(xf + 2 * w) : start;
    int parts = TILE32_PARTS;

    if (f->off) {
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            int32_t t;

            memcpy(&t, xf + w + c, 4);
            start[c] = t * -f->off;
        }
        /* Through memory, because loads have room for many broadcasts. */
        if (nc > 2)
            VEC_HIDE(at);
    }
    if (together) {
        tile32_block(f, nc, acc, s, q, second, x, xf, at, w, 0, parts, table);
        return;
    }
    if (TILE32_PARTS > 1 && nc > 2)
        VEC_HIDE(parts);
    for (int h = 0; h < parts; h++)
        tile32_block(f, nc, acc, s, q, second, x, xf, at, w, h, 1, table);
}

/* Columns C..C+NC-1 of W. */
VEC_FN void tile32_cols(const struct tile32_form *f, int nc, int c, float *y,
                        size_t ldy, const uint8_t *p, const void *tile,
                        int64_t n, int w)
{
    const int8_t *x = (const int8_t *)tile + 32 * c;
    const float *xf = (const float *)tile + 8 * w + c;
    const int all = TILE32_G(f), ns = TILE32_S(f), nq = TILE32_Q(f);
    const struct tile32_table table = tile32_table(f);
    const uint8_t *second = f->split ? p + n / 32 * (ns + nq) : p;
    /* Of two planes, the same place of the next panel. */
    const size_t far = f->split || f->most ? (size_t)n / 32 * 544 : AHEAD;
    VF acc[TILE32_PARTS][TILE32_MOST];

    for (int h = 0; h < TILE32_PARTS; h++)
        VEC_UNROLL for (int i = 0; i < nc; i++)
        {
            acc[h][i] = vf_zero();
        }
    for (int64_t nb = n / 32; nb > 0; nb -= all) {
        const int g = nb < all ? (int)nb : all;

        ahead_far(p, (size_t)(g * (ns + nq)), far, c == 0);
        if (f->split)
            ahead_far(second, (size_t)g * 256, far, c == 0);
        if (VEC_VNNI && VL == 16 && nc == 1 && g == all) {
            /* 1.1 times as fast as the loop; for more columns it is not. */
            VEC_UNROLL for (int i = 0; i < all; i++)
            {
                tile32_rows(f, nc, acc, p + i * ns, p + all * ns + i * nq,
                            second + i * 256, x + i * ACT_Q32_BYTES * w,
                            xf + i * (ACT_Q32_BYTES / 4) * w, w, &table);
            }
        } else {
            VEC_LOOP for (int i = 0; i < g; i++)
            {
                tile32_rows(f, nc, acc, p + i * ns, p + g * ns + i * nq,
                            second + i * 256, x + i * ACT_Q32_BYTES * w,
                            xf + i * (ACT_Q32_BYTES / 4) * w, w, &table);
            }
        }
        x += g * ACT_Q32_BYTES * w;
        xf += g * (ACT_Q32_BYTES / 4) * w;
        p += g * (ns + nq);
        second += f->split ? g * 256 : 0;
    }
    for (int h = 0; h < TILE32_PARTS; h++)
        VEC_UNROLL for (int i = 0; i < nc; i++)
        {
            vf_store(y + (size_t)(c + i) * ldy + h * VL, acc[h][i]);
        }
}

/* Any W of a tile.  Of three that are left after others, one is computed
 * twice, which is less than a narrow tile costs. */
VEC_FN void tile32_tile(const struct tile32_form *f, float *y, size_t ldy,
                        const void *panel, const void *tile, int64_t n, int w)
{
    for (int c = 0, left; (left = w - c) > 0;) {
        if (left == 3 && c > 0) {
            c--;
            left = 4;
        }
#define X(nc)                                                                  \
    if (left >= nc) {                                                          \
        tile32_cols(f, nc, c, y, ldy, panel, tile, n, w);                      \
        c += nc;                                                               \
        continue;                                                              \
    }
        TILE32_WIDTHS
#undef X
    }
}

#endif
#endif
