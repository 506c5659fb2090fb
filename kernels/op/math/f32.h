/* SPDX-License-Identifier: MIT
 * f32.h - exp and its kin in float: the definition, operation by operation.
 *
 * simd.h has the same sequences of operations on vectors; change both
 * together.  Errors (units in the last place, over all floats):
 * exp 2, the others 4.  Results below 2^-126, of silu and gelu below 2^-118,
 * may be 0.  A NaN gives the same NaN, quiet. */
#ifndef LLM_KERNELS_OP_MATH_F32_H
#define LLM_KERNELS_OP_MATH_F32_H

#include <math.h>

#include "kernels/op/math/coef.h"
#include "kernels/op/math/half.h"

/* x = n ln 2 + r: returns e^(r + low) - 1, and 2^n's exponent bits in *SHIFT
 * (to be added to those of a float). */
static inline float f32_expm1_part(float x, float low, uint32_t *shift)
{
    float t = fmaf(x, F32_LOG2E, F32_MAGIC), n = t - F32_MAGIC;
    float r = fmaf(n, -F32_LN2_LO, fmaf(n, -F32_LN2_HI, x)) + low;
    float p = F32_EXP6;

    p = fmaf(p, r, F32_EXP5);
    p = fmaf(p, r, F32_EXP4);
    p = fmaf(p, r, F32_EXP3);
    p = fmaf(p, r, F32_EXP2);
    *shift = f32_bits(t) << 23;
    return fmaf(p * r, r, r);
}

/* e^(x + low), where LOW is less than half a unit of X. */
static inline float f32_exp_sum(float x, float low)
{
    uint32_t shift;
    float p = 1 + f32_expm1_part(x, low, &shift);
    float y = bits_f32(f32_bits(p) + shift);

    y = x <= F32_EXP_MAX ? y : x + INFINITY;
    return x < F32_EXP_MIN ? 0 : y;
}

static inline float f32_exp(float x)
{
    return f32_exp_sum(x, 0);
}

static inline float f32_sigmoid(float x)
{
    float y = 1 / (1 + f32_exp(-x));

    return x != x ? x + x : y;
}

static inline float f32_silu(float x)
{
    float y = x / (1 + f32_exp(-x));

    return x < -F32_EXP_MAX ? -0.0f : y;
}

/* e^2|x| - 1 = m: tanh |x| = m / (m + 2). */
static inline float f32_tanh(float x)
{
    uint32_t shift;
    float a = bits_f32(f32_bits(x) & 0x7fffffff);
    float c = 10 < a ? 10 : a;
    float q = f32_expm1_part(c + c, 0, &shift);
    float s = bits_f32(0x3f800000 + shift);
    float m = fmaf(s, q, s - 1);
    float y = m / (m + 2);

    y = bits_f32(f32_bits(y) | (f32_bits(x) & 0x80000000));
    return x != x ? x + x : y;
}

/* x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3) to twice the digits:
 * e^-2u would multiply the error of a float by as much as 88. */
static inline float f32_gelu(float x)
{
    float c = F32_GELU_END < x ? F32_GELU_END : x;
    float p, pl, w, wl, v, vl, y, yl, e;

    c = -F32_GELU_END > c ? -F32_GELU_END : c;
    p = c * c;
    pl = fmaf(c, c, -p);
    w = F32_GELU_C3 * p;
    wl = fmaf(F32_GELU_C3, p, -w);
    wl = fmaf(F32_GELU_C3, pl, wl);
    wl = fmaf(F32_GELU_C3_LO, p, wl);
    /* v + vl = w + c1, whichever of the two is the greater */
    v = w + F32_GELU_C1;
    vl = v - w;
    vl = (w - (v - vl)) + (F32_GELU_C1 - vl);
    vl = vl + (wl + F32_GELU_C1_LO);
    y = v * -c;
    yl = fmaf(v, -c, -y);
    yl = fmaf(vl, -c, yl);
    e = f32_exp_sum(y, yl);
    e = x / (1 + e);
    return y > 88 ? -0.0f : e;
}

/* x Phi(x).  Near 0 by a polynomial, else through h = a Phi(-a) = a e^(-a^2/2)
 * P((a - k) / (a + k)) / (a + k), whose roundings would add up to 5 units: so
 * the product's are carried along. */
static inline float f32_gelu_erf(float x)
{
    uint32_t shift;
    float a = bits_f32(f32_bits(x) & 0x7fffffff);
    float c = F32_ERF_END < a ? F32_ERF_END : a;
    float s = c * c, sl = fmaf(c, c, -s);
    float e = f32_expm1_part(s * -0.5f, sl * -0.5f, &shift);
    float k = c + F32_ERF_K, i = 1 / k, q = (c - F32_ERF_K) * i;
    float p = F32_ERF8, m = F32_PHI5, il, h, hl, y;

    p = fmaf(p, q, F32_ERF7);
    p = fmaf(p, q, F32_ERF6);
    p = fmaf(p, q, F32_ERF5);
    p = fmaf(p, q, F32_ERF4);
    p = fmaf(p, q, F32_ERF3);
    p = fmaf(p, q, F32_ERF2);
    p = fmaf(p, q, F32_ERF1);
    p = fmaf(p, q, F32_ERF0);
    il = fmaf(-i, c - (k - F32_ERF_K), fmaf(-i, k, 1));
    y = p * i;
    hl = fmaf(y, il, fmaf(p, i, -y));
    h = y * c;
    hl = fmaf(hl, c, fmaf(y, c, -h));
    h = h + fmaf(h, e, hl);
    h = bits_f32(f32_bits(h) + shift);
    h = a > F32_ERF_END ? 0 : h;
    h = x < 0 ? -h : x - h;
    m = fmaf(m, s, F32_PHI4);
    m = fmaf(m, s, F32_PHI3);
    m = fmaf(m, s, F32_PHI2);
    m = fmaf(m, s, F32_PHI1);
    m = fmaf(m, s, F32_PHI0);
    m = x * fmaf(m, x, 0.5f);
    y = a < 1 ? m : h;
    return x != x ? x + x : y;
}

static inline float f32_relu2(float x)
{
    float y = 0 > x ? 0 : x;

    return y * y;
}

static inline float f32_softcap(float x, float cap)
{
    return cap * f32_tanh(x / cap);
}

#endif
