/* SPDX-License-Identifier: MIT
 * float_avx512.h - float_ref.h's product, 16 rows a vector.
 *
 * All columns of a tile at once: 4 sums for each of up to 6, or 2 sums for each
 * of up to 12, k mod 4 being 0 and 1, then 2 and 3: 24 accumulators, and one
 * load of weights for all columns.  (Sapphire Rapids, a panel of 2048 floats in
 * L2: 1 column at 100 GB/s, 12 at 130 GFLOP/s; AVX2 at 76 and 82.)
 */
#ifndef LLM_KERNELS_QUANT_FLOAT_AVX512_H
#define LLM_KERNELS_QUANT_FLOAT_AVX512_H
#if defined(__AVX512F__)

#include <immintrin.h>

#include "kernels/kern.h"

/* Weights of a row between one pass and the next: they, and the activations,
 * stay in L1. */
enum { FLOAT_STRETCH = 256 };

/* 16 stored elements to floats. */
typedef __m512 float_load_fn(const void *p);

/* s[j][c] goes on over the N next k that are J0 + j mod 4, j < NJ. */
static inline __attribute__((always_inline)) void
float_sums(float s[][KERN_TILE][KERN_ROWS], const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int cols, int j0,
           int nj)
{
    __m512 acc[4][KERN_TILE];
    int64_t k = j0;

#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++)
            acc[j][c] = _mm512_loadu_ps(s[j][c]);
    for (; k + nj <= n; k += 4)
#pragma GCC unroll 4
        for (int j = 0; j < nj; j++) {
            __m512 v = load(p + (size_t)(k + j) * KERN_ROWS * size);
#pragma GCC unroll 12
            for (int c = 0; c < cols; c++)
                acc[j][c] = _mm512_fmadd_ps(
                    v, _mm512_set1_ps(x[(k + j) * cols + c]), acc[j][c]);
        }
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
        if (k + j < n) {
            __m512 v = load(p + (size_t)(k + j) * KERN_ROWS * size);
#pragma GCC unroll 12
            for (int c = 0; c < cols; c++)
                acc[j][c] = _mm512_fmadd_ps(
                    v, _mm512_set1_ps(x[(k + j) * cols + c]), acc[j][c]);
        }
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++)
            _mm512_storeu_ps(s[j][c], acc[j][c]);
}

static inline __attribute__((always_inline)) void
float_cols(float *y, size_t ldy, const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int cols)
{
    float s[4][KERN_TILE][KERN_ROWS] __attribute__((aligned(64)));
    const int nj = cols <= 6 ? 4 : 2;

    for (int j = 0; j < 4; j++)
        for (int c = 0; c < cols; c++)
            _mm512_storeu_ps(s[j][c], _mm512_setzero_ps());
    for (int64_t k = 0; k < n; k += FLOAT_STRETCH) {
        int64_t m = n - k < FLOAT_STRETCH ? n - k : FLOAT_STRETCH;
        const char *at = p + (size_t)k * KERN_ROWS * size;

        for (int j = 0; j < 4; j += nj)
            float_sums(s + j, at, size, load, x + k * cols, m, cols, j, nj);
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
    const char *p = panel;
    const float *x = tile;

    switch (w) {
#define W(cols)                                                                \
    case cols:                                                                 \
        float_cols(y, ldy, p, size, load, x, n, cols);                         \
        break;
        W(1) W(2) W(3) W(4) W(5) W(6) W(7) W(8) W(9) W(10) W(11) W(12)
#undef W
    }
}

#endif
#endif
