/* SPDX-License-Identifier: MIT
 * cpu_product.c - panels times tiles, and what follows in the same registers'
 * reach: bias, activation, scale, gate times up, and the sum.
 *
 * Logits are what int8 activations would show in most: on SmolLM2 a third of
 * all divergence from exact ones came from this one product.  So its input is
 * quantised twice, the second time what the first left over, and the products
 * of both are added: as two columns, which the head's bytes, read once, hardly
 * feel.
 *
 * A thread's panels are its own in every step, but for the last of them: who is
 * done with his own takes from his neighbours', one at a time.  What is yet to
 * be packed is for its owner alone.  With many columns a thread takes as many
 * of them at a time as keep their activations in the L2 cache, and all its
 * panels over those: each panel meets them in one call, for AMX makes it into
 * tiles there. */
#include <math.h>
#include <string.h>

#include "backend/cpu_impl.h"

enum {
    TAIL = 4,      /* one in so many panels may be taken by others, */
    NEIGHBOURS = 3 /* so many of them */
};

/* How columns stand: as the thread's own tile, or as all of the block's. */
static char *act_of(const struct cpu_ctx *x, enum kern_act a)
{
    return x->few ? x->own->act[a] : x->p->act[a];
}

/* V[n] becomes column C of NCOL. */
static void put_act(struct cpu_ctx *x, enum kern_act a, const float *v,
                    int64_t n, int c, int ncol)
{
    int tile = c / KERN_TILE * KERN_TILE, w = ncol - tile;

    x->k->act[a](act_of(x, a) + kern_tile_bytes(a, n, tile),
                 w < KERN_TILE ? w : KERN_TILE, c - tile, v, 0, n);
}

/* What column C of NCOL leaves of V[n]. */
static void rest(float *y, struct cpu_ctx *x, enum kern_act a, const float *v,
                 int64_t n, int c, int ncol)
{
    int block = kern_act_block(a), tile = c / KERN_TILE * KERN_TILE;
    int w = ncol - tile < KERN_TILE ? ncol - tile : KERN_TILE;
    const char *p = act_of(x, a) + kern_tile_bytes(a, n, tile);

    for (int64_t b = 0; b < n; b += block) {
        const int8_t *q = (const int8_t *)p + (c - tile) * block;
        float d;

        memcpy(&d, p + w * block + (c - tile) * (int)sizeof d, sizeof d);
        for (int i = 0; i < block; i++)
            y[b + i] = v[b + i] - (float)q[i] * d;
        p += kern_tile_bytes(a, block, w);
    }
}

static void quantise(struct cpu_ctx *x, const struct cpu_stage *st, int c)
{
    const struct cpu_op *op = st->op[0];
    const float *v = cpu_in(x, op, c);
    int64_t n = op->w->n_in;

    for (int a = 0; a < KERN_NACT; a++) {
        if (!(st->kinds & 1u << a) || (a == KERN_ACT_F32 && !x->few))
            continue;
        if (!st->twice) {
            put_act(x, a, v, n, c, x->ncol);
            continue;
        }
        put_act(x, a, v, n, 2 * c, 2 * x->ncol);
        rest(x->own->tmp, x, a, v, n, 2 * c, 2 * x->ncol);
        put_act(x, a, x->own->tmp, n, 2 * c + 1, 2 * x->ncol);
    }
}

void cpu_product_tap(const struct cpu_ctx *x, const struct cpu_weight *w,
                     int64_t mat, const float *in, size_t ld, int ncol)
{
    struct be_input t = {.weight = w->name,
                         .n_in = w->n_in,
                         .n_mat = w->n_mat,
                         .mat = mat,
                         .x = in,
                         .ld = ld,
                         .ncol = ncol,
                         .from = cpu_part(w->n_in, x->id, x->n),
                         .to = cpu_part(w->n_in, x->id + 1, x->n)};

    if (t.from < t.to)
        x->b->tap(x->b->tap_arg, &t);
}

/* Once all inputs are there, and before any of them is written over. */
static void tap(struct cpu_ctx *x, const struct cpu_stage *st)
{
    for (int i = 0; i < st->nop; i++) {
        const struct cpu_op *op = st->op[i];
        size_t ld = (size_t)x->p->width[op->o.in];

        if (op->o.op == BE_LOGITS || (x->idle && op->late) || op->o.adapter)
            continue;
        cpu_product_tap(x, op->w, 0, cpu_in(x, op, 0), ld, x->ncol);
        if (op->w2)
            cpu_product_tap(x, op->w2, 0, cpu_in(x, op, 0), ld, x->ncol);
    }
    cpu_run_barrier(x);
}

