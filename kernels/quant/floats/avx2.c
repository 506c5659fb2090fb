/* SPDX-License-Identifier: MIT
 * avx2.c - ref.h's product, 2 vectors of 8 rows.
 *
 * Up to 6 columns at once; of the 4 sums of each as many as 12 accumulators
 * hold, the others in further passes over the panel.
 */
#include <immintrin.h>

#include "kernels/quant/ahead.h"
#include "kernels/quant/floats/floats.h"

/* Weights of a row between one pass and the next: they, and the activations,
 * stay in L1. */
enum { FLOAT_STRETCH = 256 };

/* 8 stored elements to floats. */
typedef __m256 float_load_fn(const void *p);

static inline __attribute__((always_inline)) void
float_step(__m256 acc[][2], const char *p, size_t size, float_load_fn *load,
           const float *x, int cols)
{
    __m256 v0 = load(p), v1 = load(p + 8 * size);

#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        __m256 b = _mm256_broadcast_ss(x + c);
        acc[c][0] = _mm256_fmadd_ps(v0, b, acc[c][0]);
        acc[c][1] = _mm256_fmadd_ps(v1, b, acc[c][1]);
    }
}

/* s[j][c] goes on over the N next k that are J0 + j mod 4, j < NJ.  FIRST:
 * nothing has read them before. */
static inline __attribute__((always_inline)) void
float_sums(float s[][6][KERN_ROWS], const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols,
           int j0, int nj, bool first)
{
    __m256 acc[4][6][2];
    size_t row = KERN_ROWS * size;
    int64_t k = j0;

#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++) {
            acc[j][c][0] = _mm256_loadu_ps(s[j][c]);
            acc[j][c][1] = _mm256_loadu_ps(s[j][c] + 8);
        }
    for (; k + nj <= n; k += 4) {
        ahead(p + (size_t)k * row, 4 * row, first);
#pragma GCC unroll 4
        for (int j = 0; j < nj; j++)
            float_step(acc[j], p + (size_t)(k + j) * row, size, load,
                       x + (k + j) * w, cols);
    }
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
        if (k + j < n)
            float_step(acc[j], p + (size_t)(k + j) * row, size, load,
                       x + (k + j) * w, cols);
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++) {
            _mm256_storeu_ps(s[j][c], acc[j][c][0]);
            _mm256_storeu_ps(s[j][c] + 8, acc[j][c][1]);
        }
}

static inline __attribute__((always_inline)) void
float_cols(float *y, size_t ldy, const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols,
           bool first)
{
    float s[4][6][KERN_ROWS] = {{{0}}};
    const int nj = cols == 1 ? 4 : cols <= 3 ? 2 : 1;

    for (int64_t k = 0; k < n; k += FLOAT_STRETCH) {
        int64_t m = n - k < FLOAT_STRETCH ? n - k : FLOAT_STRETCH;
        const char *at = p + (size_t)k * KERN_ROWS * size;

        for (int j = 0; j < 4; j += nj)
            float_sums(s + j, at, size, load, x + k * w, m, w, cols, j, nj,
                       first && j == 0);
    }
    for (int c = 0; c < cols; c++)
        for (int h = 0; h < KERN_ROWS; h += 8)
            _mm256_storeu_ps(
                y + (size_t)c * ldy + h,
                _mm256_add_ps(_mm256_add_ps(_mm256_loadu_ps(s[0][c] + h),
                                            _mm256_loadu_ps(s[1][c] + h)),
                              _mm256_add_ps(_mm256_loadu_ps(s[2][c] + h),
                                            _mm256_loadu_ps(s[3][c] + h))));
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
        W(6) W(4) W(3) W(2) W(1)
#undef W
    }
}

static __m256 f32_load(const void *p)
{
    return _mm256_loadu_ps(p);
}

static __m256 f16_load(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

static __m256 bf16_load(const void *p)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16));
}

#define X FLOATS_MUL
#include "kernels/quant/floats/types.h"
#undef X

void floats_avx2(struct kern *k)
{
#define X FLOATS_SET
#include "kernels/quant/floats/types.h"
#undef X
}
