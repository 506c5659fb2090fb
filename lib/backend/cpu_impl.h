/* SPDX-License-Identifier: MIT
 * cpu_impl.h - the CPU device: what its files share.
 *
 *   cpu.c          open, close, statistics
 *   cpu_weight.c   weights, and panels packed at first touch
 *   cpu_head.c     logits of which the greatest one is wanted
 *   cpu_share.c    the packed copy in a file
 *   cpu_kv.c       pages of K and V
 *   cpu_plan.c     checks operations; cpu_stage.c fuses them into stages
 *   cpu_run.c      the loop over blocks of columns and stages
 *   cpu_product.c  panels times tiles, with what follows
 *   cpu_attend.c   attention, and what is done head by head before it
 *   cpu_experts.c  routing and experts
 *   cpu_adapt.c    what adapters add to products
 *   cpu_rope.c     tables of rotations
 *
 * A run is one function that every thread of the team is in (cpu_run.c).  Each
 * goes through the same stages, does its own share of each, and meets the
 * others at a barrier before the next.  Which share is whose changes no bits:
 * every value is computed by one thread, in one way.
 *
 * A block is at most CPU_BLOCK columns, or, of a plan whose columns see each
 * other both ways, a whole step.  When it has CPU_FEW or less, norms are not
 * shared out but done by every thread for itself ("private"), which spares
 * barriers. */
#ifndef LLM_BACKEND_CPU_IMPL_H
#define LLM_BACKEND_CPU_IMPL_H

#include <stdatomic.h>

#include "backend/backend_impl.h"
#include "base/arena.h"
#include "base/team.h"
#include "kernels/kern.h"

enum {
    CPU_BLOCK = 528, /* columns of a block, and of a product's call: tiles */
    CPU_MAX_BLOCK = 1 << 20, /* of a plan that has its own */
    CPU_FEW = 8,             /* up to so many, norms are private */
    CPU_CHUNK = 256,         /* positions with one softmax */
    CPU_TILE_Q = 48,         /* queries that attention takes together */
    CPU_MANY = 17,           /* columns from which a step is one of many */
    CPU_SPLIT = 16, /* columns for which chunks are shared among threads */
    CPU_MAX_DIM = 1 << 24,
    CPU_LINE = 64
};

struct cpu_weight {
    char *name;
    const struct kern_quant *q;
    enum be_use use;
    int64_t n_in, n_out, n_mat;
    const char *data; /* in the file's form */
    size_t row;       /* bytes of a row there */
    bool nocache;
    bool rows;         /* a panel is as the file has it */
    int64_t looked_up; /* BE_ROWS: how many, since their pages were let go */
    float *vec; /* BE_VECTOR: N_OUT * N_IN floats, 16 zeros behind them */
    /* BE_MATRIX: panels of one matrix, and where those of all are. */
    int64_t npanel;
    size_t panel;  /* bytes */
    char *packed;  /* panel p of matrix m is at (m * npanel + p) * stride */
    size_t stride; /* 0: no place yet */
    unsigned char *done; /* which are packed; NULL: all are */
};

/* Memory for packed panels. */
struct cpu_region {
    char *p;
    size_t n;
    char *map; /* what to unmap, when it is of a file; else NULL */
    size_t map_n;
};

struct cpu_group {
    char *mem;
    size_t bytes, page; /* of all pages, and one */
    int npages;
};

struct cpu_layer {
    int group, heads, dk, dv;
    size_t k, v;           /* where its K and V begin in a page */
    size_t k_head, v_head; /* bytes of each head's */
};

struct cpu {
    struct be be;
    struct kern kern;
    struct team *team;
    int n;        /* threads */
    int with[2];  /* so many of them for steps of few columns, and of many */
    size_t cache; /* bytes of activations that a thread keeps near */
    bool pack;
    char *share_dir, *model_path; /* NULL: none */
    char model_id[33];
    struct cpu_weight **w; /* be_w - 1 */
    size_t nw, cap_w;
    struct cpu_region *region;
    int nregion;
    enum kern_kv ktype, vtype;
    struct cpu_layer *layer;
    int nlayer;
    struct cpu_group group[BE_MAX_GROUPS];
    int ngroup;
    be_tap_fn *tap; /* NULL: nobody looks */
    void *tap_arg;
};

/* ---- plans ---- */

struct cpu_op {
    struct be_op o;
    struct cpu_weight *w, *w2, *w3;
    const float *bias, *bias2; /* GATE: BIAS is its vector */
    int64_t n;                 /* NORM, NORM_HEADS, GATE: floats of W */
    int width;                 /* of OUT */
    /* When columns are few, IN or OUT means the thread's own copy. */
    bool in_own, out_own;
    const struct cpu_op *route; /* of EXPERTS */
    bool late; /* what it writes is only read for columns that want logits */
    /* Products: jobs of the stage before this one's, and panels. */
    int64_t job0, njob;
};

