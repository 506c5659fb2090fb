/* SPDX-License-Identifier: MIT
 * avx512vnni.c - panels "l16" of blocks of 32 with AVX512-VNNI.
 *
 * A lane is a row: vpdpbusd multiplies 4 integers of 16 rows by 4 activations
 * of a column that are read as a broadcast operand.  16 rows by 12 columns have
 * 12 integer and 12 float accumulators, and keep 8 registers for the weights.
 */
#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/tile32/tile32.h"

/* 4 bytes, at any address, in each lane. */
struct tile32_word {
    int32_t v;
} __attribute__((packed, may_alias));

TILE32_INLINE __m512i tile32_each(const void *p)
{
    return _mm512_set1_epi32(((const struct tile32_word *)p)->v);
}

TILE32_INLINE __m512 tile32_each_ps(const float *p)
{
    return _mm512_set1_ps(*p);
}

/* The scales d of 16 rows. */
TILE32_INLINE __m512 tile32_scale(const struct tile32_form *f, const uint8_t *s)
{
    if (f->scales == 1) {
        /* 2^(e - 128): the exponent e - 1, or a denormal for 0 and 1. */
        __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)s));
        __m512i one = _mm512_set1_epi32(1);
        __m512i d = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);

        d = _mm512_mask_sllv_epi32(d, _mm512_cmple_epu32_mask(e, one),
                                   _mm512_set1_epi32(0x00200000), e);
        return _mm512_castsi512_ps(d);
    }
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)s));
}

/* The unsigned values 4j..4j+3 and 16+4j..19+4j of 16 rows; J goes up from 0.
 * H: fifth bits of what comes next, where there are any.  SHIFTED: the second
 * may be 16 times as great. */
TILE32_INLINE void tile32_values(const struct tile32_form *f, __m512i v[2],
                                 __m512i h[2], const uint8_t *q, int j,
                                 const __m512i table, const int shifted)
{
    const __m512i low = _mm512_set1_epi8(15);

    if (f->bits == 8) {
        v[0] = _mm512_loadu_si512(q + 64 * j);
        v[1] = _mm512_loadu_si512(q + 64 * (j + 4));
        return;
    }
    v[0] = _mm512_loadu_si512(q + 64 * (j + (f->bits == 5)));
    v[1] =
        shifted ? _mm512_andnot_si512(low, v[0]) : _mm512_srli_epi16(v[0], 4);
    if (f->bits == 5) {
        /* low ? v : h, without the bits of H beside its own */
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            v[i] = _mm512_ternarylogic_epi32(low, v[i], h[i], 0xca);
            v[i] = _mm512_and_si512(v[i], _mm512_set1_epi8(31));
            h[i] = _mm512_srli_epi16(h[i], 1);
        }
        return;
    }
    v[0] = _mm512_and_si512(v[0], low);
    if (!shifted)
        v[1] = _mm512_and_si512(v[1], low);
    if (f->table) {
        v[0] = _mm512_shuffle_epi8(table, v[0]);
        v[1] = _mm512_shuffle_epi8(table, v[1]);
    }
}

/* acc[c] += block . column c, for NC columns of W; X: the first one's integers,
 * XF its d. */
TILE32_INLINE void tile32_block(const struct tile32_form *f, const int nc,
                                __m512 *acc, const uint8_t *s, const uint8_t *q,
                                const int8_t *x, const float *xf, int w,
                                const __m512i table)
{
    __m512i sum[12], v[2], h[2] = {table, table};
    __m512 d;

    if (f->off && nc <= 2) {
        for (int c = 0; c < nc; c++)
            sum[c] = _mm512_set1_epi32(
                ((const struct tile32_word *)(xf + w))[c].v * -f->off);
    } else if (f->off) {
        /* Through memory, because loads have room for 12 broadcasts. */
        int32_t start[16] __attribute__((aligned(64)));
        __m512i t =
            _mm512_maskz_loadu_epi32((__mmask16)((1 << nc) - 1), xf + w);

        _mm512_store_si512(start,
                           _mm512_mullo_epi32(t, _mm512_set1_epi32(-f->off)));
#pragma GCC unroll 12
        for (int c = 0; c < nc; c++)
            sum[c] = tile32_each(start + c);
    } else {
#pragma GCC unroll 12
        for (int c = 0; c < nc; c++)
            sum[c] = _mm512_setzero_si512();
    }
    if (f->bits == 5) {
        h[1] = _mm512_loadu_si512(q);
        h[0] = _mm512_slli_epi16(h[1], 4);
    }
    if (nc <= 2) {
        /* Two chains a column: one would be as long as the latency of 8. */
        const int shifted = f->bits == 4 && !f->table;
        __m512i t[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            tile32_values(f, v, h, q, j, table, shifted);
#pragma GCC unroll 2
            for (int c = 0; c < nc; c++) {
                const int8_t *at = x + 32 * c + 4 * j;

                sum[c] = _mm512_dpbusd_epi32(sum[c], v[0], tile32_each(at));
                t[c] = _mm512_dpbusd_epi32(t[c], v[1], tile32_each(at + 16));
            }
        }
#pragma GCC unroll 2
        for (int c = 0; c < nc; c++)
            sum[c] = _mm512_add_epi32(
                sum[c], shifted ? _mm512_srai_epi32(t[c], 4) : t[c]);
    } else {
        /* A loop: as fast, and compiled in a third of the time. */
#pragma GCC unroll 1
        for (int j = 0; j < 4; j++) {
            tile32_values(f, v, h, q, j, table, 0);
#pragma GCC unroll 12
            for (int c = 0; c < nc; c++)
                sum[c] = _mm512_dpbusd_epi32(sum[c], v[0],
                                             tile32_each(x + 32 * c + 4 * j));
#pragma GCC unroll 12
            for (int c = 0; c < nc; c++)
                sum[c] = _mm512_dpbusd_epi32(
                    sum[c], v[1], tile32_each(x + 32 * c + 4 * j + 16));
        }
    }
    d = tile32_scale(f, s);
#pragma GCC unroll 12
    for (int c = 0; c < nc; c++)
        acc[c] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[c]),
                            _mm512_mul_ps(d, tile32_each_ps(xf + c)), acc[c]);
    if (f->scales == 4) {
        d = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(s + 32)));
