/* SPDX-License-Identifier: MIT
 * tokens.h - a model that is loaded, and what its sequences have read. */
#ifndef LLM_CMD_BENCH_TOKENS_H
#define LLM_CMD_BENCH_TOKENS_H

#include "cmd/bench/bench.h"
#include "run/run.h"

struct bench_ready {
    struct bench *b;
    struct load load;
    const struct bench_lists *lists;
    const struct bench_test *t;
    struct kv_seq **base; /* [nbase]: contexts of T's depth */
    int nbase, depth;
    struct run *run;
};

/* Add a request for N tokens, the most probable ones; -1: no limit.  STATE is
 * the run's from now on. */
int bench_add(struct run *r, uint64_t seq, const int32_t *ids, int nids,
              struct kv_seq *state, int64_t n, struct err *e);

/* ---- guesses.c ---- */

/* Tokens that its sequences take at most. */
int bench_spec_context(const struct bench_lists *l);
/* All drafters, one after the other. */
int bench_spec(struct bench_ready *r, struct bench_test *t, struct err *e);

#endif