enum cpu_kind {
    CPU_COLS,    /* column by column */
    CPU_PRODUCT, /* norms, then panels times tiles */
    CPU_HEADS,   /* head by head */
    CPU_ATTEND,
    CPU_EXPERTS,
    CPU_ADAPT /* row by row: a thread has the same rows in all operations */
};

struct cpu_stage {
    enum cpu_kind kind;
    struct cpu_op **pre; /* PRODUCT: norms that come first */
    struct cpu_op **op;
    int npre, nop;
    /* PRODUCT: few columns need a barrier between the norms and the panels,
     * which write what the norms read. */
    bool sync;
    unsigned kinds;  /* 1 << enum kern_act: what the products take */
    bool twice;      /* a column and its rest (cpu_product.c) */
    bool bounded;    /* logits that have upper bounds (cpu_head.c) */
    int64_t njob;    /* panels, of gate and up together */
    bool warm;       /* all of them have been packed */
    bool late;       /* and some of it is Q's, see cpu_op.late */
    int64_t *cut[2]; /* [threads + 1]: each thread's jobs, see cpu.with */
    /* HEADS: pieces that each slot is done in, 0: none of it. */
    int piece[BE_NSLOT], size[BE_NSLOT], npiece;
    bool fused; /* HEADS: may be one with the ATTEND that follows */
};

struct cpu_table {
    int npair;
    double *freq;
    float mscale;
    float *cs; /* [block][npair] x (cos, sin) of the block's columns */
};

/* What a thread has for itself. */
struct cpu_own {
    float *slot[BE_NSLOT]; /* [CPU_FEW][width]; NULL when never private */
    char *act[KERN_NACT];  /* a tile of CPU_FEW columns */
    float *tmp;            /* as wide as the widest slot */
    char *panel[2];        /* what was packed for one use */
    /* Attention, see cpu_attend.c: queries, scores, and for each query O, the
     * maximum and the sum, twice. */
    float *q, *s, *o[2], *m[2], *l[2];
    int *lo, *hi, *page_lo, *page_hi; /* what each query sees */
    int *tile;         /* [block + 1]: columns at which tiles begin */
    int *src;          /* [block]: where the columns came from */
    int *start, *pair; /* experts: see cpu_experts.c */
    float *weight, *route;
    float *low;          /* a tile of what DELTA takes */
    float best[CPU_FEW]; /* logits: the greatest of its own panels, */
    int64_t nexact;      /* and how many of them it made exact */
};

struct cpu_plan {
    struct be_plan plan;
    struct cpu *b;
    struct arena arena;
    struct cpu_op *op;
    int nop;
    struct cpu_stage *stage;
    int nstage;
    int width[BE_NSLOT];
    int n_vocab, nadapter;
    int block;      /* most columns of a block */
    bool both;      /* a step is one block */
    int max_low;    /* longest input of DELTA */
    int last_store; /* stage; -1: none */
    struct cpu_table *rope;
    int nrope;
    int64_t max_in[KERN_NACT]; /* longest column that each act is needed of */
    size_t max_panel;
    int max_experts, max_used, max_mid;
    int head_q, head_v; /* longest heads of Q and V in attention */
    int group;          /* most heads of Q to one of K */
    bool bound;         /* to the pages of K and V */
    bool own_slot[BE_NSLOT];
    void *mem; /* of what follows */
    size_t mem_n;
    /* Of the block: */
    float *slot[BE_NSLOT]; /* [block][width] */
    char *act[KERN_NACT];
    float *score;         /* ROUTE: [block][max_experts] */
    int *chosen;          /* [block][max_used], ascending */
    float *share;         /* their weights */
    float *mid;           /* [block * max_used][max_mid] */
    int *seq_lo, *seq_hi; /* BOTH: [block]: first and last position that the
                             column's sequence has in the step */
    struct cpu_own *own;  /* [threads] */
    struct cpu_next {
        atomic_int job; /* the next one to take, of a stage */
        char pad[CPU_LINE - sizeof(atomic_int)];
    } * next,  /* [nstage] */
        *tail; /* [2][threads]: see cpu_product.c */
    /* Parts of attention, when its chunks are shared: see cpu_attend.c. */
    float *part;
    size_t part_cap;
    float *logits, *peaks;
    size_t logits_cap, peaks_cap;
    unsigned char
        *exact; /* [panels of the logits], if the last run had BOUNDS */
    bool bounds;
    int ncol;              /* of that run */
    int without, without1; /* runs that follow without, now and next time */
};

