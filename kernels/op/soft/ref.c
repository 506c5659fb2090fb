/* SPDX-License-Identifier: MIT */
#include "kernels/op/soft/soft.h"

#include <string.h>

#include "base/cpu.h"
#include "kernels/op/math/f32.h"
#include "kernels/op/math/sum.h"

static void softmax(float *s, int lo, int hi, int n, float scale, float cap,
                    float *m, float *l)
{
    float lane[16], max;

    for (int i = 0; i < 16; i++)
        lane[i] = -INFINITY;
    for (int i = lo; i < hi; i++) {
        s[i] *= scale;
        if (cap != 0)
            s[i] = f32_softcap(s[i], cap);
        lane[i % 16] = max_of(s[i], lane[i % 16]);
    }
    *m = max = max_lanes(lane);
    memset(lane, 0, sizeof lane);
    memset(s, 0, (size_t)lo * sizeof *s);
    memset(s + hi, 0, (size_t)(n - hi) * sizeof *s);
    for (int i = lo; i < hi; i++) {
        s[i] = f32_exp(s[i] - max);
        lane[i % 16] += s[i];
    }
    *l = sum_lanes(lane);
}

static void merge(float *m, float *l, float *o, float m1, float l1,
                  const float *o1, int64_t d)
{
    float max = max_of(m1, *m), a = f32_exp(*m - max), b = f32_exp(m1 - max);

    *m = max;
    *l = fmaf(*l, a, l1 * b);
    for (int64_t i = 0; i < d; i++)
        o[i] = fmaf(o[i], a, o1[i] * b);
}

void soft_init(struct kern *k, unsigned flags)
{
    k->softmax = softmax;
    k->merge = merge;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        soft_avx2(k);
    if (flags & CPU_AVX512)
        soft_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        soft_neon(k);
#endif
    (void)flags;
}
