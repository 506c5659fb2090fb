/* SPDX-License-Identifier: MIT
 * team.c - bells that members wait for: each its own for the next run, and one
 * for all at barriers, which the last one to come rings.
 *
 * Threads are not pinned.  Where all cores are busy with other things, the
 * system puts members that wait for each other on one core, in whose share of
 * time they all get on: pinned ones, each of which waits for its own core and
 * then for the others, took 1.4 times as long (2 cores, 8 busy processes), and
 * are no faster on a machine to themselves. */
#define _DEFAULT_SOURCE /* syscall */
#include "base/team.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* A wait that ends within half a stage is worth spinning for: members are never
 * done at once, and to sleep and be woken takes 5 to 50 us.  A far longer one
 * means that somebody's core is busy with other things, and that this one's may
 * be wanted. */
enum {
    LINE = 64,
    SPIN_NS = 20000,  /* the longest spin at a barrier is from here */
    MOST_NS = 500000, /* to here, as stages are long */
    IDLE_NS = 200000, /* and between two runs */
    LEAST_NS = 1000,  /* shorter spins than this are none */
    /* A member that does not spin tries again after so many waits, and twice as
     * many each time that it was in vain. */
    PROBE = 16,
    PROBE_MOST = 1024
};

/* Rung N times so far. */
struct bell {
    _Alignas(LINE) atomic_uint n;
    atomic_uint asleep;
};

struct member {
    struct bell go;
    pthread_t thread;
    struct team *team;
    int id;
    int spin; /* nanoseconds that it spins for now */
    int waits, probe;
};

struct team {
    int n, started;
    /* Of the run: */
    int taking; /* part in it */
    team_fn *fn;
    void *arg;
    int stages; /* barriers so far */
    bool quit;
    atomic_int most; /* nanoseconds of spinning, in the next run */
    _Alignas(LINE) atomic_int here; /* members that have arrived */
    struct bell met;
#if !defined(__linux__)
    pthread_mutex_t lock;
    pthread_cond_t cond;
#endif
    struct member m[];
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Sleep until B has rung more often than SEEN. */
static void doze(struct team *t, struct bell *b, unsigned seen)
{
    atomic_fetch_add(&b->asleep, 1);
#if defined(__linux__)
    (void)t;
    while (atomic_load(&b->n) == seen)
        syscall(SYS_futex, &b->n, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&b->n) == seen)
        pthread_cond_wait(&t->cond, &t->lock);
    pthread_mutex_unlock(&t->lock);
#endif
    atomic_fetch_sub(&b->asleep, 1);
}

/* A sleeper counts itself before it looks at N, and this looks for sleepers
 * after N has changed: one of the two sees the other. */
static void ring(struct team *t, struct bell *b)
{
    atomic_fetch_add(&b->n, 1);
    if (!atomic_load(&b->asleep))
        return;
#if defined(__linux__)
    (void)t;
    syscall(SYS_futex, &b->n, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#else
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->cond);
    pthread_mutex_unlock(&t->lock);
#endif
}

static bool rung(struct bell *b, unsigned seen)
{
    return atomic_load_explicit(&b->n, memory_order_acquire) != seen;
}

/* Spin for NS; has B rung? */
static bool spun(struct bell *b, unsigned seen, int64_t from, int ns)
{
    do {
        for (int i = 0; i < 8; i++) {
            if (rung(b, seen))
                return true;
            relax();
        }
    } while (now_ns() - from < ns);
    return false;
}

/* How long to spin now. */
static int patience(struct member *m, int most, bool idle)
{
    if (idle)
        return m->spin ? IDLE_NS : 0;
    if (m->spin || ++m->waits < m->probe)
        return m->spin;
    m->waits = 0;
    if (m->probe < PROBE_MOST)
        m->probe *= 2;
    return most;
}

static void await(struct member *m, struct bell *b, unsigned seen, bool idle)
{
    int most = atomic_load_explicit(&m->team->most, memory_order_relaxed), ns;
    int64_t from;

    if (rung(b, seen))
        return;
    from = now_ns();
    ns = patience(m, most, idle);
    if (ns && spun(b, seen, from, ns)) {
        if (idle)
            return;
        m->probe = PROBE;
        m->spin = m->spin < LEAST_NS   ? LEAST_NS
                  : m->spin < most / 2 ? m->spin * 2
                                       : most;
        return;
    }
    doze(m->team, b, seen);
    if (!idle && (now_ns() - from) * 2 > most * INT64_C(5))
        m->spin = m->spin / 2 < LEAST_NS ? 0 : m->spin / 2;
}

void team_barrier(struct team *t, int id)
{
    unsigned seen = atomic_load_explicit(&t->met.n, memory_order_relaxed);
    int n = t->taking; /* once counted, the next run may begin */

    if (n == 1)
        return;
    if (id == 0)
        t->stages++;
    if (atomic_fetch_add(&t->here, 1) + 1 < n) {
        await(&t->m[id], &t->met, seen, false);
        return;
    }
    atomic_store_explicit(&t->here, 0, memory_order_relaxed);
    ring(t, &t->met);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;

    for (unsigned runs = 0;; runs++) {
        await(m, &m->go, runs, true);
        if (t->quit)
            return NULL;
        t->fn(t->arg, m->id);
        team_barrier(t, m->id);
    }
}

struct team *team_new(int n, struct err *e)
{
    struct team *t;

    assert(n >= 1 && n <= TEAM_MAX);
    t = aligned_alloc(LINE, sizeof *t + (size_t)n * sizeof *t->m);
    if (!t) {
        err_nomem(e);
        return NULL;
    }
    memset(t, 0, sizeof *t);
#if !defined(__linux__)
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->cond, NULL);
#endif
    t->n = n;
    atomic_store_explicit(&t->most, SPIN_NS, memory_order_relaxed);
    for (int i = 0; i < n; i++)
        t->m[i] = (struct member){
            .team = t, .id = i, .spin = SPIN_NS, .probe = PROBE};
    for (t->started = 1; t->started < n; t->started++) {
        struct member *m = &t->m[t->started];
        int rc = pthread_create(&m->thread, NULL, member_main, m);

        if (rc) {
            err_set(e, ERR_IO, "cannot start a thread: %s", strerror(rc));
            team_free(t);
            return NULL;
        }
    }
    return t;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    t->quit = true;
    for (int i = 1; i < t->started; i++)
        ring(t, &t->m[i].go);
    for (int i = 1; i < t->started; i++)
        pthread_join(t->m[i].thread, NULL);
#if !defined(__linux__)
    pthread_cond_destroy(&t->cond);
    pthread_mutex_destroy(&t->lock);
#endif
    free(t);
}

int team_size(const struct team *t)
{
    return t->n;
}

void team_run(struct team *t, int n, team_fn *fn, void *arg)
{
    int64_t from = n > 1 ? now_ns() : 0, half;

    assert(n >= 1 && n <= t->n);
    t->taking = n;
    t->fn = fn;
    t->arg = arg;
    t->stages = 0;
    for (int i = 1; i < n; i++)
        ring(t, &t->m[i].go);
    fn(arg, 0);
    team_barrier(t, 0);
    if (n == 1)
        return;
    half = (now_ns() - from) / t->stages / 2;
    if (half < SPIN_NS)
        half = SPIN_NS;
    if (half > MOST_NS)
        half = MOST_NS;
    atomic_store_explicit(&t->most, (int)half, memory_order_relaxed);
}
