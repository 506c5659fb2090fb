/* SPDX-License-Identifier: MIT
 * amx.c - panels "l16" of blocks of 32 with AMX.
 *
 * A stretch of the panel becomes signed bytes and float scales once, and then
 * meets all columns, 16 at a time: of each block one tile of sums, which goes
 * through memory to the vector registers that hold the 16 columns' floats.  Two
 * blocks at a time, for a product takes 52 cycles.  (Making one block's tile
 * while vectors work on another's gained nothing.)
 *
 * Few columns are left to AVX512-VNNI. */
#include "kernels/quant/amx.h"

#define TILE32_WIDTHS X(1)
#include "kernels/quant/tile32/simd.h"

enum {
    STRETCH = 8, /* blocks */
    GROUP = 16,  /* columns of a tile register */
    FEW = 12     /* up to so many columns vectors are faster */
};

/* Tile registers: sums, activations, weights; those of a last group with fewer
 * columns; and of a second block.  (No enum: they are spliced into names.) */
#define C      0
#define A      1
#define B      2
#define C_REST 3
#define A_REST 4
#define C2     5
#define A2     6
#define B2     7

struct stretch {
    int8_t q[STRETCH][8][64];
    float d[STRETCH][16], m[STRETCH][16];
};

/* The integers of a block, or the values of its table, signed. */
VEC_FN void values(const struct tile32_form *f, int8_t to[8][64],
                   const uint8_t *q, const uint8_t *second,
                   const struct tile32_table *table)
{
    VI v[2], fifth[2];

    tile32_fifth(f, fifth, q, 0);
    VEC_UNROLL for (int j = 0; j < 4; j++)
    {
        tile32_integers(f, v, fifth, q, second, j, 0, false);
        VEC_UNROLL for (int i = 0; i < 2; i++)
        {
            if (f->table)
                v[i] = vi_look(table->whole, v[i]);
            _mm512_store_si512(to[j + 4 * i],
                               _mm512_sub_epi8(v[i], vi_set8(f->off)));
        }
    }
}

/* NB blocks of the panel from P on; returns where the next ones are. */
VEC_FN const uint8_t *expand(const struct tile32_form *f, struct stretch *s,
                             const uint8_t *p, const uint8_t *second, int nb)
{
    const int all = TILE32_G(f), ns = TILE32_S(f), nq = TILE32_Q(f);
    const struct tile32_table table = tile32_table(f);

    for (int b = 0; b < nb; b += all) {
        const int g = nb - b < all ? nb - b : all;

        ahead(p, (size_t)(g * (ns + nq)), true);
        if (f->split)
            ahead(second, (size_t)g * 256, true);
        for (int i = 0; i < g; i++) {
            const uint8_t *at = p + i * ns;

            _mm512_store_ps(s->d[b + i], tile32_scale(f, at, 0));
            if (f->scales == 4)
                _mm512_store_ps(s->m[b + i], vf_f16(at + 32));
            values(f, s->q[b + i], p + g * ns + i * nq, second + (b + i) * 256,
                   &table);
        }
        p += g * (ns + nq);
    }
    return p;
}

/* acc[c] += block B of S, whose sums are SUM, for NC columns; XF: the first
 * one's d, of W. */
VEC_FN void block(const struct tile32_form *f, const int nc, __m512 *acc,
                  const int32_t sum[][16], const float *d, const float *m,
                  const float *xf, int w)
{
    __m512 v = _mm512_load_ps(d);

#pragma GCC unroll 16
    for (int c = 0; c < nc; c++)
        acc[c] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sum[c])),
                            _mm512_mul_ps(v, _mm512_set1_ps(xf[c])), acc[c]);
    if (f->scales == 4) {
        v = _mm512_load_ps(m);
#pragma GCC unroll 16
        for (int c = 0; c < nc; c++)
            acc[c] = _mm512_fmadd_ps(v, _mm512_set1_ps(xf[2 * w + c]), acc[c]);
    }
}

/* NC columns from C0 on of a group whose sums are SUM. */
VEC_FN void piece(const struct tile32_form *f, const int nc, float *y,
                  size_t ldy, int32_t sum[][GROUP][16], int c0,
                  const struct stretch *s, int nb, const float *xf, int w,
                  int first)
{
    __m512 acc[GROUP];

    y += (size_t)c0 * ldy;
    xf += c0;
#pragma GCC unroll 16
    for (int c = 0; c < nc; c++)
        acc[c] =
            first ? _mm512_setzero_ps() : _mm512_loadu_ps(y + (size_t)c * ldy);
    for (int b = 0; b < nb; b++, xf += ACT_Q32_BYTES / 4 * w)
        block(f, nc, acc, sum[b] + c0, s->d[b], s->m[b], xf, w);
#pragma GCC unroll 16
    for (int c = 0; c < nc; c++)
        _mm512_storeu_ps(y + (size_t)c * ldy, acc[c]);
}

