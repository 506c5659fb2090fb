/* SPDX-License-Identifier: MIT
 * simd.h - functions of one number on vectors: what avx2.c, avx512.c and
 * neon.c are made of. */
#ifndef LLM_KERNELS_OP_UNARY_SIMD_H
#define LLM_KERNELS_OP_UNARY_SIMD_H

#include "kernels/op/math/simd.h"
#include "kernels/op/unary/unary.h"

#ifdef VL

#define UNARY(name)                                                            \
    static void all_##name(float *x, int64_t n)                                \
    {                                                                          \
        int64_t i;                                                             \
                                                                               \
        for (i = 0; i + VL <= n; i += VL)                                      \
            vf_store(x + i, vf_##name(vf_load(x + i)));                        \
        if (i < n) {                                                           \
            VM m = vf_first((int)(n - i));                                     \
                                                                               \
            vf_store_m(x + i, m, vf_##name(vf_load_m(x + i, m)));              \
        }                                                                      \
    }
UNARY(silu)
UNARY(gelu)
UNARY(gelu_erf)
UNARY(relu2)
UNARY(sigmoid)
UNARY(tanh)
UNARY(exp)

static void softcap(float *x, float cap, int64_t n)
{
    VF c = vf_set1(cap);
    int64_t i;

    for (i = 0; i + VL <= n; i += VL)
        vf_store(x + i, vf_softcap(vf_load(x + i), c));
    if (i < n) {
        VM m = vf_first((int)(n - i));

        vf_store_m(x + i, m, vf_softcap(vf_load_m(x + i, m), c));
    }
}

void SIMD(unary)(struct kern *k)
{
    k->unary[KERN_SILU] = all_silu;
    k->unary[KERN_GELU] = all_gelu;
    k->unary[KERN_GELU_ERF] = all_gelu_erf;
    k->unary[KERN_RELU2] = all_relu2;
    k->unary[KERN_SIGMOID] = all_sigmoid;
    k->unary[KERN_TANH] = all_tanh;
    k->unary[KERN_EXP] = all_exp;
    k->softcap = softcap;
}

#endif
#endif
