/* SPDX-License-Identifier: MIT
 * avx512.c - ref.h's product, 16 rows a vector.
 *
 * All columns of a tile at once: 4 sums for each of up to 6, or 2 sums for each
 * of up to 12, k mod 4 being 0 and 1, then 2 and 3: 24 accumulators, and one
 * load of weights for all columns.  (Sapphire Rapids, a panel of 2048 floats in
 * L2: 1 column at 100 GB/s, 12 at 130 GFLOP/s; AVX2 at 76 and 82.)
 */
#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/floats/floats.h"

/* Weights of a row between one pass and the next: they, and the activations,
 * stay in L1. */
enum { FLOAT_STRETCH = 256, FLOAT_COLS = 12 };

/* 16 stored elements to floats. */
typedef __m512 float_load_fn(const void *p);

/* s[j][c] goes on over the N next k that are J0 + j mod 4, j < NJ.  FIRST:
 * nothing has read them before. */
static inline __attribute__((always_inline)) void
float_sums(float s[][FLOAT_COLS][KERN_ROWS], const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols,
           int j0, int nj, bool first)
{
    __m512 acc[4][FLOAT_COLS];
    int64_t k = j0;

#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++)
            acc[j][c] = _mm512_loadu_ps(s[j][c]);
    for (; k + nj <= n; k += 4) {
        ahead(p + (size_t)k * KERN_ROWS * size, 4 * KERN_ROWS * size, first);
#pragma GCC unroll 4
        for (int j = 0; j < nj; j++) {
            __m512 v = load(p + (size_t)(k + j) * KERN_ROWS * size);
#pragma GCC unroll 12
            for (int c = 0; c < cols; c++)
                acc[j][c] = _mm512_fmadd_ps(
                    v, _mm512_set1_ps(x[(k + j) * w + c]), acc[j][c]);
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
        if (k + j < n) {
            __m512 v = load(p + (size_t)(k + j) * KERN_ROWS * size);
#pragma GCC unroll 12
            for (int c = 0; c < cols; c++)
                acc[j][c] = _mm512_fmadd_ps(
                    v, _mm512_set1_ps(x[(k + j) * w + c]), acc[j][c]);
        }
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++)
            _mm512_storeu_ps(s[j][c], acc[j][c]);
}

static inline __attribute__((always_inline)) void
float_cols(float *y, size_t ldy, const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols,
           bool first)
{
    float s[4][FLOAT_COLS][KERN_ROWS] __attribute__((aligned(64)));
    const int nj = cols <= 6 ? 4 : 2;

    for (int j = 0; j < 4; j++)
        for (int c = 0; c < cols; c++)
            _mm512_storeu_ps(s[j][c], _mm512_setzero_ps());
    for (int64_t k = 0; k < n; k += FLOAT_STRETCH) {
        int64_t m = n - k < FLOAT_STRETCH ? n - k : FLOAT_STRETCH;
        const char *at = p + (size_t)k * KERN_ROWS * size;

        for (int j = 0; j < 4; j += nj)
            float_sums(s + j, at, size, load, x + k * w, m, w, cols, j, nj,
                       first && j == 0);
    }
    for (int c = 0; c < cols; c++)
        _mm512_storeu_ps(
            y + (size_t)c * ldy,
            _mm512_add_ps(_mm512_add_ps(_mm512_loadu_ps(s[0][c]),
                                        _mm512_loadu_ps(s[1][c])),
                          _mm512_add_ps(_mm512_loadu_ps(s[2][c]),
                                        _mm512_loadu_ps(s[3][c]))));
}

static inline __attribute__((always_inline)) void
float_mul(float *y, size_t ldy, const void *panel, const void *tile, int64_t n,
          int w, size_t size, float_load_fn *load)
{
    KERN_EACH_TILE(KERN_ACT_F32, n, w, v, tile, y, ldy)
    for (int c = 0; c < v;) {
#define W(cols)                                                                \
    if (v - c >= cols) {                                                       \
        float_cols(y + (size_t)c * ldy, ldy, panel, size, load,                \
                   (const float *)tile + c, n, v, cols, c == 0);               \
        c += cols;                                                             \
        continue;                                                              \
    }
        W(FLOAT_COLS) W(8) W(6) W(4) W(2) W(1)
#undef W
    }
}

static __m512 f32_load(const void *p)
{
    return _mm512_loadu_ps(p);
}

static __m512 f16_load(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

static __m512 bf16_load(const void *p)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16));
}

#define X FLOATS_MUL
#include "kernels/quant/floats/types.h"
#undef X

void floats_avx512(struct kern *k)
{
#define X FLOATS_SET
#include "kernels/quant/floats/types.h"
#undef X
}
