/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* syscall */
#include "base/cpu.h"

#include <stdbool.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

const struct cpu_level cpu_level[CPU_LEVELS + 1] = {
    {"ref", 0},
    {"avx2", CPU_AVX2},
    {"avx2vnni", CPU_AVX2 | CPU_AVX2VNNI},
    {"avx512", CPU_AVX2 | CPU_AVX512},
    {"avx512vnni", CPU_AVX2 | CPU_AVX512 | CPU_AVX512VNNI},
    {"amx", CPU_AVX2 | CPU_AVX512 | CPU_AVX512VNNI | CPU_AMX},
    {"neon", CPU_NEON},
    {"dotprod", CPU_NEON | CPU_DOTPROD},
    {"i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM},
    {0}};

#if defined(__x86_64__)
/* clang 14 does not know its name. */
static bool f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c & 1u << 29;
}

/* EAX or EDX of CPUID's leaf 7. */
static unsigned leaf7(unsigned sub, bool edx)
{
    unsigned a, b, c, d;

    if (!__get_cpuid_count(7, sub, &a, &b, &c, &d))
        return 0;
    return edx ? d : a;
}

/* Tiles of bytes: the processor has them, the system keeps their registers, and
 * gives them to this process. */
static bool amx(void)
{
    enum { TILE = 1 << 24, INT8 = 1 << 25, STATE = 3 << 17 };
    unsigned low, high;

    if ((leaf7(0, true) & (TILE | INT8)) != (TILE | INT8))
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & STATE) != STATE)
        return false;
#if defined(__linux__)
    /* ARCH_REQ_XCOMP_PERM for XTILEDATA */
    return !syscall(SYS_arch_prctl, 0x1023, 18);
#else
    return false;
#endif
}
#endif

unsigned cpu_flags(void)
{
    unsigned f = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !f16c())
        return 0;
    f |= CPU_AVX2;
    if (leaf7(1, false) & 1 << 4)
        f |= CPU_AVX2VNNI;
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        f |= CPU_AVX512;
    if (f & CPU_AVX512 && __builtin_cpu_supports("avx512vnni"))
        f |= CPU_AVX512VNNI;
    if (f & CPU_AVX512VNNI && amx())
        f |= CPU_AMX;
#elif defined(__aarch64__)
    enum { ASIMDDP = 1 << 20, I8MM = 1 << 13 };

    f |= CPU_NEON;
#if defined(__linux__)
    if (getauxval(AT_HWCAP) & ASIMDDP)
        f |= CPU_DOTPROD;
    if (f & CPU_DOTPROD && getauxval(AT_HWCAP2) & I8MM)
        f |= CPU_I8MM;
#endif
#endif
    return f;
}
