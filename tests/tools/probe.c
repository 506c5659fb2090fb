/* SPDX-License-Identifier: MIT
 * probe [THREADS [NEAR [FAR]]] - what this machine can do at most, as JSON:
 * read FAR megabytes of memory, by default far more than its caches hold, with
 * 2 MB pages where there are any; read NEAR megabytes again and again, which
 * may lie in a cache; and multiply and add bytes by its best instruction, a
 * product and its sum counting as two operations. */
#define _GNU_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/pages.h"
#include "base/team.h"
#include "tests/tools/probe_ops.h"

enum { MOST = 256, PASSES = 200 };

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- reading ---- */

struct reading {
    struct team *team;
    uint64_t *p;
    size_t lines; /* of 64 bytes, for each thread */
    double t[PASSES];
    int n;
};

static volatile uint64_t sink;

/* A word of each line: the memory moves whole lines, and the fewer words are
 * asked for, the further ahead a core can ask. */
static void read_lines(const uint64_t *p, size_t lines)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;

    for (size_t i = 0; i < lines; i += 4, p += 32) {
        a |= p[0];
        b |= p[8];
        c |= p[16];
        d |= p[24];
    }
    sink = a | b | c | d;
}

/* Each thread touches first what it reads, which decides where it lies. */
static void reader(void *arg, int id)
{
    struct reading *r = arg;
    uint64_t *mine = r->p + r->lines * 8 * (size_t)id;
    double from = 0;

    memset(mine, 1, r->lines * 64);
    for (int i = 0; i < r->n + 1; i++) {
        team_barrier(r->team, id);
        if (id == 0) {
            if (i > 0)
                r->t[i - 1] = now(CLOCK_MONOTONIC) - from;
            from = now(CLOCK_MONOTONIC);
        }
        if (i < r->n)
            read_lines(mine, r->lines);
    }
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median and the best of several passes over MB megabytes, in GB/s. */
static int read_memory(struct team *team, double mb, int passes, double rate[2])
{
    struct reading r = {.team = team, .n = passes};
    size_t n = (size_t)team_size(team), bytes;

    r.lines = ((size_t)(mb * 1e6) / (64 * n) + 3) & ~(size_t)3;
    bytes = r.lines * 64 * n;
    r.p = pages_alloc(bytes);
    if (!r.p)
        return -1;
    team_run(team, (int)n, reader, &r);
    qsort(r.t, (size_t)r.n, sizeof *r.t, by_time);
    rate[0] = (double)bytes / r.t[r.n / 2] * 1e-9;
    rate[1] = (double)bytes / r.t[0] * 1e-9;
    pages_free(r.p, bytes);
    return 0;
}

/* Four times the last cache, at least 256 MB, at most a quarter of the memory:
 * what the system says of caches may be one part of several. */
static double far_mb(void)
{
    double mb = 256, memory;
#ifdef _SC_LEVEL3_CACHE_SIZE
    double cache = 4e-6 * (double)sysconf(_SC_LEVEL3_CACHE_SIZE);

    mb = cache > mb ? cache : mb;
#endif
    memory =
        1e-6 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return mb < memory / 4 ? mb : memory / 4;
}

/* ---- multiplying ---- */

struct multiplying {
    struct team *team;
    const struct op *op;
    double rate[MOST];
};

/* By the thread's own time: what others take of the processor is not its
 * limit. */
static void multiplier(void *arg, int id)
{
    enum { TURNS = 15, TIMES = 20000 };
    struct multiplying *m = arg;
    double best = 1e9;

    m->op->run(100);
    team_barrier(m->team, id);
    for (int i = 0; i < TURNS; i++) {
        double t = now(CLOCK_THREAD_CPUTIME_ID);

        m->op->run(TIMES);
        t = now(CLOCK_THREAD_CPUTIME_ID) - t;
        best = t < best ? t : best;
    }
    m->rate[id] = m->op->ops * TIMES / best * 1e-9;
}

/* Gop/s of all threads together. */
static double multiply(struct team *team, const struct op *op)
{
    struct multiplying m = {.team = team, .op = op};
    double sum = 0;

    team_run(team, team_size(team), multiplier, &m);
    for (int i = 0; i < team_size(team); i++)
        sum += m.rate[i];
    return sum;
}

static void print_op(const char *what, const struct op *op, struct team *one,
                     struct team *all)
{
    printf(",\"%s\":\"%s\",\"%s_gop_s\":%.0f,\"%s_one\":%.0f", what, op->name,
           what, multiply(all, op), what, multiply(one, op));
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : cpu_threads();
    double near = argc > 2 ? strtod(argv[2], NULL) : 0, rate[2];
    double far = argc > 3 ? strtod(argv[3], NULL) : far_mb();
    const struct op *best, *vector;
    struct team *one, *all;
    struct err e = {0};

    if (threads < 1 || threads > MOST || !(near >= 0 && near < 1e6) ||
        !(far > 0 && far < 1e6)) {
        fputs("usage: probe [threads [near-megabytes [far-megabytes]]]\n",
              stderr);
        return 2;
    }
    best = op_best(cpu_flags(), &vector);
    one = team_new(1, &e);
    all = one ? team_new(threads, &e) : NULL;
    if (!all || read_memory(all, far, 7, rate)) {
        fprintf(stderr, "probe: %s\n", all ? "out of memory" : e.msg);
        return 1;
    }
    printf("{\"threads\":%d,\"read_mb\":%.0f,\"read_gb_s\":%.1f,"
           "\"read_best\":%.1f",
           threads, far, rate[0], rate[1]);
    if (near > 0 && !read_memory(all, near, near > 500 ? 7 : 50, rate))
        printf(",\"near_mb\":%.0f,\"near_gb_s\":%.1f", near, rate[0]);
    if (best)
        print_op("int8", best, one, all);
    if (vector && vector != best)
        print_op("vector", vector, one, all);
    printf("}\n");
    team_free(all);
    team_free(one);
    return fflush(stdout) != 0;
}
