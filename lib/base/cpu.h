/* SPDX-License-Identifier: MIT
 * cpu.h - what this machine has: instruction sets and usable cores. */
#ifndef LLM_BASE_CPU_H
#define LLM_BASE_CPU_H

enum {
    CPU_AVX2 = 1u << 0,     /* with FMA and F16C */
    CPU_AVX2VNNI = 1u << 1, /* AVX-VNNI */
    CPU_AVX512 = 1u << 2,   /* F, BW, DQ and VL */
    CPU_AVX512VNNI = 1u << 3,
    CPU_AMX = 1u << 4, /* TILE and INT8, and the system lets us */
    CPU_NEON = 1u << 5,
    CPU_DOTPROD = 1u << 6,
    CPU_I8MM = 1u << 7
};

/* The instruction sets found, as CPU_ bits, each only with those that its level
 * has below it.  0 on an unknown machine.  Where AMX has to be asked for, it
 * is: for the whole process, so threads come after the first call. */
unsigned cpu_flags(void);

/* Levels of instruction sets by name, from the least on, those of every kind of
 * machine; the last has no name.  Each has all that it needs of the others. */
struct cpu_level {
    const char *name;
    unsigned flags;
};
enum { CPU_LEVELS = 9 };
extern const struct cpu_level cpu_level[CPU_LEVELS + 1];

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
