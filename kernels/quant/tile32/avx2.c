/* SPDX-License-Identifier: MIT
 * avx2.c - panels "l16" of blocks of 32 with AVX2.
 *
 * vpmaddubsw multiplies unsigned integers by activations and adds two
 * neighbours in 16 bits, of 8 rows at once.  Activations are -127..127, so with
 * integers of at most TOP a sum over G groups of 4 is within 2 * G * 127 * TOP:
 *   TOP 15, G 8: 30480      TOP 31, G 4: 31496
 * and never leaves 16 bits.  Greater integers (q8_0, iq4_nl) are taken as
 * 16 * high + low, both of TOP 15.
 */
#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/tile32/tile32.h"

TILE32_INLINE __m256i tile32_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* 4 bytes, at any address, in each lane. */
struct tile32_word {
    int32_t v;
} __attribute__((packed, may_alias));

TILE32_INLINE __m256i tile32_each(const void *p)
{
    return _mm256_set1_epi32(((const struct tile32_word *)p)->v);
}

/* The 16 values, unsigned, in both halves. */
TILE32_INLINE __m256i tile32_table(const struct tile32_form *f)
{
    return _mm256_add_epi8(
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)f->value)),
        _mm256_set1_epi8((char)f->off));
}

/* The scales d of 8 rows, at S for a half of the panel. */
TILE32_INLINE __m256 tile32_scale(const struct tile32_form *f, const uint8_t *s)
{
    if (f->scales == 1) {
        /* 2^(e - 128): the exponent e - 1, or a denormal for 0 and 1. */
        __m256i e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)s));
        __m256i one = _mm256_set1_epi32(1);
        __m256i d = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
        __m256i low = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);

        return _mm256_castsi256_ps(
            _mm256_blendv_epi8(low, d, _mm256_cmpgt_epi32(e, one)));
    }
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)s));
}

/* The unsigned values 4k..4k+3 of the 8 rows of HALF; their high nibbles
 * in HIGH if they are of more than 31. */
TILE32_INLINE __m256i tile32_values(const struct tile32_form *f,
                                    const uint8_t *q, const int k,
                                    const int half, __m256i table,
                                    __m256i *high)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i v, h;

    q += 32 * half;
    if (f->bits == 8) {
        v = tile32_load(q + 64 * k);
    } else {
        v = tile32_load(q + 64 * ((k & 3) + (f->bits == 5)));
        if (k >= 4)
            v = _mm256_srli_epi16(v, 4);
    }
    if (f->table)
        v = _mm256_shuffle_epi8(table, _mm256_and_si256(v, low));
    if (f->top > 31)
        *high = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
    if (f->top > 31 || !f->table)
        v = _mm256_and_si256(v, low);
    if (f->bits == 5) {
        h = tile32_load(q);
        h = k < 4 ? _mm256_slli_epi16(h, 4 - k) : _mm256_srli_epi16(h, k - 4);
        v = _mm256_or_si256(v, _mm256_and_si256(h, _mm256_set1_epi8(16)));
    }
    return v;
}

/* The order that groups of 4 are taken in: those of a byte together. */
#define TILE32_K(i) (((i) >> 1) + ((i)&1) * 4)

/* a += v . x, in 16 bits. */
TILE32_INLINE __m256i tile32_add(__m256i a, __m256i v, __m256i x)
{
    return _mm256_add_epi16(a, _mm256_maddubs_epi16(v, x));
}