/* Floats stand column beside column: those of FROM..TO-1, a part of each at a
 * time, so that what is written stays in the first cache. */
static void lay_out(struct cpu_ctx *x, const struct cpu_stage *st, int from,
                    int to)
{
    enum { PART = 64 };
    const struct cpu_op *op = st->op[0];
    int64_t n = op->w->n_in;

    for (int end; from < to; from = end) {
        int tile = from / KERN_TILE * KERN_TILE, w = x->ncol - tile;
        char *p =
            act_of(x, KERN_ACT_F32) + kern_tile_bytes(KERN_ACT_F32, n, tile);

        w = w < KERN_TILE ? w : KERN_TILE;
        end = to < tile + w ? to : tile + w;
        for (int64_t k = 0; k < n; k += PART)
            for (int c = from; c < end; c++)
                x->k->act[KERN_ACT_F32](p, w, c - tile, cpu_in(x, op, c) + k, k,
                                        n - k < PART ? n - k : PART);
    }
}

/* Norms and quantised inputs. */
void cpu_product_prepare(struct cpu_ctx *x, struct cpu_stage *st)
{
    int from = 0, to = x->ncol;

    if (!x->few) {
        from = (int)cpu_part(x->ncol, x->id, x->n);
        to = (int)cpu_part(x->ncol, x->id + 1, x->n);
    }
    for (int c = from; c < to; c++) {
        for (int i = 0; i < st->npre; i++)
            cpu_run_column(x, st->pre[i], c);
        if (st->nop)
            quantise(x, st, c);
    }
    if (st->nop && !x->few && st->kinds & 1u << KERN_ACT_F32)
        lay_out(x, st, from, to);
    if (!x->few || st->sync || x->b->tap)
        cpu_run_barrier(x);
    if (x->b->tap)
        tap(x, st);
}

void cpu_product_finish(const struct cpu_ctx *x, float *y, int w,
                        const float *bias, int act, float scale)
{
    for (int c = 0; c < w && bias; c++)
        cpu_product_add(y + (ptrdiff_t)c * KERN_ROWS, bias);
    if (act != BE_NOACT)
        x->k->unary[act](y, (int64_t)w * KERN_ROWS);
    if (scale != 1)
        x->k->scale(y, scale, (int64_t)w * KERN_ROWS);
}

/* Where row ROW of column C goes, and how far apart columns are there. */
static float *target(const struct cpu_ctx *x, const struct cpu_op *op, int c,
                     int64_t row, size_t *ld)
{
    switch (op->o.op) {
    case BE_LOGITS:
        *ld = (size_t)x->p->n_vocab;
        return x->logits + (size_t)c * *ld + row;
    case BE_ROUTE:
        *ld = (size_t)x->p->max_experts;
        return x->p->score + (size_t)c * *ld + row;
    default:
        *ld = (size_t)x->p->width[op->o.out];
        return cpu_out(x, op, c) + op->o.at + row;
    }
}

static void put(const struct cpu_ctx *x, float *to, size_t ld, const float *y,
                int w, int64_t rows, bool sum)
{
    if (rows >= KERN_ROWS && sum) {
        x->k->add_panel(to, ld, y, w);
        return;
    }
    for (int i = 0; i < w; i++, y += KERN_ROWS, to += ld) {
        if (rows < KERN_ROWS && sum)
            x->k->add(to, y, rows);
        else if (rows < KERN_ROWS)
            memcpy(to, y, (size_t)rows * sizeof *to);
        else
            memcpy(to, y, KERN_ROWS * sizeof *to);
    }
}

/* The greatest of N logits, NaN where one is NaN or plus infinity. */
static float greatest(const float *v, int64_t n)
{
    float m = -INFINITY;
    int bad = 0;

    for (int64_t i = 0; i < n; i++) {
        m = v[i] > m ? v[i] : m;
        bad |= !(v[i] < INFINITY);
    }
    return bad ? NAN : m;
}

void cpu_product_peaks(const struct cpu_ctx *x, const float *v, size_t ld,
                       int c, int w, int64_t row, int64_t rows)
{
    size_t n = be_peaks_n(x->p->n_vocab);
    float *to = x->peaks + (size_t)c * n + row / BE_PEAK;

    _Static_assert((int)BE_PEAK == (int)KERN_ROWS, "a peak is a panel's");
    for (int i = 0; i < w; i++)
        to[(size_t)i * n] =
            greatest(v + (size_t)i * ld, rows < KERN_ROWS ? rows : KERN_ROWS);
}

