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
 * CPU quota of its cgroups rounded down.  At least 1. */
int cpu_threads(void);
/* Threads for arithmetic that fills a core by itself: one for each physical
 * performance core of these.  At least 1. */
int cpu_cores(void);

/* What both are made of, from the files under ROOT: "" for this machine. */
struct cpu_count {
    int usable; /* processors of the affinity mask; 0: not known */
    int cores;  /* of one core's threads one */
    int fast;   /* of these, what is worth an equal share of the work */
    int quota;  /* time of so many thousandths of a processor; 0: of all */
};
void cpu_count(struct cpu_count *n, const char *root);

#endif
