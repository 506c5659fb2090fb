/* SPDX-License-Identifier: MIT
 * neon.h - sums of integer products with NEON, which families of types share.
 *
 * A half of a panel is 8 rows; a vector of it is 4 values of each of 4 rows, as
 * signed bytes.  Sums of NC columns are 2 * NC vectors of int32, of which each
 * has U columns:
 *   U 1: vectors 2c and 2c + 1 are column c, a lane for each row
 *   U 2: vectors 4p to 4p + 3 are columns 2p and 2p + 1: vector v has those of
 *        row 2v, then those of row 2v + 1
 * Baseline NEON adds up products in 16 bits, DOTPROD 4 of them in 32 bits, and
 * I8MM 8 of them for 2 x 2 lanes: U 2.  That takes weights and activations in
 * pairs of their groups of 4, which have to be zipped, and pays with 8 columns:
 * 348 vector instructions for a block of Q4_0 and 315 for 32 values of Q4_K are
 * 440 and 364 with DOTPROD.  With 4 they are 212 for 220 and 174 for 182, of
 * Q6_K as many, so fewer columns are DOTPROD's.  (Counted in what gcc 12 makes;
 * no such machine was at hand.)
 */
#ifndef LLM_KERNELS_QUANT_NEON_H
#define LLM_KERNELS_QUANT_NEON_H
#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/kern.h"

#define NEON_INLINE static inline __attribute__((always_inline))

/* Before a loop whose indices must be constants. */
#if defined(__clang__)
#define NEON_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NEON_UNROLL _Pragma("GCC unroll 16")
#endif

/* From here on the compiler does not know what V is: a loop up to it stays one.
 */
#define NEON_HIDE(v) __asm__("" : "+r"(v))

/* No load is moved across this: else gcc reads ahead until it has to save what
 * it read, in places more often than it multiplies. */
#define NEON_STEP() __asm__ volatile("" : : : "memory")

/* A function of this file's instruction set. */
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define NEON_LEVEL(name) name##_i8mm
#elif defined(__ARM_FEATURE_DOTPROD)
#define NEON_LEVEL(name) name##_dotprod
#else
#define NEON_LEVEL(name) name##_neon
#endif

/* Columns at once, and vectors of their sums. */
#if defined(__ARM_FEATURE_MATMUL_INT8)
enum { NEON_COLS = 8, NEON_SUMS = 2 * NEON_COLS };
#else
enum { NEON_COLS = 4, NEON_SUMS = 2 * NEON_COLS };
#endif

/* U for NC columns. */
NEON_INLINE int neon_u(int nc)
{
    return nc == 8 ? 2 : 1;
}

/* Values 4 * I to 4 * I + 3 of rows 4 * V to 4 * V + 3 of the half at Q, in the
 * FORM that a family gives. */
typedef int8x16_t neon_values_fn(const void *form, const uint8_t *q, int i,
                                 int v);

#if defined(__ARM_FEATURE_DOTPROD)
/* S += values times X, groups of 4 from G on, N (a multiple of 4) of them; from
 * a column of X to the next are STEP bytes. */
NEON_INLINE void neon_sums1(int32x4_t *s, const int nc, const void *form,
                            const uint8_t *q, neon_values_fn *values,
                            const int8_t *x, int step, const int g, const int n,
                            const int fit)
{
    (void)fit;
    NEON_UNROLL for (int i = g; i < g + n; i += 4)
    {
        int8x16_t xc[NEON_COLS], a, b;

        NEON_UNROLL for (int c = 0; c < nc; c++)
        {
            xc[c] = vld1q_s8(x + c * step + 4 * i);
        }
        NEON_STEP();
#define LANE(l)                                                                \
    a = values(form, q, i + (l), 0);                                           \
    b = values(form, q, i + (l), 1);                                           \
    NEON_UNROLL for (int c = 0; c < nc; c++)                                   \
    {                                                                          \
        s[2 * c] = vdotq_laneq_s32(s[2 * c], a, xc[c], l);                     \
        s[2 * c + 1] = vdotq_laneq_s32(s[2 * c + 1], b, xc[c], l);             \
    }
        LANE(0) LANE(1) LANE(2) LANE(3)
#undef LANE
    }
}
#else
/* t += a . xa + b . xb, products of low and of high halves; or, NEW, t = */
NEON_INLINE void neon_two(int16x8_t *t, int8x16_t a, int8x16_t xa, int8x16_t b,
                          int8x16_t xb, const int new)
{
    t[0] = new ? vmull_s8(vget_low_s8(a), vget_low_s8(xa))
               : vmlal_s8(t[0], vget_low_s8(a), vget_low_s8(xa));
    t[1] = new ? vmull_high_s8(a, xa) : vmlal_high_s8(t[1], a, xa);
    t[0] = vmlal_s8(t[0], vget_low_s8(b), vget_low_s8(xb));
    t[1] = vmlal_high_s8(t[1], b, xb);
}