/* One panel of OP, and one of gate's other half. */
struct job {
    const struct cpu_op *op;
    const void *panel, *panel2;
    int64_t row;
    bool plain; /* the product is the result */
    bool twice; /* the stage's */
};

/* For W columns from C on, where a tile begins. */
static void columns(struct cpu_ctx *x, const struct job *j, int c, int w)
{
    const struct cpu_op *op = j->op;
    const struct kern_quant *q = op->w->q;
    int64_t n = op->w->n_in, rows = op->w->n_out - j->row;
    size_t ld;
    float scale = op->o.op == BE_ROUTE ? 1 : op->o.scale,
          *to = target(x, op, c, j->row, &ld);
    _Alignas(64) float y[CPU_BLOCK * KERN_ROWS], y2[CPU_BLOCK * KERN_ROWS];

    if (j->plain && rows >= KERN_ROWS) {
        q->mul(to, ld, j->panel,
               act_of(x, q->act) + kern_tile_bytes(q->act, n, c), n, w);
        if (op->o.op == BE_LOGITS)
            cpu_product_peaks(x, to, ld, c, w, j->row, rows);
        return;
    }
    if (j->twice) {
        kern_mul_fn *mul = x->bound ? q->most : q->mul;

        mul(y, KERN_ROWS, j->panel,
            act_of(x, q->act) + kern_tile_bytes(q->act, n, 2 * c), n, 2 * w);
        for (int i = 0; i < w; i++) {
            memmove(y + i * KERN_ROWS, y + 2 * i * KERN_ROWS,
                    KERN_ROWS * sizeof *y);
            cpu_product_add(y + (ptrdiff_t)i * KERN_ROWS,
                            y + (ptrdiff_t)(2 * i + 1) * KERN_ROWS);
        }
    } else {
        q->mul(y, KERN_ROWS, j->panel,
               act_of(x, q->act) + kern_tile_bytes(q->act, n, c), n, w);
    }
    cpu_product_finish(x, y, w, op->bias ? op->bias + j->row : NULL, op->o.act,
                       j->panel2 ? 1 : scale);
    if (j->panel2) {
        q = op->w2->q;
        q->mul(y2, KERN_ROWS, j->panel2,
               act_of(x, q->act) + kern_tile_bytes(q->act, n, c), n, w);
        cpu_product_finish(x, y2, w, op->bias2 ? op->bias2 + j->row : NULL,
                           BE_NOACT, 1);
        if (op->o.flags & BE_APART) {
            put(x, to, ld, y, w, rows, false);
            ld = (size_t)x->p->width[BE_UP];
            put(x, x->p->slot[BE_UP] + (size_t)c * ld + j->row, ld, y2, w, rows,
                false);
            return;
        }
        x->k->mul(y, y2, (int64_t)w * KERN_ROWS);
        if (scale != 1)
            x->k->scale(y, scale, (int64_t)w * KERN_ROWS);
    }
    if (op->o.op == BE_LOGITS && op->o.softcap != 0)
        x->k->softcap(y, op->o.softcap, (int64_t)w * KERN_ROWS);
    if (op->o.op == BE_LOGITS)
        cpu_product_peaks(x, y, KERN_ROWS, c, w, j->row, rows);
    put(x, to, ld, y, w, rows,
        op->o.op == BE_MUL && op->o.flags & BE_ACCUMULATE);
}

static bool plain(const struct cpu_op *op)
{
    const struct be_op *o = &op->o;

    return o->op != BE_GLU && !(o->op == BE_MUL && o->flags & BE_ACCUMULATE) &&
           !op->bias && o->act == BE_NOACT &&
           (o->scale == 1 || o->op == BE_ROUTE) &&
           !(o->op == BE_LOGITS && o->softcap != 0);
}

/* Columns whose activations fit in the cache, a multiple of a tile. */
static int cached(const struct cpu_ctx *x, const struct cpu_op *op)
{
    unsigned kinds = 1u << op->w->q->act | (op->w2 ? 1u << op->w2->q->act : 0);
    size_t bytes = 1, n;

    for (int a = 0; a < KERN_NACT; a++)
        if (kinds & 1u << a)
            bytes += kern_tile_bytes(a, op->w->n_in, 1);
    n = x->b->cache / bytes / KERN_TILE * KERN_TILE;
    if (n < KERN_TILE)
        n = KERN_TILE;
    return n < (size_t)x->ncol ? (int)n : x->ncol;
}

