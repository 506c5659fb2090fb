/* SPDX-License-Identifier: MIT */
#include "kernels/op/norm/norm.h"

#include <math.h>

#include "base/cpu.h"
#include "kernels/op/math/sum.h"

static void rmsnorm(float *y, const float *x, const float *w, int64_t n,
                    float eps)
{
    float l[16] = {0}, r;

    for (int64_t i = 0; i < n; i++)
        l[i % 16] = fmaf(x[i], x[i], l[i % 16]);
    r = 1 / sqrtf(sum_lanes(l) / (float)n + eps);
    for (int64_t i = 0; i < n; i++)
        y[i] = w ? x[i] * r * w[i] : x[i] * r;
}

static void layernorm(float *y, const float *x, const float *w, const float *b,
                      int64_t n, float eps)
{
    float l[16] = {0}, v[16] = {0}, mean, r;

    for (int64_t i = 0; i < n; i++)
        l[i % 16] += x[i];
    mean = sum_lanes(l) / (float)n;
    for (int64_t i = 0; i < n; i++)
        v[i % 16] = fmaf(x[i] - mean, x[i] - mean, v[i % 16]);
    r = 1 / sqrtf(sum_lanes(v) / (float)n + eps);
    for (int64_t i = 0; i < n; i++) {
        float t = (x[i] - mean) * r;

        t = w ? t * w[i] : t;
        y[i] = b ? t + b[i] : t;
    }
}

void norm_init(struct kern *k, unsigned flags)
{
    k->rmsnorm = rmsnorm;
    k->layernorm = layernorm;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        norm_avx2(k);
    if (flags & CPU_AVX512)
        norm_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        norm_neon(k);
#endif
    (void)flags;
}
