/* SPDX-License-Identifier: MIT
 * cpu.h - what this machine has: instruction sets and usable cores. */
#ifndef LLM_BASE_CPU_H
#define LLM_BASE_CPU_H

enum {
    CPU_AVX2 = 1u << 0,   /* with FMA and F16C */
    CPU_AVX512 = 1u << 1, /* F, BW, DQ, VL and VNNI */
    CPU_NEON = 1u << 2
};

/* The instruction sets found, as CPU_ bits.  0 on an unknown machine. */
unsigned cpu_flags(void);

/* Threads that this process may keep busy: the affinity mask, limited by the
 * cgroup's CPU quota rounded down.  At least 1. */
int cpu_threads(void);

#endif
