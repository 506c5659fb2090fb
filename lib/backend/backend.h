/* SPDX-License-Identifier: MIT
 * backend.h - where arithmetic runs: the one header that a device implements.
 *
 * A device is opened once (struct be), weights are handed to it, and the model
 * becomes a plan: a short list of fused operations over a few activation slots.
 * The device compiles the plan once; after that a step carries only what
 * changes.  A chunk of prompt, a batch of sequences and tokens to verify are
 * all "columns": one token each, with its position and its sequence.
 *
 *     be_open(&be, "cpu", &opts, &e);
 *     w = be_weight(be, &tensor, BE_MATRIX, &e);       ... for every tensor
 *     be_plan_new(&plan, be, &desc, &e);
 *     be_kv_init(be, &spec, &e);
 *     be_run(be, plan, &step, &e);                      ... again and again
 *
 * A backend never sees an architecture, and an architecture never a device.
 * All values of slots are floats, column after column: [ncol][width].
 * The CPU gives the same bits for each column whatever other columns there
 * are, on any number of threads and every instruction set.
 */
#ifndef LLM_BACKEND_BACKEND_H
#define LLM_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernels/kern.h" /* enum kern_kv, enum kern_unary */

struct be;      /* an open device */
struct be_plan; /* a plan compiled for it */

struct be_opts {
    int threads;       /* 0: cpu_cores() */
    int threads_batch; /* of steps of many columns; 0: as above */
    unsigned cpu_mask; /* CPU_ bits that may be used: ~0u for all */
    bool pack;         /* keep weights in the kernels' own layout */
    /* Keep the packed copy in a file under this folder, which other processes
     * map too; NULL: in private memory.  What makes a cache file unusable is
     * never an error. */
    const char *share_dir;
    char model_id[33];      /* gguf_model_id(), for SHARE_DIR */
    const char *model_path; /* likewise; views for be_open() alone */
};

/* SPEC: "cpu".  ERR_UNSUPPORTED for a device that this build does not know. */
int be_open(struct be **out, const char *spec, const struct be_opts *o,
            struct err *e);
void be_close(struct be *b);

/* ---- weights ---- */

/* A tensor as the model file has it; DATA stays mapped while the device is
 * open.  A matrix is W[n_out][n_in], row-major; N_MAT of them follow each other
 * (experts), else 1. */
struct be_tensor {
    const char *name; /* for messages; copied */
    uint32_t type;    /* ggml type id */
    int64_t n_in, n_out, n_mat;
    const void *data;
    uint64_t bytes;
    bool nocache; /* DATA is not of the model file: made up by the caller, who
                     keeps it */
};

enum be_use {
    BE_MATRIX, /* products: MUL, GLU, EXPERTS, ROUTE, LOGITS */
    BE_ROWS,   /* rows are looked up: EMBED */
    BE_VECTOR, /* n_in floats (n_out rows of them): norms, biases */
};

typedef uint32_t be_w; /* a weight of the device; 0: none */

/* Take a tensor.  0 with ERR_UNSUPPORTED when the type cannot be used so, or
 * ERR_FORMAT when its size is not that of its shape. */
be_w be_weight(struct be *b, const struct be_tensor *t, enum be_use use,
               struct err *e);

/* ---- K and V ----
 *
 * Layers that keep the same positions form a group (all positions, or a
 * window of W); each group has a pool of pages of BE_PAGE positions, and a page
 * holds them for all layers of its group.  Page ids are the caller's: 0 to
 * npages - 1.  Memory is only used once a page is written. */
enum { BE_PAGE = 64, BE_MAX_GROUPS = 4 };

struct be_kv_layer {
    int group; /* -1: the layer keeps nothing */
    int heads; /* of K and V */
    int dk, dv;
};

struct be_kv_spec {
    int nlayer;
    const struct be_kv_layer *layer; /* [nlayer] */
    enum kern_kv ktype, vtype;
    int ngroup;
    int npages[BE_MAX_GROUPS];
};

/* Once, before the first be_run().  ERR_UNSUPPORTED: a type cannot keep a head
 * size; ERR_NOMEM. */
int be_kv_init(struct be *b, const struct be_kv_spec *s, struct err *e);
/* Copy page SRC of a group to DST: all layers. */
void be_kv_copy(struct be *b, int group, int src, int dst);

