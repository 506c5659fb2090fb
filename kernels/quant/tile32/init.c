/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"
#include "kernels/quant/tile32/tile32.h"

void tile32_init(struct kern *k, unsigned flags);

void tile32_init(struct kern *k, unsigned flags)
{
#if defined(__x86_64__)
    if (flags & CPU_AVX2) {
        tile32_pack(k);
        tile32_avx2(k);
    }
    if (flags & CPU_AVX2VNNI)
        tile32_avx2vnni(k);
    if (flags & CPU_AVX512)
        tile32_avx512(k);
    if (flags & CPU_AVX512VNNI)
        tile32_avx512vnni(k);
    if (flags & CPU_AMX)
        tile32_amx(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON) {
        tile32_pack(k);
        tile32_neon(k);
    }
    if (flags & CPU_DOTPROD)
        tile32_dotprod(k);
    if (flags & CPU_I8MM)
        tile32_i8mm(k);
#else
    (void)k;
    (void)flags;
#endif
}
