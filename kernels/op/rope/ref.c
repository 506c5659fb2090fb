/* SPDX-License-Identifier: MIT */
#include "kernels/op/rope/rope.h"

#include <math.h>

#include "base/cpu.h"

static void rope(float *x, const float *cs, int np, bool pairs)
{
    for (int i = 0; i < np; i++) {
        float *p = x + (pairs ? 2 * i : i), *q = p + (pairs ? 1 : np);
        float c = cs[2 * i], s = cs[2 * i + 1], a = *p, b = *q;

        *p = fmaf(a, c, -(b * s));
        *q = fmaf(a, s, b * c);
    }
}

void rope_init(struct kern *k, unsigned flags)
{
    k->rope = rope;
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        rope_avx2(k);
    if (flags & CPU_AVX512)
        rope_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        rope_neon(k);
#endif
    (void)flags;
}
