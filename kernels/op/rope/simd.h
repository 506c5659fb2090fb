/* SPDX-License-Identifier: MIT
 * simd.h - rotation on vectors: what avx2.c, avx512.c and neon.c are made
 * of. */
#ifndef LLM_KERNELS_OP_ROPE_SIMD_H
#define LLM_KERNELS_OP_ROPE_SIMD_H

#include "kernels/op/math/simd.h"
#include "kernels/op/rope/rope.h"

#ifdef VL

SIMD_FN void turn(float *p, float *q, VM m, VF c, VF s)
{
    VF a = vf_load_m(p, m), b = vf_load_m(q, m);

    vf_store_m(p, m, vf_fma(a, c, vf_neg(vf_mul(b, s))));
    vf_store_m(q, m, vf_fma(a, s, vf_mul(b, c)));
}

static void halves(float *x, const float *cs, int np)
{
    float *y = x + np, rest[2 * VL] = {0};
    VF c, s;
    int i;

    for (i = 0; i + VL <= np; i += VL) {
        VF a = vf_load(x + i), b = vf_load(y + i);

        vf_unzip(&c, &s, cs + 2 * i);
        vf_store(x + i, vf_fma(a, c, vf_neg(vf_mul(b, s))));
        vf_store(y + i, vf_fma(a, s, vf_mul(b, c)));
    }
    if (i < np) {
        memcpy(rest, cs + 2 * i, (size_t)(np - i) * 2 * sizeof *rest);
        vf_unzip(&c, &s, rest);
        turn(x + i, y + i, vf_first(np - i), c, s);
    }
}

static void rope(float *x, const float *cs, int np, bool pairs)
{
    int i;

    if (!pairs) {
        halves(x, cs, np);
        return;
    }
    for (i = 0; i + VL <= 2 * np; i += VL)
        vf_store(x + i, vf_turn(vf_load(x + i), vf_load(cs + i)));
    if (i < 2 * np) {
        VM m = vf_first(2 * np - i);

        vf_store_m(x + i, m,
                   vf_turn(vf_load_m(x + i, m), vf_load_m(cs + i, m)));
    }
}

void SIMD(rope)(struct kern *k)
{
    k->rope = rope;
}

#endif
#endif
