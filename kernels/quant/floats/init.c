/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"
#include "kernels/quant/floats/floats.h"

void floats_init(struct kern *k, unsigned flags);

void floats_init(struct kern *k, unsigned flags)
{
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        floats_avx2(k);
    if (flags & CPU_AVX512)
        floats_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        floats_neon(k);
#else
    (void)k;
    (void)flags;
#endif
}
