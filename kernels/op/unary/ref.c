/* SPDX-License-Identifier: MIT */
#include "kernels/op/unary/unary.h"

#include "base/cpu.h"
#include "kernels/op/math/f32.h"

#define UNARY(name)                                                            \
    static void all_##name(float *x, int64_t n)                                \
    {                                                                          \
        for (int64_t i = 0; i < n; i++)                                        \
            x[i] = f32_##name(x[i]);                                           \
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
    for (int64_t i = 0; i < n; i++)
        x[i] = f32_softcap(x[i], cap);
}

void unary_init(struct kern *k, unsigned flags)
{
    k->unary[KERN_SILU] = all_silu;
    k->unary[KERN_GELU] = all_gelu;
    k->unary[KERN_GELU_ERF] = all_gelu_erf;
    k->unary[KERN_RELU2] = all_relu2;
    k->unary[KERN_SIGMOID] = all_sigmoid;
    k->unary[KERN_TANH] = all_tanh;
    k->unary[KERN_EXP] = all_exp;
    k->softcap = softcap;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        unary_avx2(k);
    if (flags & CPU_AVX512)
        unary_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        unary_neon(k);
#endif
    (void)flags;
}