/* Rows of K (which = 0) or V (1) of one layer, in and out of positions
 * POS..POS+N-1 within a page, as [n][heads][d] in the stored type: floats,
 * halves, or GGUF's q8_0 and q4_0 blocks, whatever the device keeps.
 * be_kv_row() is the size of one position. */
size_t be_kv_row(const struct be *b, int layer, int which);
void be_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
               void *dst);
void be_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
               const void *src);

/* ---- plans ---- */

enum be_slot {
    BE_X,    /* the residual stream */
    BE_N,    /* normed, input of products */
    BE_Q,    /* [heads][dk] */
    BE_K,    /* [kv_heads][dk] */
    BE_V,    /* [kv_heads][dv] */
    BE_ATT,  /* [heads][dv] */
    BE_MID,  /* of the feed-forward network */
    BE_TMP,  /* as wide as X */
    BE_UP,   /* as wide as MID: the other factor of a GLU that stands APART */
    BE_LOW,  /* of adapters: what their first products give */
    BE_NSLOT /* LOGITS go to the step's result, ROUTE's choice is private */
};

enum be_opcode {
    BE_EMBED,      /* out = row tok of w, * scale; or the row of the position,
                      or of the step's TYPE */
    BE_NORM,       /* out = norm(in) * w (+ bias) */
    BE_NORM_HEADS, /* out in place, each of HEADS heads by itself, * w
                      [head_dim] */
    BE_ROPE,       /* out in place: HEADS heads, rope table ROPE */
    BE_SCALE_POS,  /* out *= 1 + scale * ln(1 + floor(pos / period)) */
    BE_STORE,      /* K and V of the layer into the pages */
    BE_ATTEND,     /* ATT = softmax(scale * Q K^T) V over what a column sees */
    BE_MUL,        /* out = act(w in + bias) * scale */
    BE_GLU,        /* out = act(w in + bias) * (w2 in + bias2) */
    BE_ROUTE,      /* experts of each column: the greatest of w in */
    BE_EXPERTS, /* out += sum over the column's experts, by index, of weight *
                   w3 (act(w in) * (w2 in)) */
    BE_GATE,    /* out *= sigmoid(w in): one number a column */
    BE_ADD,     /* out += in * scale */
    BE_DELTA,  /* out += w (s * scale * in[at..]), S being the column's scale of
                  the adapter; columns of which it is 0 stay as they are */
    BE_ACT,    /* out = act(out) * scale, * in unless that is OUT, softcap */
    BE_LOGITS, /* w in (+ bias), * scale, softcap: of the columns wanted;
                  without w: IN itself, which is N_VOCAB wide */
};

enum {
    BE_ACCUMULATE = 1,    /* NORM, MUL: out += */
    BE_LAYERNORM = 2,     /* NORM: mean and variance; else RMS */
    BE_PAIRS = 4,         /* ROPE: elements 2i and 2i + 1, else i and i + n/2 */
    BE_ROUTE_SIGMOID = 8, /* scores are sigmoids, else a softmax over all */
    BE_ROUTE_NORM = 16,   /* the weights chosen add up to 1 */
    BE_BY_POSITION = 32,  /* EMBED: the row of the position; */
    BE_BY_TYPE = 64,      /* or of the type; out += with ACCUMULATE */
    BE_BOTH = 128,        /* ATTEND: a column sees all of its sequence in this
                             step, or, with a window, WINDOW / 2 to each side */
    BE_APART = 256,       /* GLU: out = w in + bias, UP = w2 in + bias2 */
    BE_TO_LOGITS = 512,   /* DELTA, ACT: OUT is what LOGITS gave */
};

/* A table of rotations: angle of pair i at position p is p * freq[i], cos and
 * sin are multiplied by MSCALE. */
struct be_rope {
    int npair;
    const double *freq; /* [npair] */
    float mscale;
};

struct be_op {
    enum be_opcode op;
    enum be_slot in, out;
    unsigned flags;
    int layer;                   /* STORE, ATTEND */
    be_w w, w2, w3, bias, bias2; /* 0: none */
    int act;                     /* enum kern_unary, or BE_NOACT */
    int heads, head_dim;         /* of OUT: NORM_HEADS, ROPE; of Q: ATTEND */
    int n;                       /* ACT: floats of OUT */
    int rope;                    /* index of a table */
    int window;                  /* ATTEND: a column at p sees p - window + 1
                                    to p; 0: all up to p */
    int experts, used;           /* ROUTE, EXPERTS */
    int period;                  /* SCALE_POS */
    int adapter;                 /* MUL, DELTA: of this one, from 1 on; a MUL
                                    is left out when no column wants it.  0: of
                                    none */
    int at;                      /* ADAPTER: where the columns of LOW begin that
                                    MUL writes and DELTA reads */
    float eps, softcap;          /* softcap 0: none (ATTEND, LOGITS) */
    float scale;                 /* must be set: 1 where there is none */
};
enum { BE_NOACT = -1 };

