/* SPDX-License-Identifier: MIT
 * simd.h - f32.h and sum.h on vectors, the same operations in the same order.
 * Only files that have AVX2, AVX-512 or NEON have anything of it. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_H
#define LLM_KERNELS_OP_MATH_SIMD_H

#include "kernels/op/math/simd_neon.h"
#include "kernels/op/math/simd_x86.h"

#ifdef VL
#include <math.h>

#include "kernels/op/math/coef.h"

/* One step of a polynomial. */
SIMD_FN VF vf_step(VF p, VF x, float c)
{
    return vf_fma(p, x, vf_set1(c));
}

/* As f32_expm1_part(). */
SIMD_FN VF vf_expm1_part(VF x, VF low, VI *shift)
{
    VF t = vf_fma(x, vf_set1(F32_LOG2E), vf_set1(F32_MAGIC));
    VF n = vf_sub(t, vf_set1(F32_MAGIC)), r, p = vf_set1(F32_EXP6);

    r = vf_fma(n, vf_set1(-F32_LN2_HI), x);
    r = vf_add(vf_fma(n, vf_set1(-F32_LN2_LO), r), low);
    p = vf_step(p, r, F32_EXP5);
    p = vf_step(p, r, F32_EXP4);
    p = vf_step(p, r, F32_EXP3);
    p = vf_step(p, r, F32_EXP2);
    *shift = vi_shl23(vf_bits(t));
    return vf_fma(vf_mul(p, r), r, r);
}

SIMD_FN VF vf_exp_sum(VF x, VF low)
{
    VI shift;
    VF p = vf_add(vf_set1(1), vf_expm1_part(x, low, &shift));
    VF y = vi_float(vi_add(vf_bits(p), shift));

    y = vf_select(vf_le(x, vf_set1(F32_EXP_MAX)), y,
                  vf_add(x, vf_set1(INFINITY)));
    return vf_select(vf_lt(x, vf_set1(F32_EXP_MIN)), vf_set1(0), y);
}

SIMD_FN VF vf_exp(VF x)
{
    return vf_exp_sum(x, vf_set1(0));
}

/* Y, but where X is NaN that NaN. */
SIMD_FN VF vf_or_nan(VF x, VF y)
{
    return vf_select(vf_nan(x, x), vf_add(x, x), y);
}

SIMD_FN VF vf_sigmoid(VF x)
{
    VF one = vf_set1(1);

    return vf_or_nan(x, vf_div(one, vf_add(one, vf_exp(vf_neg(x)))));
}

SIMD_FN VF vf_silu(VF x)
{
    VF y = vf_div(x, vf_add(vf_set1(1), vf_exp(vf_neg(x))));

    return vf_select(vf_lt(x, vf_set1(-F32_EXP_MAX)), vf_set1(-0.0f), y);
}

SIMD_FN VF vf_tanh(VF x)
{
    VI shift;
    VF c = vf_min(vf_set1(10), vf_abs(x));
    VF q = vf_expm1_part(vf_add(c, c), vf_set1(0), &shift);
    VF s = vi_float(vi_add(vi_set1(0x3f800000), shift));
    VF m = vf_fma(s, q, vf_sub(s, vf_set1(1)));
    VF y = vf_div(m, vf_add(m, vf_set1(2)));

    return vf_or_nan(x, vf_sign(y, x));
}

