/* SPDX-License-Identifier: MIT
 * ref.c - columns of floats into tiles: the definition. */
#include "kernels/op/act/act_impl.h"

#include <string.h>

#include "base/cpu.h"

static void act_f32(void *tile, int w, int c, const float *x, int64_t k0,
                    int64_t n)
{
    float *y = (float *)tile + k0 * w + c;

    if (w == 1) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i * w] = x[i];
}

/* N elements share one scale, which it returns. */
static float quantise(int8_t *q, const float *x, int n)
{
    uint32_t amax = 0, u;
    float f, r;

    for (int i = 0; i < n; i++) {
        memcpy(&u, x + i, 4);
        u &= 0x7fffffff;
        amax = u > amax ? u : amax;
    }
    if (act_special(amax, q, n, &f))
        return f;
    f = act_float(amax);
    r = 127.0f / f;
    /* The sum has no bits left for a fraction: it is rounded to nearest
     * even. */
    for (int i = 0; i < n; i++)
        q[i] = (int8_t)(x[i] * r + 0x1.8p23f - 0x1.8p23f);
    return f / 127.0f;
}

static int sum(const int8_t *q, int n)
{
    int s = 0;

    for (int i = 0; i < n; i++)
        s += q[i];
    return s;
}

static void act_q32(void *tile, int w, int c, const float *x, int64_t k0,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i += 32) {
        struct act_q32 t = act_q32_at(tile, w, c, (k0 + i) / 32);

        *t.d = quantise(t.q, x + i, 32);
        *t.sum = sum(t.q, 32);
        *t.ds = *t.d * (float)*t.sum;
    }
}

static void act_q256(void *tile, int w, int c, const float *x, int64_t k0,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += 256) {
        struct act_q256 t = act_q256_at(tile, w, c, (k0 + i) / 256);

        *t.d = quantise(t.q, x + i, 256);
        for (int j = 0; j < 16; j++)
            t.sum16[j] = (int16_t)sum(t.q + j * 16, 16);
        for (int j = 0; j < 8; j++)
            t.sum32[j] = (int16_t)sum(t.q + j * 32, 32);
    }
}

void act_init(struct kern *k, unsigned flags)
{
    k->act[KERN_ACT_F32] = act_f32;
    k->act[KERN_ACT_Q32] = act_q32;
    k->act[KERN_ACT_Q256] = act_q256;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        act_avx2(k);
    if (flags & CPU_AVX512)
        act_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        act_neon(k);
#endif
    (void)flags;
}
