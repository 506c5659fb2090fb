/* SPDX-License-Identifier: MIT
 * simd.h - norms on vectors: what avx2.c, avx512.c and neon.c are made of. */
#ifndef LLM_KERNELS_OP_NORM_SIMD_H
#define LLM_KERNELS_OP_NORM_SIMD_H

#include "kernels/op/math/simd.h"
#include "kernels/op/norm/norm.h"

#ifdef VL

/* 1 / sqrt(sum / n + eps) */
SIMD_FN float inverse(float sum, int64_t n, float eps)
{
    return 1 / f1_sqrt(sum / (float)n + eps);
}

static void rmsnorm(float *y, const float *x, const float *w, int64_t n,
                    float eps)
{
    V16 l = v16_set1(0), v, r;
    int64_t i;
    int t = (int)(n % 16);

    for (i = 0; i + 16 <= n; i += 16) {
        v = v16_load(x + i);
        l = v16_fma(v, v, l);
    }
    if (t) {
        v = v16_load_part(x + i, 0, t);
        l = v16_part(v16_fma(v, v, l), 0, t, l);
    }
    r = v16_set1(inverse(v16_sum(l), n, eps));
    for (i = 0; i + 16 <= n; i += 16) {
        v = v16_mul(v16_load(x + i), r);
        v16_store(y + i, w ? v16_mul(v, v16_load(w + i)) : v);
    }
    if (t) {
        v = v16_mul(v16_load_part(x + i, 0, t), r);
        v16_store_part(y + i, 0, t,
                       w ? v16_mul(v, v16_load_part(w + i, 0, t)) : v);
    }
}

SIMD_FN V16 affine(V16 v, V16 mean, V16 r, const V16 *w, const V16 *b)
{
    v = v16_mul(v16_sub(v, mean), r);
    v = w ? v16_mul(v, *w) : v;
    return b ? v16_add(v, *b) : v;
}

static void layernorm(float *y, const float *x, const float *w, const float *b,
                      int64_t n, float eps)
{
    V16 l = v16_set1(0), v, r, mean, wv, bv;
    int64_t i;
    int t = (int)(n % 16);

    for (i = 0; i + 16 <= n; i += 16)
        l = v16_add(l, v16_load(x + i));
    if (t)
        l = v16_part(v16_add(l, v16_load_part(x + i, 0, t)), 0, t, l);
    mean = v16_set1(v16_sum(l) / (float)n);
    l = v16_set1(0);
    for (i = 0; i + 16 <= n; i += 16) {
        v = v16_sub(v16_load(x + i), mean);
        l = v16_fma(v, v, l);
    }
    if (t) {
        v = v16_sub(v16_load_part(x + i, 0, t), mean);
        l = v16_part(v16_fma(v, v, l), 0, t, l);
    }
    r = v16_set1(inverse(v16_sum(l), n, eps));
    for (i = 0; i + 16 <= n; i += 16) {
        if (w)
            wv = v16_load(w + i);
        if (b)
            bv = v16_load(b + i);
        v = affine(v16_load(x + i), mean, r, w ? &wv : NULL, b ? &bv : NULL);
        v16_store(y + i, v);
    }
    if (t) {
        if (w)
            wv = v16_load_part(w + i, 0, t);
        if (b)
            bv = v16_load_part(b + i, 0, t);
        v = v16_load_part(x + i, 0, t);
        v = affine(v, mean, r, w ? &wv : NULL, b ? &bv : NULL);
        v16_store_part(y + i, 0, t, v);
    }
}

void SIMD(norm)(struct kern *k)
{
    k->rmsnorm = rmsnorm;
    k->layernorm = layernorm;
}

#endif
#endif