struct be_plan_desc {
    const struct be_op *op;
    int nop;
    int width[BE_NSLOT]; /* floats a column; 0: not used */
    const struct be_rope *rope;
    int nrope;
    int n_vocab; /* of LOGITS */
    int nadapter;
    /* Columns that see each other both ways: no step has more.  0: there are
     * none such, and steps have any size. */
    int block;
};

/* Check every width, weight and index, and compile.  DESC is not kept.
 * ERR_UNSUPPORTED: an operation, or a combination, that the device lacks;
 * ERR_FORMAT: shapes that do not fit each other, naming the weight. */
int be_plan_new(struct be_plan **out, struct be *b,
                const struct be_plan_desc *desc, struct err *e);
void be_plan_free(struct be_plan *p);

/* ---- steps ---- */

struct be_step {
    int ncol;
    const int32_t *tok, *pos; /* [ncol] */
    const int32_t *seq;       /* [ncol]: a row of PAGES */
    const int32_t *type;      /* [ncol]: of BE_BY_TYPE; NULL: all 0 */
    /* pages[g][seq * npage[g] + i] is the page of positions i * BE_PAGE and on
     * in group g; -1 where none is kept.  STORE writes, so the page of each
     * column's position must belong to its sequence alone. */
    const int32_t *pages[BE_MAX_GROUPS];
    int npage[BE_MAX_GROUPS];
    /* [ncol]: 1 for those whose logits are wanted; 2 where the greatest is, and
     * the others may be greater than they are: see be_exact(). */
    const uint8_t *want;
    /* scale[seq * nadapter + i] is what a sequence wants of adapter I, finite;
     * NULL: 0 for all. */
    const float *scale;
};

/* Columns of one sequence come in order of position, and see each other.
 * On success *LOGITS is [nwant][n_vocab], in column order, the device's until
 * the next call; NULL when none are wanted.  Any NCOL is good: the device cuts
 * it as it likes. */
int be_run(struct be *b, struct be_plan *p, const struct be_step *s,
           const float **logits, struct err *e);
/* The greatest of each BE_PEAK logits that the last be_run() gave, NaN where
 * one of them is NaN or plus infinity: [nwant][be_peaks_n(n_vocab)], as long as
 * they.  So who looks for the best of them need not read all.  Not of results
 * without a weight. */
enum { BE_PEAK = 16 };
const float *be_peaks(const struct be *b, const struct be_plan *p);
/* Where the greatest logits were wanted in all columns of the last be_run(),
 * all are no less than they are (or NaN), and the greatest one of each column
 * is exact.  So they are with what lowers or raises some of them; and who then
 * comes to another one makes it exact, and looks again.  True: logit ROW of all
 * columns was not exact, and is now, and its peak.  False: it was. */
bool be_exact(struct be *b, struct be_plan *p, int row);
static inline size_t be_peaks_n(int n_vocab)
{
    return ((size_t)n_vocab + BE_PEAK - 1) / BE_PEAK;
}

/* What a product is of: elements FROM to TO - 1 of NCOL columns, of which the
 * first is X[n_in] and each LD floats from the one before, times matrix MAT of
 * N_MAT of the tensor WEIGHT. */
struct be_input {
    const char *weight;
    int64_t n_in, n_mat, mat;
    const float *x;
    size_t ld;
    int ncol;
    int64_t from, to;
};
/* Call FN(ARG) with the inputs of all products but LOGITS, by many threads at
 * once, each with elements of its own, whose columns come in their order.  FN
 * NULL, as at first: nobody looks. */
typedef void be_tap_fn(void *arg, const struct be_input *in);
void be_tap(struct be *b, be_tap_fn *fn, void *arg);

struct be_stats {
    int threads, threads_batch;
    char isa[16];             /* "avx512" */
    uint64_t packed, mapped;  /* bytes of weights in each form */
    bool shared, large_pages; /* the packed copy */
};
void be_stats(struct be_stats *s, const struct be *b);

#endif
