/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"

unsigned cpu_flags(void)
{
    unsigned f = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        f |= CPU_AVX2;
    if ((f & CPU_AVX2) && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        f |= CPU_AVX512;
#elif defined(__aarch64__)
    f |= CPU_NEON;
#endif
    return f;
}