/* A thread in a run. */
struct cpu_ctx {
    struct cpu *b;
    struct cpu_plan *p;
    const struct kern *k;
    const struct be_step *s;
    struct cpu_own *own;
    int id, n; /* this thread, and how many there are */
    int many;  /* of cpu.with this is the one */
    int turn;  /* which half of cpu_plan.tail is next */
    int ncol;  /* columns of the block, now */
    bool few;
    bool idle;  /* no logits of the block are wanted: nothing late is done */
    bool bound; /* of logits upper bounds do */
    const int *src;        /* column c is column src[c] of the step */
    int c0;                /* which began the block */
    float *logits, *peaks; /* of the block */
};

/* Columns of OP's slots. */
static inline float *cpu_in(const struct cpu_ctx *x, const struct cpu_op *op,
                            int c)
{
    float *s =
        x->few && op->in_own ? x->own->slot[op->o.in] : x->p->slot[op->o.in];

    return s + (size_t)c * (size_t)x->p->width[op->o.in];
}

static inline float *cpu_out(const struct cpu_ctx *x, const struct cpu_op *op,
                             int c)
{
    float *s =
        x->few && op->out_own ? x->own->slot[op->o.out] : x->p->slot[op->o.out];

    return s + (size_t)c * (size_t)x->p->width[op->o.out];
}

/* This thread's part of N things: from here up to that of the next one. */
static inline int64_t cpu_part(int64_t n, int id, int threads)
{
    return n / threads * id + n % threads * id / threads;
}

/* The next job of a stage, for whoever comes. */
static inline int cpu_take(struct cpu_ctx *x, int stage)
{
    return atomic_fetch_add_explicit(&x->p->next[stage].job, 1,
                                     memory_order_relaxed);
}

/* The page of column C's position POS in GROUP. */
static inline int cpu_page(const struct cpu_ctx *x, int group, int c, int pos)
{
    const struct be_step *s = x->s;

    return s->pages[group][(size_t)s->seq[x->src[c]] * (size_t)s->npage[group] +
                           (size_t)(pos / BE_PAGE)];
}

static inline char *cpu_k(const struct cpu *b, const struct cpu_layer *l,
                          int page, int head)
{
    const struct cpu_group *g = &b->group[l->group];

    return g->mem + (size_t)page * g->page + l->k + (size_t)head * l->k_head;
}

static inline char *cpu_v(const struct cpu *b, const struct cpu_layer *l,
                          int page, int head)
{
    const struct cpu_group *g = &b->group[l->group];

    return g->mem + (size_t)page * g->page + l->v + (size_t)head * l->v_head;
}

/* cpu_weight.c */
be_w cpu_weight_add(struct be *b, const struct be_tensor *t, enum be_use use,
                    struct err *e);
void cpu_weight_free(struct cpu_weight *w);
/* Give the weights of a plan, in its order, places for their panels. */
int cpu_weight_place(struct cpu *b, const struct cpu_plan *p, struct err *e);
/* Panel P of matrix M, packed now if it was not; SCRATCH is for when nothing is
 * kept.  cpu_weight_first(): the same, when it is not there yet. */
const void *cpu_weight_first(struct cpu_weight *w, int64_t m, int64_t p,
                             void *scratch);
static inline const void *cpu_weight_panel(struct cpu_weight *w, int64_t m,
                                           int64_t p, void *scratch)
{
    int64_t i = m * w->npanel + p;

    if (!w->packed || (w->done && !w->done[i]))
        return cpu_weight_first(w, m, p, scratch);
    return w->packed + (size_t)i * w->stride;
}
void cpu_weight_pack(const struct cpu_weight *w, int64_t m, int64_t p,
                     void *to);
/* Panels P0..P1-1 of matrix M were packed: when they are many, or the LAST
 * ones, their source may go.  Returns where the next call goes on: nowhere,
 * INT64_MAX, after the last. */
int64_t cpu_weight_forget(const struct cpu_weight *w, int64_t m, int64_t p0,
                          int64_t p1, bool last);
static inline bool cpu_weight_fresh(const struct cpu_weight *w, int64_t m,
                                    int64_t p)
{
    return w->done && !w->done[m * w->npanel + p];
}

/* cpu_share.c: find a finished file of N bytes for the weights W, or make it.
 * False when there is none to be had, which is nobody's fault. */
bool cpu_share_open(struct cpu *b, struct cpu_region *r, struct cpu_weight **w,
                    size_t nw, const size_t *offset, size_t n);

/* cpu_kv.c */
int cpu_kv_init(struct be *b, const struct be_kv_spec *s, struct err *e);
void cpu_kv_free(struct cpu *b);
void cpu_kv_copy(struct be *b, int group, int src, int dst);
size_t cpu_kv_row(const struct be *b, int layer, int which);
void cpu_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
                void *dst);
void cpu_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
                const void *src);