void cpu_product_panel(struct cpu_ctx *x, const struct cpu_stage *st,
                       const struct cpu_op *op, int64_t p)
{
    struct job j = {.op = op, .row = p * KERN_ROWS, .twice = st->twice};

    j.panel = cpu_weight_panel(op->w, 0, p, x->own->panel[0]);
    columns(x, &j, 0, x->ncol);
}

/* Panels P0..P1-1 of OP.  The first time, what they were packed from is let go
 * behind them. */
static void panels(struct cpu_ctx *x, const struct cpu_stage *st,
                   const struct cpu_op *op, int64_t p0, int64_t p1)
{
    int step = cached(x, op);
    int most = st->twice ? CPU_BLOCK / 2 : CPU_BLOCK;
    struct job j = {
        .op = op, .plain = plain(op) && !st->twice, .twice = st->twice};
    int64_t behind = cpu_weight_fresh(op->w, 0, p0) ? p0 : INT64_MAX,
            behind2 =
                op->w2 && cpu_weight_fresh(op->w2, 0, p0) ? p0 : INT64_MAX;

    for (int from = 0; from < x->ncol; from += step) {
        int to = x->ncol - from < step ? x->ncol : from + step;

        for (int64_t p = p0; p < p1; p++) {
            j.panel = cpu_weight_panel(op->w, 0, p, x->own->panel[0]);
            if (op->w2)
                j.panel2 = cpu_weight_panel(op->w2, 0, p, x->own->panel[1]);
            j.row = p * KERN_ROWS;
            for (int c = from; c < to; c += most)
                columns(x, &j, c, to - c < most ? to - c : most);
            behind = cpu_weight_forget(op->w, 0, behind, p + 1, p + 1 == p1);
            if (op->w2)
                behind2 =
                    cpu_weight_forget(op->w2, 0, behind2, p + 1, p + 1 == p1);
        }
    }
}

/* Jobs FROM..TO-1 of a stage. */
static void jobs(struct cpu_ctx *x, const struct cpu_stage *st, int64_t from,
                 int64_t to)
{
    for (int i = 0; i < st->nop; i++) {
        const struct cpu_op *op = st->op[i];
        int64_t p0 = from - op->job0, p1 = to - op->job0;

        if (p0 < 0)
            p0 = 0;
        if (p1 > op->njob)
            p1 = op->njob;
        if (p0 < p1 && !(x->idle && op->late) &&
            (!op->o.adapter || cpu_adapt_wanted(x, op->o.adapter)))
            panels(x, st, op, p0, p1);
    }
}

static struct cpu_next *tail_of(const struct cpu_ctx *x, int id)
{
    return &x->p->tail[x->turn * x->p->b->n + id];
}

void cpu_product_reset(struct cpu_ctx *x)
{
    atomic_store_explicit(&tail_of(x, x->id)->job, 0, memory_order_relaxed);
}

/* The rest of this thread's jobs, and of its neighbours'.  Stages take turns
 * with two sets of counters: one is at rest, and can be made ready. */
static void tails(struct cpu_ctx *x, const struct cpu_stage *st,
                  const int64_t *cut)
{
    for (int k = 0; k < x->n && k <= NEIGHBOURS; k++) {
        int id = (x->id + k) % x->n, j;
        struct cpu_next *t = tail_of(x, id);
        int64_t n = (cut[id + 1] - cut[id]) / TAIL, at = cut[id + 1] - n;

        while (atomic_load_explicit(&t->job, memory_order_relaxed) < n &&
               (j = atomic_fetch_add_explicit(&t->job, 1,
                                              memory_order_relaxed)) < n)
            jobs(x, st, at + j, at + j + 1);
    }
    x->turn = !x->turn;
    cpu_product_reset(x);
}

void cpu_product_jobs(struct cpu_ctx *x, const struct cpu_stage *st)
{
    const int64_t *cut = st->cut[x->many];
    int64_t from = cut[x->id], to = cut[x->id + 1];

    if (!st->warm || x->n == 1) {
        jobs(x, st, from, to);
        return;
    }
    jobs(x, st, from, to - (to - from) / TAIL);
    tails(x, st, cut);
}

void cpu_product_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    cpu_product_prepare(x, st);
    cpu_product_jobs(x, st);
}
