/* SPDX-License-Identifier: MIT */
#include "kernels/op/vec/vec.h"

#include <math.h>

#include "base/cpu.h"

static void add(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void add_panel(float *y, size_t ldy, const float *x, int w)
{
    for (int c = 0; c < w; c++, y += ldy, x += KERN_ROWS)
        for (int r = 0; r < KERN_ROWS; r++)
            y[r] += x[r];
}

static void mul(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= x[i];
}

static void axpy(float *y, float a, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

static void scale(float *y, float a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= a;
}

static int64_t argmax(const float *x, int64_t n)
{
    int64_t at = n > 0 ? 0 : -1;

    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i])
            return -1;
        if (x[i] > x[at])
            at = i;
    }
    return at;
}

void vec_init(struct kern *k, unsigned flags)
{
    k->add = add;
    k->add_panel = add_panel;
    k->mul = mul;
    k->axpy = axpy;
    k->scale = scale;
    k->argmax = argmax;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        vec_avx2(k);
    if (flags & CPU_AVX512)
        vec_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        vec_neon(k);
#endif
    (void)flags;
}
