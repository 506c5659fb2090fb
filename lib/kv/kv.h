/* SPDX-License-Identifier: MIT
 * kv.h - what the model remembers: sequences of tokens over pages of K and V.
 *
 * All sequences of a model share one pool of pages.  A full page whose tokens,
 * and all tokens before them, are those of another sequence is the same page,
 * counted; one that is written while others hold it is copied first.  Layers
 * with a sliding window give back the pages that no later token can see.
 *
 * A sequence is its tokens: kv_seq_n() of them have K and V.  Pages of
 * sequences that are gone are still found by their tokens, until their room is
 * needed, the least recently used first.
 */
#ifndef LLM_KV_KV_H
#define LLM_KV_KV_H

#include "backend/backend.h"
#include "base/err.h"
#include "wire/wire.h"

struct kv;
struct kv_seq;

struct kv_layer {
    int heads, dk, dv; /* heads 0: keeps nothing */
    int window;        /* positions seen; 0: all */
};

/* What a sequence is read with besides the model: its adapters, in words, and
 * what of each of the model's adapters it wants.  Sequences whose words differ
 * have no pages and no states in common. */
struct kv_adapt {
    const char *text;   /* NULL or "": none */
    const float *scale; /* [n], for be_step; NULL: 0 of all */
    int n;
};

struct kv_config {
    int nlayer;
    const struct kv_layer *layer;
    enum kern_kv ktype, vtype;
    int64_t positions; /* room, over all sequences; rounded up to pages */
    int max_batch;     /* most tokens that kv_seq_reserve() is asked for at
                          once: windows keep that much more */
    int nseq;          /* sequences that may live at once, for the windows */
    int context;       /* most tokens of a state that is read; 0: any */
    /* What states must agree in, besides layers and types: the model's id and
     * its rope parameters in words; views, copied. */
    const char *model_id;
    const char *rope;
    struct kv_adapt adapt; /* of new sequences; copied */
};

/* Plan pages and have BE keep them.  ERR_UNSUPPORTED (a type cannot keep a
 * head size; more than BE_MAX_GROUPS windows) or ERR_NOMEM. */
int kv_new(struct kv **out, struct be *be, const struct kv_config *c,
           struct err *e);
void kv_free(struct kv *kv);

struct kv_stats {
    int64_t pages, used; /* of the largest group */
    uint64_t bytes_page; /* all groups */
    uint64_t bytes_used;
};
void kv_stats(struct kv_stats *s, const struct kv *kv);

/* A new, empty sequence; NULL when memory ran out. */
struct kv_seq *kv_seq_new(struct kv *kv);
void kv_seq_free(struct kv_seq *s);
/* Another sequence with the same tokens and pages; NULL when memory ran out. */
struct kv_seq *kv_seq_fork(const struct kv_seq *s);

/* An empty sequence with the same adapters; NULL when memory ran out. */
struct kv_seq *kv_seq_like(const struct kv_seq *s);
/* S is to be read with A, or NULL: with those of all new sequences.  -1: when
 * it has tokens, read with others: ERR_FORMAT. */
int kv_seq_adapt(struct kv_seq *s, const struct kv_adapt *a, struct err *e);
/* [n] of kv_adapt; NULL: 0 of all. */
const float *kv_seq_scale(const struct kv_seq *s);

int kv_seq_n(const struct kv_seq *s);
const int32_t *kv_seq_tokens(const struct kv_seq *s);

/* Begin the empty sequence S with as many of the tokens T[N] as there are pages
 * for, of whatever sequence, live or kept: their count, a multiple of
 * BE_PAGE and less than N, so that a last token is left to run. */
int kv_seq_match(struct kv_seq *s, const int32_t *t, int n);

/* Make room for N more tokens: pages of its own under each of their positions.
 * 0; -1 ERR_NOMEM "the KV cache is full" when the pool has none left, S being
 * as it was; ERR_FORMAT: it was loaded, and has adapters that nobody named. */
int kv_seq_reserve(struct kv_seq *s, int n, struct err *e);
/* The N tokens that ran are part of S now. */
void kv_seq_commit(struct kv_seq *s, const int32_t *t, int n);
/* Keep the first N tokens, and no room beyond them.  -1 when windows have let
 * go what the next token sees: S is then as it was.  What the last
 * kv_seq_commit() added can always be cut off. */
int kv_seq_cut(struct kv_seq *s, int n);

/* The page table of group G for a step: kv_npage(g) entries for S.  It may
 * change with every call but this. */
const int32_t *kv_seq_pages(const struct kv_seq *s, int group);
int kv_npage(const struct kv *kv, int group);
int kv_ngroup(const struct kv *kv);

/* ---- states: the "kv" records of llm-stream(5) ---- */

enum { KV_ZSTD = 1 };

/* Write the state of S, as sequence SEQ of the stream: a head record (what it
 * is of, its tokens), then one for each layer and page, then an end record with
 * a sum over all, without which a state is not whole. */
int kv_save(struct wire_out *w, uint64_t seq, const struct kv_seq *s,
            unsigned flags, struct err *e);

/* Read states record by record: give every "kv" record of a sequence, in order,
 * to kv_load_add().  1 when the state is whole; S then has its tokens, and
 * before that nothing.  ERR_FORMAT: another model, type or shape, a sum that is
 * wrong, records that are missing; ERR_CONTEXT: too many tokens.
 * kv_load_free() at any time. */
struct kv_load;
struct kv_load *kv_load_new(struct kv *kv, struct err *e);
int kv_load_add(struct kv_load *l, const struct wire_rec *r, struct err *e);
/* The sequence, which is the caller's now; NULL before it is whole. */
struct kv_seq *kv_load_take(struct kv_load *l);
/* At the end of the input: ERR_FORMAT saying what is missing, unless the state
 * is whole. */
int kv_load_whole(const struct kv_load *l, struct err *e);
void kv_load_free(struct kv_load *l);

/* A sequence that was loaded has its pages to itself, and those that follow on
 * them, since nothing proves that they are what this model makes of the tokens
 * (kv-dump converts types).  A caller that knows may have others find them. */
void kv_seq_share(struct kv_seq *s);

#endif