/* I[c][half] = integers of a block . column c. */
TILE32_INLINE void tile32_small(const struct tile32_form *f, const int nc,
                                __m256i sum[][2], const uint8_t *q,
                                const int8_t *x, __m256i table)
{
    const __m256i one = _mm256_set1_epi16(1);
    const int each = f->top > 15 ? 4 : 8;
    __m256i s[4][2];

#pragma GCC unroll 2
    for (int g = 0; g < 8; g += each) {
#pragma GCC unroll 8
        for (int i = g; i < g + each; i++) {
            const int k = TILE32_K(i);
            __m256i v0 = tile32_values(f, q, k, 0, table, NULL);
            __m256i v1 = tile32_values(f, q, k, 1, table, NULL);

#pragma GCC unroll 4
            for (int c = 0; c < nc; c++) {
                __m256i xc = tile32_each(x + 32 * c + 4 * k);

                if (i == g) {
                    s[c][0] = _mm256_maddubs_epi16(v0, xc);
                    s[c][1] = _mm256_maddubs_epi16(v1, xc);
                } else {
                    s[c][0] = tile32_add(s[c][0], v0, xc);
                    s[c][1] = tile32_add(s[c][1], v1, xc);
                }
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < nc; c++)
#pragma GCC unroll 2
            for (int h = 0; h < 2; h++) {
                __m256i t = _mm256_madd_epi16(s[c][h], one);

                sum[c][h] = g ? _mm256_add_epi32(sum[c][h], t) : t;
            }
    }
}

/* The same for greater integers. */
TILE32_INLINE void tile32_great(const struct tile32_form *f, const int nc,
                                __m256i sum[][2], const uint8_t *q,
                                const int8_t *x, __m256i table)
{
    const __m256i one = _mm256_set1_epi16(1);
    __m256i s[4][2];

#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            const int k = TILE32_K(i);
            __m256i v1, v0 = tile32_values(f, q, k, h, table, &v1);

#pragma GCC unroll 4
            for (int c = 0; c < nc; c++) {
                __m256i xc = tile32_each(x + 32 * c + 4 * k);

                if (!i) {
                    s[c][0] = _mm256_maddubs_epi16(v0, xc);
                    s[c][1] = _mm256_maddubs_epi16(v1, xc);
                } else {
                    s[c][0] = tile32_add(s[c][0], v0, xc);
                    s[c][1] = tile32_add(s[c][1], v1, xc);
                }
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < nc; c++)
            sum[c][h] = _mm256_add_epi32(
                _mm256_madd_epi16(s[c][0], one),
                _mm256_slli_epi32(_mm256_madd_epi16(s[c][1], one), 4));
    }
}

/* acc[c] += block . column c, for NC columns of W; X: the first one's integers,
 * XF its d. */
TILE32_INLINE void tile32_block(const struct tile32_form *f, const int nc,
                                __m256 acc[][2], const uint8_t *s,
                                const uint8_t *q, const int8_t *x,
                                const float *xf, int w, __m256i table)
{
    __m256i sum[4][2];

    if (f->top > 31)
        tile32_great(f, nc, sum, q, x, table);
    else
        tile32_small(f, nc, sum, q, x, table);
#pragma GCC unroll 4
    for (int c = 0; c < nc; c++) {
        const __m256 dx = _mm256_broadcast_ss(xf + c);
        const __m256 ds = _mm256_broadcast_ss(xf + 2 * w + c);
        const int32_t t = ((const struct tile32_word *)(xf + w))[c].v;

#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            const uint8_t *at = s + f->scales * 8 / (1 + (f->scales == 4)) * h;
            __m256i i = sum[c][h];

            if (f->off)
                i = _mm256_sub_epi32(i, _mm256_set1_epi32(t * f->off));
            acc[c][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(i),
                                        _mm256_mul_ps(tile32_scale(f, at), dx),
                                        acc[c][h]);
            if (f->scales == 4)
                acc[c][h] = _mm256_fmadd_ps(
                    _mm256_cvtph_ps(_mm_loadu_si128((const void *)(at + 32))),
                    ds, acc[c][h]);
        }
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
    const __m256i table = tile32_table(f);
    __m256 acc[4][2];

#pragma GCC unroll 4
    for (int i = 0; i < nc; i++)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    for (int64_t nb = n / 32; nb > 0; nb -= all) {
        const int g = nb < all ? (int)nb : all;

        ahead(p, (size_t)(g * (ns + nq)), nc);
        for (int i = 0; i < g; i++) {
            tile32_block(f, nc, acc, p + i * ns, p + g * ns + i * nq, x, xf, w,
                         table);
            x += ACT_Q32_BYTES * w;
            xf += ACT_Q32_BYTES / 4 * w;
        }
        p += g * (ns + nq);
    }
#pragma GCC unroll 4
    for (int i = 0; i < nc; i++) {
        _mm256_storeu_ps(y + (size_t)(c + i) * ldy, acc[i][0]);
        _mm256_storeu_ps(y + (size_t)(c + i) * ldy + 8, acc[i][1]);
    }
}

/* Any W of a tile.  Of 7 and 11 columns one is computed twice, which is less
 * than a narrow tile costs. */
TILE32_INLINE void tile32_tile(const struct tile32_form *f, float *y,
                               size_t ldy, const void *panel, const void *tile,
                               int64_t n, int w)
{
    for (int c = 0, left; (left = w - c) > 0;) {
        if (left == 3 && c > 0) {
            c--;
            left = 4;
        }
        if (left >= 4) {
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

void tile32_avx2(struct kern *k)
{
#define X TILE32_SET
#include "kernels/quant/tile32/types.h"
#undef X
}