SIMD_FN VF vf_gelu(VF x)
{
    VF c = vf_min(vf_set1(F32_GELU_END), x);
    VF p, pl, w, wl, v, vl, y, yl, e;

    c = vf_max(vf_set1(-F32_GELU_END), c);
    p = vf_mul(c, c);
    pl = vf_fma(c, c, vf_neg(p));
    w = vf_mul(vf_set1(F32_GELU_C3), p);
    wl = vf_fma(vf_set1(F32_GELU_C3), p, vf_neg(w));
    wl = vf_fma(vf_set1(F32_GELU_C3), pl, wl);
    wl = vf_fma(vf_set1(F32_GELU_C3_LO), p, wl);
    v = vf_add(w, vf_set1(F32_GELU_C1));
    vl = vf_sub(v, w);
    vl = vf_add(vf_sub(w, vf_sub(v, vl)), vf_sub(vf_set1(F32_GELU_C1), vl));
    vl = vf_add(vl, vf_add(wl, vf_set1(F32_GELU_C1_LO)));
    y = vf_mul(v, vf_neg(c));
    yl = vf_fma(v, vf_neg(c), vf_neg(y));
    yl = vf_fma(vl, vf_neg(c), yl);
    e = vf_exp_sum(y, yl);
    e = vf_div(x, vf_add(vf_set1(1), e));
    return vf_select(vf_lt(vf_set1(88), y), vf_set1(-0.0f), e);
}

SIMD_FN VF vf_gelu_erf(VF x)
{
    VI shift;
    VF a = vf_abs(x), end = vf_set1(F32_ERF_END), far = vf_set1(F32_ERF_K);
    VF c = vf_min(end, a), one = vf_set1(1), half = vf_set1(-0.5f);
    VF s = vf_mul(c, c), sl = vf_fma(c, c, vf_neg(s));
    VF e = vf_expm1_part(vf_mul(s, half), vf_mul(sl, half), &shift);
    VF k = vf_add(c, far), i = vf_div(one, k), q = vf_mul(vf_sub(c, far), i);
    VF p = vf_set1(F32_ERF8), m = vf_set1(F32_PHI5), il, h, hl, y;

    p = vf_step(p, q, F32_ERF7);
    p = vf_step(p, q, F32_ERF6);
    p = vf_step(p, q, F32_ERF5);
    p = vf_step(p, q, F32_ERF4);
    p = vf_step(p, q, F32_ERF3);
    p = vf_step(p, q, F32_ERF2);
    p = vf_step(p, q, F32_ERF1);
    p = vf_step(p, q, F32_ERF0);
    il =
        vf_fma(vf_neg(i), vf_sub(c, vf_sub(k, far)), vf_fma(vf_neg(i), k, one));
    y = vf_mul(p, i);
    hl = vf_fma(y, il, vf_fma(p, i, vf_neg(y)));
    h = vf_mul(y, c);
    hl = vf_fma(hl, c, vf_fma(y, c, vf_neg(h)));
    h = vf_add(h, vf_fma(h, e, hl));
    h = vi_float(vi_add(vf_bits(h), shift));
    h = vf_select(vf_lt(end, a), vf_set1(0), h);
    h = vf_select(vf_lt(x, vf_set1(0)), vf_neg(h), vf_sub(x, h));
    m = vf_step(m, s, F32_PHI4);
    m = vf_step(m, s, F32_PHI3);
    m = vf_step(m, s, F32_PHI2);
    m = vf_step(m, s, F32_PHI1);
    m = vf_step(m, s, F32_PHI0);
    m = vf_mul(x, vf_step(m, x, 0.5f));
    return vf_or_nan(x, vf_select(vf_lt(a, one), m, h));
}

SIMD_FN VF vf_relu2(VF x)
{
    VF y = vf_max(vf_set1(0), x);

    return vf_mul(y, y);
}

SIMD_FN VF vf_softcap(VF x, VF cap)
{
    return vf_mul(cap, vf_tanh(vf_div(x, cap)));
}

SIMD_FN V16 v16_exp(V16 x)
{
#if VL == 16
    return vf_exp(x);
#else
    return (V16){vf_exp(x.a), vf_exp(x.b)};
#endif
}

SIMD_FN V16 v16_softcap(V16 x, VF cap)
{
#if VL == 16
    return vf_softcap(x, cap);
#else
    return (V16){vf_softcap(x.a, cap), vf_softcap(x.b, cap)};
#endif
}

#endif
#endif