#pragma GCC unroll 12
        for (int c = 0; c < nc; c++)
            acc[c] = _mm512_fmadd_ps(d, tile32_each_ps(xf + 2 * w + c), acc[c]);
    }
}

/* Columns C..C+NC-1 of W. */
TILE32_INLINE void tile32_cols(const struct tile32_form *f, const int nc, int c,
                               float *y, size_t ldy, const uint8_t *p,
                               const void *tile, int64_t n, int w)
{
    const int8_t *x = (const int8_t *)tile + 32 * c;
    const float *xf = (const float *)tile + 8 * w + c;
    const int all = TILE32_G(f), ns = TILE32_S(f), nq = TILE32_Q(f);
    const __m512i table = _mm512_add_epi8(
        _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)f->value)),
        _mm512_set1_epi8((char)f->off));
    __m512 acc[12];

#pragma GCC unroll 12
    for (int i = 0; i < nc; i++)
        acc[i] = _mm512_setzero_ps();
    for (int64_t nb = n / 32; nb > 0; nb -= all) {
        const int g = nb < all ? (int)nb : all;

        ahead(p, (size_t)(g * (ns + nq)), nc);
        if (nc == 1 && g == all) {
            /* 1.1 times as fast as the loop; for more columns it is not. */
#pragma GCC unroll 4
            for (int i = 0; i < all; i++)
                tile32_block(f, nc, acc, p + i * ns, p + all * ns + i * nq,
                             x + i * ACT_Q32_BYTES * w,
                             xf + i * (ACT_Q32_BYTES / 4) * w, w, table);
        } else {
#pragma GCC unroll 1
            for (int i = 0; i < g; i++)
                tile32_block(f, nc, acc, p + i * ns, p + g * ns + i * nq,
                             x + i * ACT_Q32_BYTES * w,
                             xf + i * (ACT_Q32_BYTES / 4) * w, w, table);
        }
        x += g * ACT_Q32_BYTES * w;
        xf += g * (ACT_Q32_BYTES / 4) * w;
        p += g * (ns + nq);
    }
#pragma GCC unroll 12
    for (int i = 0; i < nc; i++)
        _mm512_storeu_ps(y + (size_t)(c + i) * ldy, acc[i]);
}

/* Any W of a tile: of 7 and of 11 columns one is computed twice, which is
 * less than a narrow tile costs. */
TILE32_INLINE void tile32_tile(const struct tile32_form *f, float *y,
                               size_t ldy, const void *panel, const void *tile,
                               int64_t n, int w)
{
    for (int c = 0, left; (left = w - c) > 0;) {
        if (left == 3 && c > 0) {
            c--;
            left = 4;
        }
        if (left >= 12) {
            tile32_cols(f, 12, c, y, ldy, panel, tile, n, w);
            c += 12;
        } else if (left >= 8) {
            tile32_cols(f, 8, c, y, ldy, panel, tile, n, w);
            c += 8;
        } else if (left >= 4) {
            tile32_cols(f, 4, c, y, ldy, panel, tile, n, w);
            c += 4;
        } else if (left >= 2) {
            tile32_cols(f, 2, c, y, ldy, panel, tile, n, w);
            c += 2;
        } else {
            tile32_cols(f, 1, c, y, ldy, panel, tile, n, w);
            c++;
        }
    }
}

#define X TILE32_MUL
#include "kernels/quant/tile32/types.h"
#undef X

void tile32_avx512vnni(struct kern *k)
{
#define X TILE32_SET
#include "kernels/quant/tile32/types.h"
#undef X
}
