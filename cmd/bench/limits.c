/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include "cmd/bench/limits.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "cmd/bench/limits_ops.h"

enum { PASSES = 200 };

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

int limits_read(double rate[2], struct team *t, double mb, int passes)
{
    struct reading r = {.team = t, .n = passes < PASSES ? passes : PASSES};
    size_t n = (size_t)team_size(t), bytes;

    r.lines = ((size_t)(mb * 1e6) / (64 * n) + 3) & ~(size_t)3;
    bytes = r.lines * 64 * n;
    r.p = pages_alloc(bytes);
    if (!r.p)
        return -1;
    team_run(t, (int)n, reader, &r);
    qsort(r.t, (size_t)r.n, sizeof *r.t, by_time);
    rate[0] = (double)bytes / r.t[r.n / 2] * 1e-9;
    rate[1] = (double)bytes / r.t[0] * 1e-9;
    pages_free(r.p, bytes);
    return 0;
}

/* What the system says of caches may be one part of several. */
double limits_far_mb(void)
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

const struct limits_op *limits_best(unsigned flags,
                                    const struct limits_op **vector)
{
    const struct limits_op *best = NULL;

    *vector = NULL;
    for (size_t i = 0; i < sizeof op_list / sizeof *op_list; i++)
        if (!(op_list[i].flags & ~flags)) {
            best = &op_list[i];
            if (!(best->flags & CPU_AMX))
                *vector = best;
        }
    return best;
}

struct multiplying {
    struct team *team;
    const struct limits_op *op;
    double rate[LIMITS_THREADS];
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

double limits_multiply(struct team *t, const struct limits_op *op)
{
    struct multiplying m = {.team = t, .op = op};
    double sum = 0;

    team_run(t, team_size(t), multiplier, &m);
    for (int i = 0; i < team_size(t); i++)
        sum += m.rate[i];
    return sum;
}
