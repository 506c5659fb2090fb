/* SPDX-License-Identifier: MIT
 * pool.h - threads that wait for work and share it out by index. */
#ifndef LLM_BASE_POOL_H
#define LLM_BASE_POOL_H

#include "base/err.h"

struct pool;

/* A pool of N workers, the caller of pool_run() being one of them; N is 1 to
 * POOL_MAX.  Waiting workers sleep. */
enum { POOL_MAX = 1024 };
struct pool *pool_new(int n, struct err *e);
void pool_free(struct pool *p);
int pool_size(const struct pool *p);

/* Call fn(arg, job, worker) for every job in 0..NJOB-1, each once, on any
 * worker (0..n-1); return when all have returned.  One run at a time. */
typedef void pool_fn(void *arg, int job, int worker);
void pool_run(struct pool *p, pool_fn *fn, void *arg, int njob);

#endif
