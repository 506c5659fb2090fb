/* SPDX-License-Identifier: MIT
 * neon.c - ref.h's product, 4 vectors of 4 rows.
 *
 * Up to 6 columns at once; of the 4 sums of each as many as 24 accumulators
 * hold, the others in further passes over the panel.  (Dot products of f16 and
 * bf16 round in other places, so there is nothing for them here.)
 */
#include <arm_neon.h>

#include "kernels/quant/floats/floats.h"

/* Weights of a row between one pass and the next: they, and the activations,
 * stay in L1. */
enum { FLOAT_STRETCH = 256, FLOAT_COLS = 6 };

/* 4 stored elements to floats. */
typedef float32x4_t float_load_fn(const void *p);

/* acc + v * element C of X.  (By lanes, because gcc would give each element a
 * register, and there are none left.) */
static inline __attribute__((always_inline)) float32x4_t
float_fma(float32x4_t acc, float32x4_t v, float32x4_t x, int c)
{
    return c == 0   ? vfmaq_laneq_f32(acc, v, x, 0)
           : c == 1 ? vfmaq_laneq_f32(acc, v, x, 1)
           : c == 2 ? vfmaq_laneq_f32(acc, v, x, 2)
                    : vfmaq_laneq_f32(acc, v, x, 3);
}

/* 4, 2 or 1 floats. */
static inline __attribute__((always_inline)) float32x4_t
float_some(const float *x, int n)
{
    return n == 4   ? vld1q_f32(x)
           : n == 2 ? vcombine_f32(vld1_f32(x), vdup_n_f32(0))
                    : vld1q_dup_f32(x);
}

static inline __attribute__((always_inline)) void
float_step(float32x4_t acc[][4], const char *p, size_t size,
           float_load_fn *load, const float *x, int cols)
{
    float32x4_t x0 = float_some(x, cols < 4 ? cols : 4);
    float32x4_t x1 = cols > 4 ? float_some(x + 4, cols - 4) : x0;

#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        float32x4_t v = load(p + (size_t)(4 * r) * size);

#pragma GCC unroll 6
        for (int c = 0; c < cols; c++)
            acc[c][r] = float_fma(acc[c][r], v, c < 4 ? x0 : x1, c & 3);
    }
}

/* s[j][c] goes on over the N next k that are J0 + j mod 4, j < NJ. */
static inline __attribute__((always_inline)) void
float_sums(float s[][FLOAT_COLS][KERN_ROWS], const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols,
           int j0, int nj)
{
    float32x4_t acc[4][FLOAT_COLS][4];
    size_t row = KERN_ROWS * size;
    int64_t k = j0;

#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++)
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                acc[j][c][r] = vld1q_f32(s[j][c] + 4 * r);
    for (; k + nj <= n; k += 4)
#pragma GCC unroll 4
        for (int j = 0; j < nj; j++)
            float_step(acc[j], p + (size_t)(k + j) * row, size, load,
                       x + (k + j) * w, cols);
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
        if (k + j < n)
            float_step(acc[j], p + (size_t)(k + j) * row, size, load,
                       x + (k + j) * w, cols);
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++)
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++)
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                vst1q_f32(s[j][c] + 4 * r, acc[j][c][r]);
}

static inline __attribute__((always_inline)) void
float_cols(float *y, size_t ldy, const char *p, size_t size,
           float_load_fn *load, const float *x, int64_t n, int w, int cols)
{
    float s[4][FLOAT_COLS][KERN_ROWS] = {{{0}}};
    const int nj = cols == 1 ? 4 : cols == 2 ? 2 : 1;

    for (int64_t k = 0; k < n; k += FLOAT_STRETCH) {
        int64_t m = n - k < FLOAT_STRETCH ? n - k : FLOAT_STRETCH;
        const char *at = p + (size_t)k * KERN_ROWS * size;

        for (int j = 0; j < 4; j += nj)
            float_sums(s + j, at, size, load, x + k * w, m, w, cols, j, nj);
    }
    for (int c = 0; c < cols; c++)
        for (int r = 0; r < KERN_ROWS; r += 4)
            vst1q_f32(
                y + (size_t)c * ldy + r,
                vaddq_f32(
                    vaddq_f32(vld1q_f32(s[0][c] + r), vld1q_f32(s[1][c] + r)),
                    vaddq_f32(vld1q_f32(s[2][c] + r), vld1q_f32(s[3][c] + r))));
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
                   (const float *)tile + c, n, v, cols);                       \
        c += cols;                                                             \
        continue;                                                              \
    }
        W(FLOAT_COLS) W(4) W(2) W(1)
#undef W
    }
}

static float32x4_t f32_load(const void *p)
{
    return vld1q_f32(p);
}

static float32x4_t f16_load(const void *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

static float32x4_t bf16_load(const void *p)
{
    return vreinterpretq_f32_u32(
        vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}

#define X FLOATS_MUL
#include "kernels/quant/floats/types.h"
#undef X

void floats_neon(struct kern *k)
{
#define X FLOATS_SET
#include "kernels/quant/floats/types.h"
#undef X
}