/* The same; products of FIT groups, an even number, fit in 16 bits. */
NEON_INLINE void neon_sums1(int32x4_t *s, const int nc, const void *form,
                            const uint8_t *q, neon_values_fn *values,
                            const int8_t *x, int step, const int g, const int n,
                            const int fit)
{
    int32x4_t r[NEON_COLS][4];
    int16x8_t t[NEON_COLS][4];

    NEON_UNROLL for (int i = 0; i < n; i += 4)
    {
        int8x16_t a[2], b[2], xa, xb;
        int32x4_t xc[NEON_COLS];

        NEON_UNROLL for (int c = 0; c < nc; c++)
        {
            xc[c] = vreinterpretq_s32_s8(vld1q_s8(x + c * step + 4 * (g + i)));
        }
        NEON_STEP();
#define PAIR(l)                                                                \
    NEON_UNROLL for (int h = 0; h < 2; h++)                                    \
    {                                                                          \
        a[h] = values(form, q, g + i + (l), h);                                \
        b[h] = values(form, q, g + i + (l) + 1, h);                            \
    }                                                                          \
    NEON_UNROLL for (int c = 0; c < nc; c++)                                   \
    {                                                                          \
        xa = vreinterpretq_s8_s32(vdupq_laneq_s32(xc[c], l));                  \
        xb = vreinterpretq_s8_s32(vdupq_laneq_s32(xc[c], (l) + 1));            \
        NEON_UNROLL for (int h = 0; h < 4; h++)                                \
        {                                                                      \
            if (!(h & 1))                                                      \
                neon_two(t[c] + h, a[h / 2], xa, b[h / 2], xb,                 \
                         (i + (l)) % fit == 0);                                \
            if ((i + (l) + 2) % fit == 0)                                      \
                r[c][h] = i + (l) + 2 == fit ? vpaddlq_s16(t[c][h])            \
                                             : vpadalq_s16(r[c][h], t[c][h]);  \
        }                                                                      \
    }
        PAIR(0) PAIR(2)
#undef PAIR
    }
    NEON_UNROLL for (int c = 0; c < nc; c++)
        NEON_UNROLL for (int h = 0; h < 2; h++)
    {
        s[2 * c + h] =
            vaddq_s32(s[2 * c + h], vpaddq_s32(r[c][2 * h], r[c][2 * h + 1]));
    }
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
/* Likewise, of U 2. */
NEON_INLINE void neon_sums2(int32x4_t *s, const int nc, const void *form,
                            const uint8_t *q, neon_values_fn *values,
                            const int8_t *x, int step, const int g, const int n)
{
    NEON_UNROLL for (int i = g; i < g + n; i += 4)
    {
        int8x16_t xc[NEON_COLS / 2][2];

        NEON_UNROLL for (int c = 0; c < nc / 2; c++)
        {
            const int8_t *at = x + 2 * c * step + 4 * i;
            int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(at));
            int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(at + step));

            xc[c][0] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
            xc[c][1] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
        }
        NEON_STEP();
        NEON_UNROLL for (int j = 0; j < 2; j++)
            NEON_UNROLL for (int v = 0; v < 2; v++)
        {
            int32x4_t a = vreinterpretq_s32_s8(values(form, q, i + 2 * j, v));
            int32x4_t b =
                vreinterpretq_s32_s8(values(form, q, i + 2 * j + 1, v));
            int8x16_t w0 = vreinterpretq_s8_s32(vzip1q_s32(a, b));
            int8x16_t w1 = vreinterpretq_s8_s32(vzip2q_s32(a, b));

            NEON_UNROLL for (int c = 0; c < nc / 2; c++)
            {
                int32x4_t *to = s + 4 * c + 2 * v;

                to[0] = vmmlaq_s32(to[0], w0, xc[c][j]);
                to[1] = vmmlaq_s32(to[1], w1, xc[c][j]);
            }
        }
    }
}
#endif

