/* SPDX-License-Identifier: MIT
 * state_impl.h - what reading and writing a state share. */
#ifndef LLM_KV_STATE_IMPL_H
#define LLM_KV_STATE_IMPL_H

#include <xxhash.h>

#include "kv/state.h"

/* Digits of the end's sum, the longer one, with their NUL. */
enum { KV_SUM_ALL = 33 };

/* Which page is next, and what the records so far add up to. */
struct kv_state_pos {
    int layer, page;
    uint64_t records;
    XXH3_state_t *one, *all;
};

int kv_state_begin(struct kv_state_pos *at, struct err *e);
void kv_state_fini(struct kv_state_pos *at);
/* Layer and page of the first record of X, and of the one after AT's: false
 * when there is none. */
bool kv_state_first(struct kv_state_pos *at, const struct kv_state *x);
bool kv_state_next(struct kv_state_pos *at, const struct kv_state *x);

/* Positions of page PAGE, and bytes of K and of V, of a layer. */
int kv_state_count(const struct kv_state *x, int page);
void kv_state_bytes(size_t *nk, size_t *nv, const struct kv_state *x, int layer,
                    int page);

/* The sum of the record R, which then counts for the end's.  Of an end record,
 * that of the state. */
void kv_state_sum(char hex[KV_SUM_ALL], struct kv_state_pos *at,
                  const struct wire_kv *r);

#endif
