/* SPDX-License-Identifier: MIT
 * state.h - a state as the records that carry it, without a cache around it.
 *
 * A head says what follows: of every layer that keeps something, page after
 * page, within a page layer after layer, those from the layer's FROM on.  So
 * at each point one record alone may come next, and a reader needs no more
 * memory than that of one.
 *
 * Rows are canonical: [n][heads][d], floats, halves, or GGUF's q8_0 and q4_0
 * blocks, whatever a device keeps.
 */
#ifndef LLM_KV_STATE_H
#define LLM_KV_STATE_H

#include "backend/backend.h" /* BE_PAGE, enum kern_kv */
#include "base/err.h"
#include "wire/wire.h"

enum {
    KV_VERSION = 1,
    KV_MAX_LAYERS = 4096,
    KV_MAX_DIM = 1 << 20,       /* heads, and head sizes */
    KV_MAX_TOKENS = 1 << 28,    /* ids that a record may hold */
    KV_MAX_PAGE_BYTES = 1 << 26 /* K and V of a layer's page */
};

struct kv_state_layer {
    int heads, dk, dv; /* heads 0: keeps nothing, and all is 0 */
    int window;        /* positions that a token sees; 0: all */
    int from;          /* the first position kept, a page's first */
};

/* What a head says.  As a reader gives it, a view. */
struct kv_state {
    const char *model, *rope;
    enum kern_kv ktype, vtype;
    const struct kv_state_layer *layer;
    int nlayer;
    const int32_t *ids;
    int n;
    const char *adapters; /* as kv_adapt has them; NULL or "": none */
};

/* One layer's page: N positions from POS on. */
struct kv_page {
    int layer, page, pos, n;
    const void *k, *v;
    size_t nk, nv;
    bool zstd;     /* compressed in the stream */
    size_t stored; /* bytes there */
};

/* "f16", and back: -1 for no type. */
const char *kv_type_name(enum kern_kv t);
int kv_type_find(const char *name, size_t n);
/* Bytes of one position of HEADS heads of D elements; 0 when the type cannot
 * keep D. */
size_t kv_row_bytes(enum kern_kv t, int heads, int d);

/* The first position that token N - 1 sees through a window; what the token
 * after N sees is that of N + 1, and a state must have it. */
static inline int kv_state_low(int window, int n)
{
    return window && n > window ? n - window : 0;
}

/* What is left of X when only the first N tokens are kept: changes LAYER, which
 * X->layer must be.  ERR_USAGE when it has no N tokens, ERR_UNSUPPORTED when a
 * window has let go what they need. */
int kv_state_cut(struct kv_state *x, struct kv_state_layer *layer, int n,
                 struct err *e);

/* ---- reading ---- */

struct kv_reader;

enum kv_got { KV_GOT_HEAD = 1, KV_GOT_PAGE, KV_GOT_END };

struct kv_reader *kv_reader_new(struct err *e);
void kv_reader_free(struct kv_reader *r);
/* Take the next "kv" record of the sequence: what it was, *P filled in for a
 * page, whose views live as long as REC's; or -1: ERR_FORMAT, naming record,
 * layer and page and the rule; ERR_UNSUPPORTED for another version or page
 * size.  After that, and after the end, no more is taken. */
int kv_reader_add(struct kv_reader *r, struct kv_page *p,
                  const struct wire_rec *rec, struct err *e);
/* The head that was read; NULL before. */
const struct kv_state *kv_reader_state(const struct kv_reader *r);
/* ERR_FORMAT unless the end was read: at the end of the input. */
int kv_reader_whole(const struct kv_reader *r, struct err *e);

/* ---- writing ---- */

struct kv_writer;

/* Write the head of X, which must stay as it is, as sequence SEQ of W.
 * ERR_UNSUPPORTED when a page of it is too large for a record. */
int kv_writer_new(struct kv_writer **out, struct wire_out *w, uint64_t seq,
                  const struct kv_state *x, struct err *e);
void kv_writer_free(struct kv_writer *k);
/* The next page: *layer and *page, 1; 0 when all were written. */
int kv_writer_next(const struct kv_writer *k, int *layer, int *page);
/* Write it: K and V of P alone are looked at, and whether to compress. */
int kv_writer_page(struct kv_writer *k, const struct kv_page *p, struct err *e);
int kv_writer_end(struct kv_writer *k, struct err *e);

#endif