/* A group of N columns: the sums of all blocks, and then their floats. */
VEC_FN void group(const struct tile32_form *f, int n, float *y, size_t ldy,
                  const struct stretch *s, int nb, const int8_t *x,
                  const float *xf, int w, int first)
{
    int32_t sum[STRETCH][GROUP][16] __attribute__((aligned(64)));
    int b = 0, c = 0;

#define START(reg, a, values, i)                                               \
    amx_zero(reg);                                                             \
    amx_load(a, x + (i)*ACT_Q32_BYTES * w, 32);                                \
    amx_load(values, s->q[i], 64);                                             \
    amx_dot(reg, a, values);
    if (n == GROUP) {
        for (; b + 2 <= nb; b += 2) {
            START(C, A, B, b)
            START(C2, A2, B2, b + 1)
            amx_store(C, sum[b], 64);
            amx_store(C2, sum[b + 1], 64);
        }
        if (b < nb) {
            START(C, A, B, b)
            amx_store(C, sum[b], 64);
        }
        piece(f, GROUP, y, ldy, sum, 0, s, nb, xf, w, first);
        return;
    }
    for (; b < nb; b++) {
        START(C_REST, A_REST, B, b)
        amx_store(C_REST, sum[b], 64);
    }
#undef START
    for (; c + 4 <= n; c += 4)
        piece(f, 4, y, ldy, sum, c, s, nb, xf, w, first);
    for (; c < n; c++)
        piece(f, 1, y, ldy, sum, c, s, nb, xf, w, first);
}

VEC_FN void many(const struct tile32_form *f, float *y, size_t ldy,
                 const void *panel, const void *tiles, int64_t n, int all)
{
    struct stretch s __attribute__((aligned(64)));
    struct amx_shape shape = {0};
    const uint8_t *p = panel;
    const uint8_t *second = p + n / 32 * (TILE32_S(f) + TILE32_Q(f));

    amx_shape_set(&shape, C, GROUP, 64);
    amx_shape_set(&shape, A, GROUP, 32);
    amx_shape_set(&shape, B, 8, 64);
    amx_shape_set(&shape, C2, GROUP, 64);
    amx_shape_set(&shape, A2, GROUP, 32);
    amx_shape_set(&shape, B2, 8, 64);
    if (all % GROUP) {
        amx_shape_set(&shape, C_REST, all % GROUP, 64);
        amx_shape_set(&shape, A_REST, all % GROUP, 32);
    }
    amx_begin(&shape);
    for (int64_t k = 0; k < n; k += 32 * STRETCH) {
        int nb = n - k < 32 * STRETCH ? (int)(n - k) / 32 : STRETCH, left = all;
        const void *tile = tiles;
        float *to = y;

        p = expand(f, &s, p, second + k * 8, nb);
        KERN_EACH_TILE(KERN_ACT_Q32, n, left, w, tile, to, ldy)
        for (int c = 0; c < w; c += GROUP) {
            const char *at = (const char *)tile + k / 32 * ACT_Q32_BYTES * w;
            const int8_t *x = (const int8_t *)at + 32 * c;
            const float *xf = (const float *)(const void *)at + 8 * w + c;

            group(f, w - c < GROUP ? w - c : GROUP, to + (size_t)c * ldy, ldy,
                  &s, nb, x, xf, w, !k);
        }
    }
    amx_end();
}

#define X(name)                                                                \
    static void tile32_##name##_amx(float *y, size_t ldy, const void *panel,   \
                                    const void *tile, int64_t n, int w)        \
    {                                                                          \
        if (w <= FEW)                                                          \
            tile32_##name##_avx512vnni(y, ldy, panel, tile, n, w);             \
        else                                                                   \
            many(&tile32_##name, y, ldy, panel, tile, n, w);                   \
    }
#include "kernels/quant/tile32/types.h"
X(split)
#undef X

void tile32_amx(struct kern *k)
{
#define X(name) TILE32_SET(name, amx)
#include "kernels/quant/tile32/types.h"
#undef X
    k->split.mul = tile32_split_amx;
}
