/* SPDX-License-Identifier: MIT
 * ref.h - the definition of a product of super-blocks of 256 with a
 * tile of KERN_ACT_Q256.
 *
 * A super-block is d, integers v[256], and an integer scale s of each 16 of
 * them: v * (d * s).  Some types also have dmin and an integer m of each 16:
 * v * (d * s) - dmin * m.  Over the super-blocks in order, from 0:
 *
 *     I = sum of s * (v . x) over the 16s,  acc = fma(I, d * dx, acc)
 *     J = sum of m * (sum of x),            acc = fma(J, -(dmin * dx), acc)
 *
 * where x are the tile's integers and dx their scale.  I and J are exact, for
 * |x| <= 128 bounds them, and every part of them in any order, far below 2^31:
 * |I| <= 256 * 128 * |v| * |s|, which is at most 2^27 (q6_k: 32 and 128; see
 * each ref.c); below 2^28 in kernels that add up v as unsigned bytes (q6_k: 63
 * and 128; iq4_xs: 241 and 32) to an offset of at most 2^27; and |J| <= 256 *
 * 128 * 63 < 2^21.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_REF_H
#define LLM_KERNELS_QUANT_TILE256_REF_H

#include <math.h>

#include "kernels/quant/rows.h"

struct tile256_block {
    int8_t v[256], s[16];
    uint8_t m[16];
    float d, dmin;
};

/* acc and block B of column C, of W. */
static inline float tile256_fma(float acc, const struct tile256_block *k,
                                bool has, const void *tile, int w, int c,
                                int64_t b)
{
    const char *p = (const char *)tile + (size_t)b * (size_t)w * ACT_Q256_BYTES;
    const int8_t *x = (const int8_t *)p + c * 256;
    const float *dx = (const float *)(const void *)(p + w * 256) + c;
    int32_t in = 0, j = 0;

    for (int g = 0; g < 16; g++) {
        int32_t dot = 0, sum = 0;

        for (int i = g * 16; i < g * 16 + 16; i++) {
            dot += k->v[i] * x[i];
            sum += x[i];
        }
        in += k->s[g] * dot;
        j += k->m[g] * sum;
    }
    acc = fmaf((float)in, k->d * *dx, acc);
    return has ? fmaf((float)j, -(k->dmin * *dx), acc) : acc;
}

/* The 8 scales and 8 minimums of Q4_K and Q5_K, 6 bits each in 12 bytes: the
 * low 6 bits of bytes 0-3 and 4-7 are scales and minimums 0-3, the nibbles of
 * 8-11 the low bits of 4-7, whose two high bits are atop 0-7. */
static inline void tile256_scales(struct tile256_block *k, const uint8_t *p)
{
    for (int i = 0; i < 8; i++) {
        int lo = i < 4;

        k->s[2 * i] = k->s[2 * i + 1] =
            (int8_t)(lo ? p[i] & 63 : (p[i + 4] & 15) | p[i - 4] >> 6 << 4);
        k->m[2 * i] = k->m[2 * i + 1] =
            (uint8_t)(lo ? p[i + 4] & 63 : p[i + 4] >> 4 | p[i] >> 6 << 4);
    }
}

/* The whole of a type's reference: NAME_block(struct tile256_block *, const
 * uint8_t *) reads a block; HAS it dmin and m? */
#define TILE256_REF(name, size, has)                                           \
    static void name##_dequant(float *y, const void *row, int64_t n)           \
    {                                                                          \
        const uint8_t *p = row;                                                \
        struct tile256_block k;                                                \
                                                                               \
        for (int64_t i = 0; i < n; i += 256, p += (size)) {                    \
            name##_block(&k, p);                                               \
            for (int j = 0; j < 256; j++) {                                    \
                float f = k.d * (float)k.s[j / 16] * (float)k.v[j];            \
                                                                               \
                y[i + j] = (has) ? f - k.dmin * (float)k.m[j / 16] : f;        \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    static float name##_dot(const void *row, const void *tile, int64_t n,      \
                            int w, int c)                                      \
    {                                                                          \
        const uint8_t *p = row;                                                \
        struct tile256_block k;                                                \
        float acc = 0;                                                         \
                                                                               \
        for (int64_t b = 0; b < n / 256; b++, p += (size)) {                   \
            name##_block(&k, p);                                               \
            acc = tile256_fma(acc, &k, has, tile, w, c, b);                    \
        }                                                                      \
        return acc;                                                            \
    }                                                                          \
    ROWS(name, 256, size)

#endif
