/* SPDX-License-Identifier: MIT
 * kv_impl.h - what the files of lib/kv share. */
#ifndef LLM_KV_KV_IMPL_H
#define LLM_KV_KV_IMPL_H

#include <xxhash.h>

#include "kv/kv.h"
#include "kv/state.h"

/* ---- pages.c: the pages of one group ---- */

struct kv_slot {
    int ref;          /* sequences that have it in their tables */
    int next;         /* in its bucket, or among the free; -1 ends */
    int older, newer; /* among the kept; -1 ends */
    bool named;       /* found by NAME */
    XXH128_hash_t name;
};

/* A page is held (REF > 0), kept (named, by nobody held), free, or was never
 * used. */
struct kv_pool {
    int window; /* 0: all positions */
    int npage;
    uint64_t bytes; /* of a page */
    struct kv_slot *slot;
    int *bucket;
    int mask;           /* buckets - 1 */
    int free, fresh;    /* the first free one; all from FRESH on are unused */
    int oldest, newest; /* kept */
    int held;
};

int kv_pool_init(struct kv_pool *p, int npage);
void kv_pool_fini(struct kv_pool *p);
/* A page, held once; there must be one that is not held. */
int kv_pool_take(struct kv_pool *p);
void kv_pool_hold(struct kv_pool *p, int id);
void kv_pool_drop(struct kv_pool *p, int id);
/* The page of that name, or -1. */
int kv_pool_find(const struct kv_pool *p, XXH128_hash_t name);
/* No other page may have it. */
void kv_pool_name(struct kv_pool *p, int id, XXH128_hash_t name);
void kv_pool_unname(struct kv_pool *p, int id);

/* ---- cache.c ---- */

struct kv {
    struct be *be;
    int nlayer;
    struct kv_layer *layer;
    int *group; /* of a layer; -1: none */
    enum kern_kv ktype, vtype;
    int npage; /* of the longest sequence */
    int max_batch, context;
    char *model_id, *rope;
    struct kv_adapt adapt; /* TEXT and SCALE are its own */
    int npool;
    struct kv_pool pool[BE_MAX_GROUPS];
};

/* Of each group a sequence has the pages FIRST..LAST-1 of its positions. */
struct kv_seq {
    struct kv *kv;
    int n, room; /* tokens; positions that may be written */
    int cap;     /* of TOK, in pages, and of NAME */
    int32_t *tok;
    XXH128_hash_t *name;       /* of each full page: it and all before */
    int *table[BE_MAX_GROUPS]; /* [kv->npage] */
    int first[BE_MAX_GROUPS], last[BE_MAX_GROUPS];
    bool alone; /* its pages are not to be found, nor others found for it */
    struct kv_adapt adapt; /* TEXT and SCALE are its own */
    XXH128_hash_t salt;    /* of TEXT: what its first page's name follows */
    bool foreign; /* it was loaded with a TEXT whose SCALE is unknown */
};

/* Take the words of A, and its scales; 0 or ERR_NOMEM. */
int kv_adapt_copy(struct kv_adapt *to, const struct kv_adapt *a, struct err *e);
void kv_adapt_fini(struct kv_adapt *a);
static inline const char *kv_adapt_text(const struct kv_adapt *a)
{
    return a->text ? a->text : "";
}
/* What the name of a first page follows, of a sequence with TEXT: NULL for
 * none, or SALT, filled in. */
const XXH128_hash_t *kv_salt(XXH128_hash_t *salt, const char *text);
/* S is what was read with TEXT, by whom it may be. */
int kv_seq_loaded(struct kv_seq *s, const char *text, struct err *e);

/* The name of a page of tokens T after one called BEFORE (NULL: none). */
XXH128_hash_t kv_page_name(const XXH128_hash_t *before, const int32_t *t);
/* The first page that group G must have of N tokens. */
int kv_low_page(const struct kv *kv, int g, int n);

/* The empty sequence S becomes the N tokens T with pages of its own under each
 * position, in group G from page FROM[G] on.  0 or ERR_NOMEM. */
int kv_seq_fill(struct kv_seq *s, const int32_t *t, int n, const int *from,
                struct err *e);

#endif
