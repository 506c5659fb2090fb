/* SPDX-License-Identifier: MIT
 * simd.h - plain vector arithmetic: what avx2.c, avx512.c and neon.c are made
 * of. */
#ifndef LLM_KERNELS_OP_VEC_SIMD_H
#define LLM_KERNELS_OP_VEC_SIMD_H

#include "kernels/op/math/simd.h"
#include "kernels/op/vec/vec.h"

#ifdef VL

/* y = f(y, x) */
#define ALL(y, x, n, f)                                                        \
    do {                                                                       \
        int64_t at;                                                            \
        VM m;                                                                  \
                                                                               \
        for (at = 0; at + VL <= n; at += VL)                                   \
            vf_store(y + at, f(vf_load(y + at), vf_load(x + at)));             \
        if (at < n) {                                                          \
            m = vf_first((int)(n - at));                                       \
            vf_store_m(y + at, m,                                              \
                       f(vf_load_m(y + at, m), vf_load_m(x + at, m)));         \
        }                                                                      \
    } while (0)

static void add(float *y, const float *x, int64_t n)
{
    ALL(y, x, n, vf_add);
}

static void add_panel(float *y, size_t ldy, const float *x, int w)
{
    for (int c = 0; c < w; c++, y += ldy, x += KERN_ROWS)
        v16_store(y, v16_add(v16_load(y), v16_load(x)));
}

static void mul(float *y, const float *x, int64_t n)
{
    ALL(y, x, n, vf_mul);
}

static void axpy(float *y, float a, const float *x, int64_t n)
{
    VF av = vf_set1(a);

#define AXPY(v, u) vf_fma(av, u, v)
    ALL(y, x, n, AXPY);
}

static void scale(float *y, float a, int64_t n)
{
    VF av = vf_set1(a);

#define SCALE(v, u) vf_mul(v, av)
    ALL(y, y, n, SCALE);
}

/* The greatest of a block, then, in the first block that has the greatest,
 * the first that equals it. */
static int64_t argmax(const float *x, int64_t n)
{
    const int64_t block = 64 * VL;
    int64_t best = -1, i, j, end;
    float max = 0;

    if (n < 2 * VL) {
        for (i = 0; i < n; i++) {
            if (x[i] != x[i])
                return -1;
            if (best < 0 || x[i] > x[best])
                best = i;
        }
        return best;
    }
    for (i = 0; i < n; i = end) {
        VF a = vf_load(x + (i + VL <= n ? i : n - VL)), b = a;
        VM bad = vf_nan(a, b);
        float v[VL], m;

        end = n - i < block ? n : i + block;
        for (j = i; j + 2 * VL <= end; j += 2 * VL) {
            VF p = vf_load(x + j), q = vf_load(x + j + VL);

            bad = vm_or(bad, vf_nan(p, q));
            a = vf_max(p, a);
            b = vf_max(q, b);
        }
        /* Some of the last ones a second time. */
        if (j < end) {
            VF p = vf_load(x + end - 2 * VL), q = vf_load(x + end - VL);

            bad = vm_or(bad, vf_nan(p, q));
            a = vf_max(p, a);
            b = vf_max(q, b);
        }
        if (vm_any(bad))
            return -1;
        vf_store(v, vf_max(a, b));
        m = v[0];
        for (int l = 1; l < VL; l++)
            m = v[l] > m ? v[l] : m;
        if (best < 0 || m > max) {
            best = i;
            max = m;
        }
    }
    /* It is in this block: elements of an earlier one are all less. */
    while (x[best] != max)
        best++;
    return best;
}

void SIMD(vec)(struct kern *k)
{
    k->add = add;
    k->add_panel = add_panel;
    k->mul = mul;
    k->axpy = axpy;
    k->scale = scale;
    k->argmax = argmax;
}

#endif
#endif
