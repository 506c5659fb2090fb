/* SPDX-License-Identifier: MIT
 * team.c - one barrier: members count themselves in, the last one begins the
 * next epoch.  The epoch is what the others watch, and sleep on. */
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
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
    LINE = 64,
    SPIN_NS = 20000, /* longest spin at a barrier */
    IDLE_NS = 50000, /* and between two runs */
    LONG_NS = 50000, /* a wait this long was not worth spinning for */
    LEAST_NS = 1000, /* shorter spins than this are none */
    PROBE = 16       /* a member that does not spin tries again so often */
};

struct member {
    pthread_t thread;
    struct team *team;
    int id;
    int spin; /* nanoseconds that it spins for now */
    unsigned waits;
    char pad[LINE];
};

struct team {
    int n, started;
    team_fn *fn;
    void *arg;
    bool quit;
    char pad0[LINE];
    atomic_uint here; /* members that have arrived */
    char pad1[LINE];
    atomic_uint epoch;
    char pad2[LINE];
    atomic_uint asleep;
    char pad3[LINE];
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

/* Sleep while the epoch is SEEN. */
static void doze(struct team *t, unsigned seen)
{
    atomic_fetch_add(&t->asleep, 1);
#if defined(__linux__)
    while (atomic_load(&t->epoch) == seen)
        syscall(SYS_futex, &t->epoch, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&t->epoch) == seen)
        pthread_cond_wait(&t->cond, &t->lock);
    pthread_mutex_unlock(&t->lock);
#endif
    atomic_fetch_sub(&t->asleep, 1);
}

/* A sleeper counts itself before it looks at the epoch, and this looks for
 * sleepers after the epoch: one of the two sees the other. */
static void rouse(struct team *t)
{
    if (!atomic_load(&t->asleep))
        return;
#if defined(__linux__)
    syscall(SYS_futex, &t->epoch, FUTEX_WAKE_PRIVATE, TEAM_MAX, NULL, NULL, 0);
#else
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->cond);
    pthread_mutex_unlock(&t->lock);
#endif
}

/* Spin for NS; has the epoch changed? */
static bool spun(struct team *t, unsigned seen, int64_t from, int ns)
{
    do {
        for (int i = 0; i < 8; i++) {
            if (atomic_load_explicit(&t->epoch, memory_order_acquire) != seen)
                return true;
            relax();
        }
    } while (now_ns() - from < ns);
    return false;
}

static void await(struct team *t, struct member *m, unsigned seen, bool idle)
{
    int64_t from;
    int ns = m->spin;

    if (atomic_load_explicit(&t->epoch, memory_order_acquire) != seen)
        return;
    from = now_ns();
    if (idle)
        ns = ns ? IDLE_NS : 0;
    else if (!ns && ++m->waits % PROBE == 0)
        ns = SPIN_NS;
    if (ns && spun(t, seen, from, ns)) {
        if (!idle)
            m->spin = m->spin < LEAST_NS      ? LEAST_NS
                      : m->spin < SPIN_NS / 2 ? m->spin * 2
                                              : SPIN_NS;
        return;
    }
    doze(t, seen);
    if (!idle && now_ns() - from > LONG_NS)
        m->spin = m->spin / 2 < LEAST_NS ? 0 : m->spin / 2;
}

static void meet(struct team *t, struct member *m, bool idle)
{
    unsigned seen = atomic_load_explicit(&t->epoch, memory_order_relaxed);

    if (atomic_fetch_add(&t->here, 1) + 1 < (unsigned)t->n) {
        await(t, m, seen, idle);
        return;
    }
    atomic_store_explicit(&t->here, 0, memory_order_relaxed);
    atomic_store(&t->epoch, seen + 1);
    rouse(t);
}

void team_barrier(struct team *t, int id)
{
    if (t->n > 1)
        meet(t, &t->m[id], false);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;

    for (;;) {
        meet(t, m, true);
        if (t->quit)
            return NULL;
        t->fn(t->arg, m->id);
        meet(t, m, false);
    }
}

struct team *team_new(int n, struct err *e)
{
    size_t size = sizeof(struct team) + (size_t)n * sizeof(struct member);
    struct team *t;

    assert(n >= 1 && n <= TEAM_MAX);
    t = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (!t) {
        err_nomem(e);
        return NULL;
    }
    memset(t, 0, size);
#if !defined(__linux__)
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->cond, NULL);
#endif
    t->n = n;
    for (int i = 0; i < n; i++)
        t->m[i] = (struct member){.team = t, .id = i, .spin = SPIN_NS};
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
    /* Stands in for itself and for those that never started. */
    for (int i = t->started; i < t->n; i++)
        atomic_fetch_add(&t->here, 1);
    if (t->n > 1)
        meet(t, &t->m[0], true);
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

void team_run(struct team *t, team_fn *fn, void *arg)
{
    if (t->n == 1) {
        fn(arg, 0);
        return;
    }
    t->fn = fn;
    t->arg = arg;
    meet(t, &t->m[0], true);
    fn(arg, 0);
    meet(t, &t->m[0], false);
}
