/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    struct pool *pool;
    int id;
    pthread_t thread;
};

/* A run is: set fn, arg, njob, next = 0, running = n, raise the generation.
 * Every worker takes jobs until none is left, then lowers RUNNING; the caller
 * returns when it reaches 0, so no worker still looks at the run's fields. */
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    unsigned generation; /* under LOCK, as are the next two */
    int running;
    int quit;
    pool_fn *fn;
    void *arg;
    int njob;
    atomic_int next;
    int n;
    struct worker w[];
};

static void work(struct pool *p, int id)
{
    int job;

    while ((job = atomic_fetch_add(&p->next, 1)) < p->njob)
        p->fn(p->arg, job, id);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;
    unsigned seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->generation == seen && !p->quit)
            pthread_cond_wait(&p->start, &p->lock);
        if (p->quit)
            break;
        seen = p->generation;
        pthread_mutex_unlock(&p->lock);
        work(p, w->id);
        pthread_mutex_lock(&p->lock);
        if (--p->running == 0)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_new(int n, struct err *e)
{
    struct pool *p;

    assert(n >= 1 && n <= POOL_MAX);
    p = calloc(1, sizeof *p + (size_t)n * sizeof p->w[0]);
    if (!p) {
        err_nomem(e);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    for (p->n = 1; p->n < n; p->n++) {
        struct worker *w = &p->w[p->n];
        int rc;

        w->pool = p;
        w->id = p->n;
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc) {
            err_set(e, ERR_IO, "cannot start a thread: %s", strerror(rc));
            pool_free(p);
            return NULL;
        }
    }
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i < p->n; i++)
        pthread_join(p->w[i].thread, NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int pool_size(const struct pool *p)
{
    return p->n;
}

void pool_run(struct pool *p, pool_fn *fn, void *arg, int njob)
{
    if (p->n == 1 || njob <= 1) {
        for (int i = 0; i < njob; i++)
            fn(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->arg = arg;
    p->njob = njob;
    atomic_store(&p->next, 0);
    p->running = p->n - 1;
    p->generation++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    work(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->running)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