/* Of either U. */
NEON_INLINE void neon_sums(int32x4_t *s, const int nc, const void *form,
                           const uint8_t *q, neon_values_fn *values,
                           const int8_t *x, int step, const int g, const int n,
                           const int fit)
{
#if defined(__ARM_FEATURE_MATMUL_INT8)
    if (neon_u(nc) == 2) {
        neon_sums2(s, nc, form, q, values, x, step, g, n);
        return;
    }
#endif
    neon_sums1(s, nc, form, q, values, x, step, g, n, fit);
}

/* Vector V of a column's sums has these of 8 rows' numbers. */
NEON_INLINE float32x4_t neon_row(const float32x4_t *d, const int v, const int u)
{
    if (u == 1)
        return d[v];
    return v & 1 ? vzip2q_f32(d[v / 2], d[v / 2])
                 : vzip1q_f32(d[v / 2], d[v / 2]);
}

/* 8 f16 as floats. */
NEON_INLINE void neon_f16(float32x4_t d[2], const void *p)
{
    float16x8_t h = vreinterpretq_f16_u8(vld1q_u8(p));

    d[0] = vcvt_f32_f16(vget_low_f16(h));
    d[1] = vcvt_high_f32_f16(h);
}

/* Numbers of the columns from X on that vectors of U columns have. */
NEON_INLINE float32x4_t neon_col(const float *x, const int u)
{
    return u == 1 ? vld1q_dup_f32(x) : vcombine_f32(vld1_f32(x), vld1_f32(x));
}

/* acc = fma(s, d of 8 rows * x of NC columns, acc); SIGN -1: of -s. */
NEON_INLINE void neon_fma(float32x4_t *acc, const int32x4_t *s, const int nc,
                          const float32x4_t *d, const float *x, const int sign)
{
    const int u = neon_u(nc);

    NEON_UNROLL for (int c = 0; c < nc; c += u)
        NEON_UNROLL for (int v = 0; v < 2 * u; v++)
    {
        float32x4_t *to = acc + 2 * c + v, f = vcvtq_f32_s32(s[2 * c + v]);
        float32x4_t r = vmulq_f32(neon_row(d, v, u), neon_col(x + c, u));

        *to = sign < 0 ? vfmsq_f32(*to, f, r) : vfmaq_f32(*to, f, r);
    }
}

/* acc = fma(m of 8 rows, x of NC columns, acc) */
NEON_INLINE void neon_add(float32x4_t *acc, const int nc, const float32x4_t *m,
                          const float *x)
{
    const int u = neon_u(nc);

    NEON_UNROLL for (int c = 0; c < nc; c += u)
        NEON_UNROLL for (int v = 0; v < 2 * u; v++)
    {
        acc[2 * c + v] =
            vfmaq_f32(acc[2 * c + v], neon_row(m, v, u), neon_col(x + c, u));
    }
}

/* NC columns of 8 rows to Y. */
NEON_INLINE void neon_store(float *y, size_t ldy, const float32x4_t *acc,
                            const int nc)
{
    NEON_UNROLL for (int c = 0; c < nc; c++)
        NEON_UNROLL for (int h = 0; h < 2; h++)
    {
        const float32x4_t *a = acc + (c / 2 * 4 + 2 * h);
        float32x4_t v = neon_u(nc) == 1 ? acc[2 * c + h]
                        : c & 1         ? vuzp2q_f32(a[0], a[1])
                                        : vuzp1q_f32(a[0], a[1]);

        vst1q_f32(y + (size_t)c * ldy + 4 * h, v);
    }
}

/* The columns of a tile of W, as many at once as there are registers for; COLS
 * takes their number and the first of them.  Where one is missing for a wider
 * product, one is computed twice, which is less than a narrow one costs. */
#define NEON_EACH_COLS(w, COLS)                                                \
    for (int c = 0, left; (left = (w)-c) > 0;) {                               \
        if (left % 4 == 3 && c > 0) {                                          \
            c--;                                                               \
            left++;                                                            \
        }                                                                      \
        if (left >= NEON_COLS) {                                               \
            COLS(NEON_COLS, c);                                                \
            c += NEON_COLS;                                                    \
        } else if (left >= 4) {                                                \
            COLS(4, c);                                                        \
            c += 4;                                                            \
        } else if (left >= 2) {                                                \
            COLS(2, c);                                                        \
            c += 2;                                                            \
        } else {                                                               \
            COLS(1, c);                                                        \
            c++;                                                               \
        }                                                                      \
    }

#endif
#endif
