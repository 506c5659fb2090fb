/* SPDX-License-Identifier: MIT
 * avx2.h - a panel of super-blocks times a tile of KERN_ACT_Q256: 8
 * rows at a time, a lane of 32 bits each.
 *
 * vpmaddubsw multiplies 4 values of each row by 4 activations and adds them in
 * pairs: two sums of 16 bits, which take in as many values as fit (FIT products
 * each).  vpmaddwd scales both, adds them, and the result goes to I.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_AVX2_H
#define LLM_KERNELS_QUANT_TILE256_AVX2_H
#if defined(__AVX2__)

#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/rows.h"
#include "kernels/quant/tile256/form.h"

/* Values I..I+3 of rows 8 * H to 8 * H + 7 of the chunk at Q, Q being moved on
 * by 32 * H already; PART 1 is what counts 16 times. */
typedef __m256i tile256_values_fn(const uint8_t *q, int i, int part);
/* Integer scales of a block's group G: the same word twice for each row. */
typedef __m256i tile256_scale_fn(const uint8_t *s, int g, int h);
/* Words of 2 that are multiplied by the sums of groups 2 * G and 2 * G + 1. */
typedef __m256i tile256_pair_fn(const uint8_t *s, int g, int h);

/* Sums are added up in the order that is written: in gcc's own they take more
 * registers than there are. */
#define TILE256_KEEP(v) __asm__("" : "+x"(v))

/* 4 activations in each lane. */
TILE256_INLINE __m256i tile256_four(const void *x)
{
    int32_t u;

    memcpy(&u, x, 4);
    return _mm256_set1_epi32(u);
}

TILE256_INLINE __m256i tile256_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const void *)p);
}

/* Bytes of each row to words: 8 bytes twice each; of pairs, one twice; and both
 * as they stand. */
TILE256_INLINE __m256i tile256_u8_twice(const uint8_t *p)
{
    __m128i v = _mm_loadl_epi64((const void *)p);

    return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(v, v));
}

TILE256_INLINE __m128i tile256_which(const uint8_t *p, int odd)
{
    __m128i v = _mm_loadu_si128((const void *)p);

    return _mm_shuffle_epi8(v, odd ? _mm_setr_epi8(1, 1, 3, 3, 5, 5, 7, 7, 9, 9,
                                                   11, 11, 13, 13, 15, 15)
                                   : _mm_setr_epi8(0, 0, 2, 2, 4, 4, 6, 6, 8, 8,
                                                   10, 10, 12, 12, 14, 14));
}

TILE256_INLINE __m256i tile256_u8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p));
}

TILE256_INLINE __m256i tile256_s8(const uint8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)p));
}

/* Shifted right by N bits, or left by -N. */
TILE256_INLINE __m256i tile256_right(__m256i v, int n)
{
    return n > 0   ? _mm256_srli_epi16(v, n)
           : n < 0 ? _mm256_slli_epi16(v, -n)
                   : v;
}

/* v & bytes of MASK */
TILE256_INLINE __m256i tile256_and(__m256i v, char mask)
{
    return _mm256_and_si256(v, _mm256_set1_epi8(mask));
}

/* Add to S[nc] the products of pairs with sums of groups. */
TILE256_INLINE void tile256_sums(__m256i *s, int nc, const uint8_t *scale,
                                 int h, tile256_pair_fn *pair, const char *sum,
                                 int group)
{
    const int pairs = 128 / group;

    TILE256_UNROLL for (int g = 0; g < pairs; g++)
    {
        __m256i m = pair(scale, g, h);

        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            s[c] = _mm256_add_epi32(
                s[c], _mm256_madd_epi16(
                          m, tile256_four(sum + c * (512 / group) + 4 * g)));
            TILE256_KEEP(s[c]);
        }
    }
}

/* Add one chunk to I[nc]; G is its first group. */
TILE256_INLINE void tile256_chunk(__m256i *in, int nc, struct tile256_form f,
                                  const uint8_t *q, const uint8_t *scale, int g,
                                  int h, const int8_t *x,
                                  tile256_values_fn *values,
                                  tile256_scale_fn *scales)
{
    const int step = f.fit * 2 < f.group ? f.fit * 2 : f.group;
    const int steps = f.chunk / step;
    __m256i t[6];

    TILE256_UNROLL for (int s = 0; s < steps; s++)
        TILE256_UNROLL for (int part = 0; part < f.parts; part++)
    {
        __m256i k = scales(scale, g + s * step / f.group, h);

        TILE256_UNROLL for (int i = s * step; i < (s + 1) * step; i += 4)
        {
            __m256i v = values(q, i, part);

            TILE256_UNROLL for (int c = 0; c < nc; c++)
            {
                __m256i p =
                    _mm256_maddubs_epi16(v, tile256_four(x + c * 256 + i));

                t[c] = i == s * step ? p : _mm256_add_epi16(t[c], p);
                TILE256_KEEP(t[c]);
            }
        }
        if (part)
            k = _mm256_slli_epi16(k, 4);
        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            in[c] = _mm256_add_epi32(in[c], _mm256_madd_epi16(t[c], k));
            TILE256_KEEP(in[c]);
        }
    }
}

