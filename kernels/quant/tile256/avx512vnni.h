/* SPDX-License-Identifier: MIT
 * avx512vnni.h - a panel of super-blocks times a tile of KERN_ACT_Q256: a
 * lane is a row.
 *
 * 64 bytes are 4 consecutive values of 16 rows, as unsigned bytes; VNNI
 * multiplies them by 4 activations, broadcast from memory.  The sum over some
 * 16 or 32 values is scaled and added in int32: where it fits in 16 bits, by
 * vpdpwssd, whose upper half of a lane's scale is 0; else by vpmulld.  What
 * the values are too high by, times the scales, is I's first value.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_AVX512_H
#define LLM_KERNELS_QUANT_TILE256_AVX512_H
#if defined(__AVX512F__)

#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/rows.h"
#include "kernels/quant/tile256/form.h"

/* Values I..I+3 of the chunk at Q. */
typedef __m512i tile256_values_fn(const uint8_t *q, int i);
/* Integer scales at S of a block's group G of STEP values, a lane each. */
typedef __m512i tile256_scale_fn(const uint8_t *s, int g);
/* Words of 2 that are multiplied by the sums of groups 2 * G and 2 * G + 1. */
typedef __m512i tile256_pair_fn(const uint8_t *s, int g);

/* 4 activations in each lane. */
TILE256_INLINE __m512i tile256_four(const void *x)
{
    int32_t u;

    memcpy(&u, x, 4);
    return _mm512_set1_epi32(u);
}

/* 16 bytes to a lane each; 32 to halves of lanes. */
TILE256_INLINE __m512i tile256_u8_32(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}

TILE256_INLINE __m512i tile256_u8_16(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)p));
}

TILE256_INLINE __m512i tile256_s8_16(const uint8_t *p)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)p));
}

/* Shifted right by N bits, or left by -N. */
TILE256_INLINE __m512i tile256_right(__m512i v, int n)
{
    return n > 0   ? _mm512_srli_epi16(v, (unsigned)n)
           : n < 0 ? _mm512_slli_epi16(v, (unsigned)-n)
                   : v;
}

/* a | (b & bytes of MASK) */
TILE256_INLINE __m512i tile256_or_and(__m512i a, __m512i b, char mask)
{
    return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi8(mask), 0xf8);
}

/* Add to S[nc] the products of pairs with sums of groups. */
TILE256_INLINE void tile256_sums(__m512i *s, int nc, const uint8_t *scale,
                                 tile256_pair_fn *pair, const char *sum,
                                 int group)
{
    const int pairs = 128 / group;

    TILE256_UNROLL for (int g = 0; g < pairs; g++)
    {
        __m512i m = pair(scale, g);

        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            s[c] = _mm512_dpwssd_epi32(
                s[c], m, tile256_four(sum + c * (512 / group) + 4 * g));
        }
    }
}

/* Add one chunk to I[nc]; G is its first group. */
TILE256_INLINE void tile256_chunk(__m512i *in, int nc, struct tile256_form f,
                                  const uint8_t *q, const uint8_t *scale, int g,
                                  const int8_t *x, tile256_values_fn *values,
                                  tile256_scale_fn *scales)
{
    /* 16 products to an int32, scaled by its low half; or all of a group's. */
    const bool small = f.fit >= 16 && f.parts == 1;
    const int step = small ? 16 : f.group;
    const int steps = f.chunk / step;
    __m512i t[12];

    TILE256_UNROLL for (int s = 0; s < steps; s++)
    {
        __m512i k;

        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            t[c] = _mm512_setzero_si512();
        }
        TILE256_UNROLL for (int i = s * step; i < (s + 1) * step; i += 4)
        {
            __m512i v = values(q, i);

            TILE256_UNROLL for (int c = 0; c < nc; c++)
            {
                t[c] =
                    _mm512_dpbusd_epi32(t[c], v, tile256_four(x + c * 256 + i));
            }
        }
        k = scales(scale, g + s * step / f.group);
        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            in[c] = small
                        ? _mm512_dpwssd_epi32(in[c], t[c], k)
                        : _mm512_add_epi32(in[c], _mm512_mullo_epi32(t[c], k));
        }
    }
}

/* Columns c0..c0+nc-1. */
TILE256_INLINE void tile256_cols(float *y, size_t ldy, const uint8_t *p,
                                 const char *x, int64_t n, int w, int c0,
                                 int nc, struct tile256_form f,
                                 tile256_values_fn *values,
                                 tile256_scale_fn *scale, tile256_pair_fn *pair)
{
    __m512 acc[12];
    __m512i in[12], j[12];
    int chunks = 256 / f.chunk;

    TILE256_HIDE(chunks);
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] = _mm512_setzero_ps();
    }
    for (int64_t b = 0; b < n; b += 256) {
        const float *dx = (const float *)(const void *)(x + w * 256) + c0;
        const char *sum =
            x + w * (f.group == 16 ? 260 : 292) + c0 * (512 / f.group);
        __m512 d;

        ahead(p, (size_t)f.bytes, nc);
        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            in[c] = _mm512_setzero_si512();
        }
        if (!f.min)
            tile256_sums(in, nc, p + f.scale, pair, sum, f.group);
        for (int k = 0; k < chunks; k++) {
            const int8_t *at = (const int8_t *)x + c0 * 256 + k * f.chunk;

            TILE256_HIDE(at);
            tile256_chunk(in, nc, f, p + f.quant + k * f.chunk_bytes,
                          p + f.scale, k * f.chunk / f.group, at, values,
                          scale);
        }
        d = f.min ? _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p))
                  : _mm512_loadu_ps(p);
        TILE256_UNROLL for (int c = 0; c < nc; c++)
        {
            acc[c] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(in[c]),
                                     _mm512_mul_ps(d, _mm512_set1_ps(dx[c])),
                                     acc[c]);
        }
        if (f.min) {
            d = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p + 32)));
            TILE256_UNROLL for (int c = 0; c < nc; c++)
            {
                j[c] = _mm512_setzero_si512();
            }
            tile256_sums(j, nc, p + f.scale, pair, sum, f.group);
            TILE256_UNROLL for (int c = 0; c < nc; c++)
            {
                acc[c] = _mm512_fnmadd_ps(
                    _mm512_cvtepi32_ps(j[c]),
                    _mm512_mul_ps(d, _mm512_set1_ps(dx[c])), acc[c]);
            }
        }
        p += f.bytes;
        x += (size_t)w * ACT_Q256_BYTES;
    }
    TILE256_UNROLL for (int c = 0; c < nc; c++)
    {
        _mm512_storeu_ps(y + (size_t)(c0 + c) * ldy, acc[c]);
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
        COLS(12)
        COLS(8)
        COLS(4)
        COLS(2)
        COLS(1)
#undef COLS
    }
}

/* Of values(), scale() and pair(). */
#define TILE256_AVX512VNNI(name)                                               \
    static void mul(float *y, size_t ldy, const void *panel, const void *tile, \
                    int64_t n, int w)                                          \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q256, n, w, v, tile, y, ldy)                   \
        tile256_tile(y, ldy, panel, tile, n, v, name##_form, values, scale,    \
                     pair);                                                    \
    }                                                                          \
    void name##_avx512vnni(struct kern_quant *q);                              \
    void name##_avx512vnni(struct kern_quant *q)                               \
    {                                                                          \
        q->layout = "l16";                                                     \
        q->panel_bytes = name##_form.bytes;                                    \
        q->pack = name##_pack;                                                 \
        q->mul = mul;                                                          \
    }

#endif
#endif
