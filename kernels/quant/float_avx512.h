/* SPDX-License-Identifier: MIT
 * float_avx512.h - float_ref.h's product, 16 rows a vector.
 *
 * All columns of a tile at once: 4 sums for each of up to 6, or 2 sums for each
 * of up to 12, the even and the odd half of k mod 4 one after the other: 24
 * accumulators, and one load of weights for all columns.  (Sapphire Rapids, a
 * panel of 2048 in L2: 1 column at 98 GB/s, 12 at 135 GFLOP/s; AVX2's best is
 * 85.)
 */
#ifndef LLM_KERNELS_QUANT_FLOAT_AVX512_H
#define LLM_KERNELS_QUANT_FLOAT_AVX512_H
#if defined(__AVX512F__)

#include <immintrin.h>

#include "kernels/kern.h"

/* 16 stored elements to floats. */
typedef __m512 float_load_fn(const void *p);

/* acc[j][c] over the k that are J0 + j mod 4. */
static inline __attribute__((always_inline)) void
float_sums(__m512 *sum, const char *p, size_t size, float_load_fn *load,
           const float *x, int64_t n, int w, int cols, int j0, int nj)
{
    __m512 acc[4][KERN_TILE];
    int64_t k = j0;

#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++)
            acc[j][c] = _mm512_setzero_ps();
    for (; k + nj <= n; k += 4)
#pragma GCC unroll 4
        for (int j = 0; j < nj; j++) {
            __m512 v = load(p + (size_t)(k + j) * KERN_ROWS * size);
#pragma GCC unroll 12
            for (int c = 0; c < cols; c++)
                acc[j][c] = _mm512_fmadd_ps(
                    v, _mm512_set1_ps(x[(k + j) * w + c]), acc[j][c]);
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
#pragma GCC unroll 12
    for (int c = 0; c < cols; c++) {
        sum[c] = _mm512_add_ps(acc[0][c], acc[1][c]);
        if (nj == 4)
            sum[c] = _mm512_add_ps(sum[c], _mm512_add_ps(acc[2][c], acc[3][c]));
    }
}

static inline __attribute__((always_inline)) void
float_cols(float *y, size_t ldy, const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols)
{
    __m512 sum[KERN_TILE], more[KERN_TILE];

    if (cols <= 6) {
        float_sums(sum, p, size, load, x, n, w, cols, 0, 4);
    } else {
        float_sums(sum, p, size, load, x, n, w, cols, 0, 2);
        float_sums(more, p, size, load, x, n, w, cols, 2, 2);
    }
#pragma GCC unroll 12
    for (int c = 0; c < cols; c++)
        _mm512_storeu_ps(y + (size_t)c * ldy,
                         cols <= 6 ? sum[c] : _mm512_add_ps(sum[c], more[c]));
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
        float_cols(y, ldy, p, size, load, x, n, w, cols);                      \
        break;
        W(1) W(2) W(3) W(4) W(5) W(6) W(7) W(8) W(9) W(10) W(11) W(12)
#undef W
    }
}

#endif
#endif
