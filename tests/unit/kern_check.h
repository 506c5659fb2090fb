/* SPDX-License-Identifier: MIT
 * kern_check.h - what tests of kernels share: instruction sets, random numbers,
 * memory that ends where a page may not be read, floats compared by bits. */
#ifndef LLM_TESTS_KERN_CHECK_H
#define LLM_TESTS_KERN_CHECK_H

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS; so this comes first */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "kernels/kern.h"

/* What kern_init() is given, the plain functions first. */
enum { CHECK_LEVELS = CPU_LEVELS };
#define check_level cpu_level

static inline int check_has(int level)
{
    return !(check_level[level].flags & ~cpu_flags());
}

/* xorshift64*, by Vigna. */
static uint64_t check_seed = 1;

static inline uint32_t rnd(void)
{
    check_seed ^= check_seed >> 12;
    check_seed ^= check_seed << 25;
    check_seed ^= check_seed >> 27;
    return (uint32_t)(check_seed * 0x2545f4914f6cdd1dull >> 32);
}

/* 0..n-1. */
static inline int rnd_to(int n)
{
    return (int)(rnd() % (uint32_t)n);
}

/* -1..1, and about normally distributed. */
static inline float rnd_f(void)
{
    return (float)(int32_t)rnd() * 0x1p-31f;
}

static inline float rnd_normal(void)
{
    return rnd_f() + rnd_f() + rnd_f() + rnd_f();
}

static inline float check_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

/* Equal bits, or both no number: which NaN comes of several is left to the
 * order that a compiler gives a multiplication's operands. */
static inline int check_same(float a, float b)
{
    return !memcmp(&a, &b, 4) || (a != a && b != b);
}

/* SIZE bytes between pages that may not be touched: at the beginning of their
 * own, or, ALIGN being more than 0, at its end but for a multiple of ALIGN. */
struct check_mem {
    char *map;
    size_t size;
};

static inline struct check_mem check_mem_new(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct check_mem m = {NULL, (size + page - 1) / page * page};
    char *p = mmap(NULL, m.size + 2 * page, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + page, m.size, PROT_READ | PROT_WRITE)) {
        perror("mmap");
        exit(1);
    }
    m.map = p + page;
    return m;
}

static inline void *check_mem_at(struct check_mem m, size_t size, size_t align)
{
    if (size > m.size) {
        fprintf(stderr, "a test needs %zu bytes of %zu\n", size, m.size);
        exit(1);
    }
    return align ? m.map + (m.size - size) / align * align : m.map;
}

/* What runs now, for whoever asks after a signal. */
static const char *volatile check_type = "", *volatile check_what = "";

static inline void check_signal(int sig)
{
    const char *say[] = {"\nnot ok - signal in ", check_type, " ", check_what,
                         "\n"};

    for (int i = 0; i < 5; i++)
        if (write(1, say[i], strlen(say[i])) < 0)
            break;
    _exit(128 + sig);
}

static inline void check_catch(void)
{
    struct sigaction a = {0};

    a.sa_handler = check_signal;
    sigaction(SIGILL, &a, NULL);
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
}

/* Seconds of this thread's work. */
static inline double check_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