/* Block P times columns from X on, rows 8 * H to 8 * H + 7. */
TILE256_INLINE void tile256_half(__m256 *acc, int nc, int h, const uint8_t *p,
                                 const int8_t *x, const char *sum,
                                 const float *dx, struct tile256_form f,
                                 tile256_values_fn *values,
                                 tile256_scale_fn *scale, tile256_pair_fn *pair)
{
    __m256i in[6];
    __m256 d;
    int chunks = 256 / f.chunk;

    TILE256_HIDE(chunks);
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        in[c] = _mm256_setzero_si256();
    }
    if (!f.min)
        tile256_sums(in, nc, p + f.scale, h, pair, sum, f.group);
    for (int k = 0; k < chunks; k++) {
        const int8_t *at = x + k * f.chunk;

        TILE256_HIDE(at);
        tile256_chunk(in, nc, f, p + f.quant + k * f.chunk_bytes + h * 32,
                      p + f.scale, k * f.chunk / f.group, h, at, values, scale);
    }
    d = f.min ? _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p + 16 * h)))
              : _mm256_loadu_ps((const void *)(p + 32 * h));
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(in[c]),
                            _mm256_mul_ps(d, _mm256_set1_ps(dx[c])), acc[c]);
        in[c] = _mm256_setzero_si256();
    }
    if (!f.min)
        return;
    d = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p + 32 + 16 * h)));
    tile256_sums(in, nc, p + f.scale, h, pair, sum, f.group);
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] =
            _mm256_fnmadd_ps(_mm256_cvtepi32_ps(in[c]),
                             _mm256_mul_ps(d, _mm256_set1_ps(dx[c])), acc[c]);
    }
}

/* Columns c0..c0+nc-1. */
TILE256_INLINE void tile256_cols(float *y, size_t ldy, const uint8_t *p,
                                 const char *x, int64_t n, int w, int c0,
                                 int nc, struct tile256_form f,
                                 tile256_values_fn *values,
                                 tile256_scale_fn *scale, tile256_pair_fn *pair)
{
    __m256 acc[2][6];
    int halves = 2;

    TILE256_HIDE(halves);
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[0][c] = acc[1][c] = _mm256_setzero_ps();
    }
    for (int64_t b = 0; b < n; b += 256) {
        const float *dx = (const float *)(const void *)(x + w * 256) + c0;
        const char *sum =
            x + w * (f.group == 16 ? 260 : 292) + c0 * (512 / f.group);

        ahead(p, (size_t)f.bytes, nc);
        for (int h = 0; h < halves; h++)
            tile256_half(acc[h], nc, h, p, (const int8_t *)x + c0 * 256, sum,
                         dx, f, values, scale, pair);
        p += f.bytes;
        x += (size_t)w * ACT_Q256_BYTES;
    }
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        _mm256_storeu_ps(y + (size_t)(c0 + c) * ldy, acc[0][c]);
        _mm256_storeu_ps(y + (size_t)(c0 + c) * ldy + 8, acc[1][c]);
    }
}

TILE256_INLINE void tile256_tile(float *y, size_t ldy, const void *panel,
                                 const void *tile, int64_t n, int w,
                                 struct tile256_form f,
                                 tile256_values_fn *values,
                                 tile256_scale_fn *scale, tile256_pair_fn *pair)
{
    for (int c = 0; c < w;) {
#define COLS(nc)                                                               \
    if (w - c >= nc) {                                                         \
        tile256_cols(y, ldy, panel, tile, n, w, c, nc, f, values, scale,       \
                     pair);                                                    \
        c += nc;                                                               \
        continue;                                                              \
    }
        COLS(6)
        COLS(4)
        COLS(2)
        COLS(1)
#undef COLS
    }
}

/* Of values(), scale() and pair(). */
#define TILE256_AVX2(name)                                                     \
    static void mul(float *y, size_t ldy, const void *panel, const void *tile, \
                    int64_t n, int w)                                          \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q256, n, w, v, tile, y, ldy)                   \
        tile256_tile(y, ldy, panel, tile, n, v, name##_form, values, scale,    \
                     pair);                                                    \
    }                                                                          \
    void name##_avx2(struct kern_quant *q);                                    \
    void name##_avx2(struct kern_quant *q)                                     \
    {                                                                          \
        q->layout = "l16";                                                     \
        q->panel_bytes = name##_form.bytes;                                    \
        q->pack = name##_pack;                                                 \
        q->mul = mul;                                                          \
    }

#endif
#endif
