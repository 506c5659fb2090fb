/* SPDX-License-Identifier: MIT
 * ref.h - a tile of KERN_ACT_Q32 in plain C, and the products of blocks
 * of 32 that each reference is made of. */
#ifndef LLM_KERNELS_QUANT_TILE32_REF_H
#define LLM_KERNELS_QUANT_TILE32_REF_H

#include <math.h>
#include <string.h>

#include "kernels/kern.h"

/* What the 4 bits of IQ4_NL and IQ4_XS, and, doubled, of E2M1 stand for. */
#define TILE32_IQ4                                                             \
    {                                                                          \
        -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89,   \
            113                                                                \
    }
#define TILE32_FP4                                                             \
    {                                                                          \
        0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12                \
    }

static const int8_t tile32_iq4[16] = TILE32_IQ4, tile32_fp4[16] = TILE32_FP4;

/* 2^(e - 128), exact: the two least are denormal. */
static inline float tile32_e8m0_half(uint8_t e)
{
    uint32_t u = e < 2 ? (uint32_t)0x00200000 << e : (uint32_t)(e - 1) << 23;
    float f;

    memcpy(&f, &u, 4);
    return f;
}

/* Block B of column C, of W. */
struct tile32 {
    const int8_t *q; /* 32 */
    float d;
    int32_t sum; /* of q */
    float ds;    /* d * sum */
};

static inline struct tile32 tile32_at(const void *tile, int w, int c, int64_t b)
{
    const char *p = (const char *)tile + (size_t)b * (size_t)w * ACT_Q32_BYTES;
    const float *f = (const float *)(const void *)(p + (size_t)w * 32);

    return (struct tile32){(const int8_t *)p + c * 32, f[c],
                           ((const int32_t *)(const void *)(f + w))[c],
                           f[2 * w + c]};
}

static inline int32_t tile32_dot(const int8_t *v, const int8_t *q)
{
    int32_t s = 0;

    for (int i = 0; i < 32; i++)
        s += v[i] * q[i];
    return s;
}

/* acc + d * (v . x), and what follows where the values are v * d + m. */
static inline float tile32_fma(float acc, const int8_t *v, float d,
                               struct tile32 t)
{
    return fmaf((float)tile32_dot(v, t.q), d * t.d, acc);
}

static inline float tile32_fma_min(float acc, float m, struct tile32 t)
{
    return fmaf(m, t.ds, acc);
}

/* The whole of a type's reference: NAME_block(int8_t v[32], float *d, float *m,
 * const uint8_t *p) gives a block's integers, its scale, and its minimum where
 * it HAS one. */
#define TILE32_REF(name, size, has)                                            \
    static void name##_dequant(float *y, const void *row, int64_t n)           \
    {                                                                          \
        const uint8_t *p = row;                                                \
        int8_t v[32];                                                          \
        float d, m = 0;                                                        \
                                                                               \
        for (int64_t i = 0; i < n; i += 32, p += (size)) {                     \
            name##_block(v, &d, &m, p);                                        \
            for (int j = 0; j < 32; j++)                                       \
                y[i + j] = (has) ? (float)v[j] * d + m : (float)v[j] * d;      \
        }                                                                      \
    }                                                                          \
    static float name##_dot(const void *row, const void *tile, int64_t n,      \
                            int w, int c)                                      \
    {                                                                          \
        const uint8_t *p = row;                                                \
        int8_t v[32];                                                          \
        float d, m = 0, acc = 0;                                               \
                                                                               \
        for (int64_t b = 0; b < n / 32; b++, p += (size)) {                    \
            struct tile32 t = tile32_at(tile, w, c, b);                        \
                                                                               \
            name##_block(v, &d, &m, p);                                        \
            acc = tile32_fma(acc, v, d, t);                                    \
            if (has)                                                           \
                acc = tile32_fma_min(acc, m, t);                               \
        }                                                                      \
        return acc;                                                            \
    }                                                                          \
    ROWS(name, 32, size)

#endif
