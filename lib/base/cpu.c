/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Whole CPUs that the quota in FILE allows; 0 when there is none.  cgroup 2
 * writes "max 100000" or "150000 100000"; cgroup 1 has a file for each. */
static int quota(const char *file, const char *period_file)
{
    char word[32] = "";
    long q = 0, period = 0;
    FILE *f = fopen(file, "re");

    if (!f)
        return 0;
    if (fscanf(f, "%31s %ld", word, &period) < 1 ||
        sscanf(word, "%ld", &q) != 1)
        q = 0;
    fclose(f);
    if (period_file && q > 0 && (f = fopen(period_file, "re"))) {
        if (fscanf(f, "%ld", &period) != 1)
            period = 0;
        fclose(f);
    }
    if (q <= 0 || period <= 0)
        return 0;
    return q < period ? 1 : (int)(q / period);
}

int cpu_threads(void)
{
    int n = 0, q;
#if defined(__linux__)
    cpu_set_t set;

    if (!sched_getaffinity(0, sizeof set, &set))
        n = CPU_COUNT(&set);
#endif
    if (n < 1)
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    q = quota("/sys/fs/cgroup/cpu.max", NULL);
    if (!q)
        q = quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
                  "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (q && q < n)
        n = q;
    return n < 1 ? 1 : n;
}
