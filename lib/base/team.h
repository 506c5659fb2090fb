/* SPDX-License-Identifier: MIT
 * team.h - threads that run one function side by side and meet at barriers.
 *
 * Where pool.h shares out jobs that know nothing of each other, a team's
 * members are all in the same function at once, each with its number.  A
 * member that waits spins for some microseconds and then sleeps; where spinning
 * proves useless, because there are more busy threads than cores, it sleeps at
 * once. */
#ifndef LLM_BASE_TEAM_H
#define LLM_BASE_TEAM_H

#include "base/err.h"

struct team;

/* A team of N, the caller of team_run() being member 0; N is 1 to TEAM_MAX. */
enum { TEAM_MAX = 1024 };
struct team *team_new(int n, struct err *e);
void team_free(struct team *t);
int team_size(const struct team *t);

/* Call fn(arg, id) as members 0 to N-1; return when all have returned.  What
 * was written before is seen by all, and what they wrote by the caller.  The
 * others sleep on.  One run at a time. */
typedef void team_fn(void *arg, int id);
void team_run(struct team *t, int n, team_fn *fn, void *arg);

/* Inside a run: wait until all that take part are here. */
void team_barrier(struct team *t, int id);

#endif