/* cpu_plan.c, cpu_stage.c */
int cpu_plan_new(struct be_plan **out, struct be *b,
                 const struct be_plan_desc *desc, struct err *e);
void cpu_plan_free(struct be_plan *p);
/* Before the first run: do the layers that P stores to and attends over fit the
 * KV pages? */
int cpu_plan_bind(struct cpu_plan *p, struct err *e);
int cpu_stage_fuse(struct cpu_plan *p, struct err *e);
/* When the pages are known: how HEADS stages cut their slots. */
void cpu_stage_pieces(struct cpu_plan *p);
/* Is OP a product of panels? */
bool cpu_stage_product(const struct cpu_op *op);

/* cpu_run.c */
int cpu_run(struct be *b, struct be_plan *p, const struct be_step *s,
            const float **logits, struct err *e);
const float *cpu_run_peaks(const struct be_plan *p);
void cpu_run_column(struct cpu_ctx *x, struct cpu_op *op, int c);
void cpu_run_barrier(struct cpu_ctx *x);

/* The stages. */
void cpu_product_stage(struct cpu_ctx *x, struct cpu_stage *st);
void cpu_product_reset(struct cpu_ctx *x);
/* Show this thread's part of NCOL inputs of matrix MAT of W, the first of them
 * X, to who looks at them. */
void cpu_product_tap(const struct cpu_ctx *x, const struct cpu_weight *w,
                     int64_t mat, const float *in, size_t ld, int ncol);
/* Panel P of OP's product for all columns, few as they are. */
void cpu_product_panel(struct cpu_ctx *x, const struct cpu_stage *st,
                       const struct cpu_op *op, int64_t p);
/* Let every thread do its panels of a stage. */
void cpu_product_jobs(struct cpu_ctx *x, const struct cpu_stage *st);
/* Norms and inputs. */
void cpu_product_prepare(struct cpu_ctx *x, struct cpu_stage *st);
/* What be_peaks() is to give of rows ROW and on, of which there are ROWS, of W
 * columns from C on, which are at V. */
void cpu_product_peaks(const struct cpu_ctx *x, const float *v, size_t ld,
                       int c, int w, int64_t row, int64_t rows);
/* The 16 rows of a panel, for one column. */
static inline void cpu_product_add(float *y, const float *x)
{
    for (int i = 0; i < KERN_ROWS; i++)
        y[i] += x[i];
}
/* Y[w][16] of a product: bias, activation and scale. */
void cpu_product_finish(const struct cpu_ctx *x, float *y, int w,
                        const float *bias, int act, float scale);
/* Every operation of ST on piece I of slot S of column C. */
void cpu_heads_piece(struct cpu_ctx *x, const struct cpu_stage *st,
                     enum be_slot s, int i, int c);
void cpu_heads_stage(struct cpu_ctx *x, struct cpu_stage *st);
/* cpu_head.c: give W panels of two planes, if they are to be had. */
void cpu_head_split(const struct cpu *b, struct cpu_weight *w);
/* Can the logits of P's last stage, ST, have bounds? */
bool cpu_head_bounded(const struct cpu_plan *p, const struct cpu_stage *st);
/* And in this step, of NCOL columns? */
bool cpu_head_wanted(struct cpu_plan *p, const struct be_step *s);
/* They had: were they of use? */
void cpu_head_judge(struct cpu_plan *p);
void cpu_head_stage(struct cpu_ctx *x, struct cpu_stage *st);
bool cpu_head_exact(struct be_plan *p, int row);
void cpu_attend_stage(struct cpu_ctx *x, struct cpu_stage *st);
/* ST and the stage behind it, for few columns; false: not possible now. */
bool cpu_attend_fused(struct cpu_ctx *x, struct cpu_stage *st);
/* Floats that the parts of attention take in a step, 0: it is not shared. */
size_t cpu_attend_parts(const struct cpu_plan *p, const struct be_step *s);
void cpu_experts_stage(struct cpu_ctx *x, struct cpu_stage *st);
void cpu_adapt_stage(struct cpu_ctx *x, struct cpu_stage *st);
/* What column C of the block wants of adapter I, from 1 on. */
static inline float cpu_adapt_scale(const struct cpu_ctx *x, int i, int c)
{
    const struct be_step *s = x->s;

    return s->scale
               ? s->scale[(size_t)s->seq[x->src[c]] * (size_t)x->p->nadapter +
                          (size_t)(i - 1)]
               : 0;
}
/* Does any? */
bool cpu_adapt_wanted(const struct cpu_ctx *x, int i);

/* cpu_rope.c */
void cpu_rope_angles(float *cs, const struct cpu_table *t, int pos);
float cpu_rope_log(int64_t n); /* natural logarithm of N >= 1 */

#endif
