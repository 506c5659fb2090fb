/* SPDX-License-Identifier: MIT
 * ref.h - what f32, f16 and bf16 weights mean: products over floats.
 *
 * A product has four partial sums by k mod 4, each by fma in order from 0,
 * then (0 + 1) + (2 + 3); N is any number from 1.
 * The panel of every instruction set is "k16": [k][16 rows] in the stored type.
 * READ turns a stored element, at any alignment, into a float; SIZE is its
 * bytes.  All are constants where these functions are called, and go away.
 */
#ifndef LLM_KERNELS_QUANT_FLOAT_REF_H
#define LLM_KERNELS_QUANT_FLOAT_REF_H

#include <math.h>
#include <string.h>

#include "kernels/kern.h"

typedef float float_read_fn(const void *p);

static inline void float_dequant(float *y, const void *row, int64_t n,
                                 size_t size, float_read_fn *read)
{
    const char *p = row;

    for (int64_t k = 0; k < n; k++)
        y[k] = read(p + (size_t)k * size);
}

static inline float float_dot(const void *row, const void *tile, int64_t n,
                              int w, int c, size_t size, float_read_fn *read)
{
    const float *x = (const float *)tile + c;
    const char *p = row;
    float s[4] = {0};

    for (int64_t k = 0; k < n; k++)
        s[k & 3] = fmaf(read(p + (size_t)k * size), x[k * w], s[k & 3]);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static inline void float_pack(void *panel, const void *row, size_t stride,
                              int rows, int64_t n, size_t size)
{
    const char *from = row;
    char *to = panel;

    for (int64_t k = 0; k < n; k++, to += KERN_ROWS * size) {
        for (int r = 0; r < rows; r++)
            memcpy(to + (size_t)r * size,
                   from + (size_t)r * stride + (size_t)k * size, size);
        memset(to + (size_t)rows * size, 0, (size_t)(KERN_ROWS - rows) * size);
    }
}

static inline void float_mul(float *y, size_t ldy, const void *panel,
                             const void *tile, int64_t n, int w, size_t size,
                             float_read_fn *read)
{
    const char *p = panel;

    KERN_EACH_TILE(KERN_ACT_F32, n, w, v, tile, y, ldy)
    for (int c = 0; c < v; c++) {
        const float *x = tile;
        float s[4][KERN_ROWS] = {{0}};

        for (int64_t k = 0; k < n; k++)
            for (int r = 0; r < KERN_ROWS; r++)
                s[k & 3][r] =
                    fmaf(read(p + ((size_t)k * KERN_ROWS + (size_t)r) * size),
                         x[k * v + c], s[k & 3][r]);
        for (int r = 0; r < KERN_ROWS; r++)
            y[(size_t)c * ldy + (size_t)r] =
                (s[0][r] + s[1][r]) + (s[2][r] + s[3][r]);
    }
}

/* The functions of type NAME, and its NAME_init(). */
#define FLOAT_TYPE(name, size, read)                                           \
    static void dequant(float *y, const void *row, int64_t n)                  \
    {                                                                          \
        float_dequant(y, row, n, size, read);                                  \
    }                                                                          \
    static float dot(const void *row, const void *tile, int64_t n, int w,      \
                     int c)                                                    \
    {                                                                          \
        return float_dot(row, tile, n, w, c, size, read);                      \
    }                                                                          \
    static void pack(void *panel, const void *row, size_t stride, int rows,    \
                     int64_t n)                                                \
    {                                                                          \
        float_pack(panel, row, stride, rows, n, size);                         \
    }                                                                          \
    static void mul(float *y, size_t ldy, const void *panel, const void *tile, \
                    int64_t n, int w)                                          \
    {                                                                          \
        float_mul(y, ldy, panel, tile, n, w, size, read);                      \
    }                                                                          \
    void name##_init(struct kern *k)                                           \
    {                                                                          \
        struct kern_quant *q = &k->quant[KERN_##name];                         \
                                                                               \
        q->layout = "k16";                                                     \
        q->panel_bytes = KERN_ROWS * (size);                                   \
        q->dequant = dequant;                                                  \
        q->dot = dot;                                                          \
        q->pack = pack;                                                        \
        q->mul = mul;                                                          \
    }

#endif
