/* SPDX-License-Identifier: MIT
 * cpu_product.c - panels times tiles, and what follows in the same registers'
 * reach: bias, activation, scale, gate times up, and the sum.
 *
 * A thread's panels are its own in every step.  With many columns it takes as
 * many of them at a time as keep their activations in the L2 cache, and all its
 * panels over those. */
#include <string.h>

#include "backend/cpu_impl.h"

enum { L2_BYTES = 1 << 20 }; /* of activations at a time */

/* How columns stand: as the thread's own tile, or as all of the block's. */
static char *act_of(const struct cpu_ctx *x, enum kern_act a)
{
    return x->few ? x->own->act[a] : x->p->act[a];
}

static void quantise(struct cpu_ctx *x, const struct cpu_stage *st, int c)
{
    int tile = c / KERN_TILE * KERN_TILE, w = x->ncol - tile;

    if (w > KERN_TILE)
        w = KERN_TILE;
    for (int a = 0; a < KERN_NACT; a++) {
        const struct cpu_op *op = st->op[0];
        int64_t n = op->w->n_in;

        if (st->kinds & 1u << a)
            x->k->act[a](act_of(x, a) + kern_tile_bytes(a, n, tile), w,
                         c - tile, cpu_in(x, op, c), 0, n);
    }
}

/* Norms and quantised inputs. */
static void prepare(struct cpu_ctx *x, struct cpu_stage *st)
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
    if (!x->few || st->sync)
        cpu_run_barrier(x);
}

void cpu_product_finish(const struct cpu_ctx *x, float *y, int w,
                        const float *bias, int act, float scale)
{
    for (int c = 0; c < w && bias; c++)
        x->k->add(y + c * KERN_ROWS, bias, KERN_ROWS);
    if (act != BE_NOACT)
        x->k->unary[act](y, (int64_t)w * KERN_ROWS);
    if (scale != 1)
        x->k->scale(y, scale, (int64_t)w * KERN_ROWS);
}

/* Where row ROW of column C goes. */
static float *target(const struct cpu_ctx *x, const struct cpu_op *op, int c,
                     int64_t row)
{
    switch (op->o.op) {
    case BE_LOGITS:
        return x->logits + (size_t)c * (size_t)x->p->n_vocab + row;
    case BE_ROUTE:
        return x->p->score + (size_t)c * (size_t)x->p->max_experts + row;
    default:
        return cpu_out(x, op, c) + row;
    }
}

static void put(const struct cpu_ctx *x, const struct cpu_op *op,
                const float *y, int c, int w, int64_t row)
{
    int64_t n = op->w->n_out - row;

    if (n > KERN_ROWS)
        n = KERN_ROWS;
    for (int i = 0; i < w; i++, y += KERN_ROWS) {
        float *to = target(x, op, c + i, row);

        if (op->o.flags & BE_ACCUMULATE && op->o.op == BE_MUL)
            x->k->add(to, y, n);
        else
            memcpy(to, y, (size_t)n * sizeof *to);
    }
}

/* Panel PANEL of OP for the columns FROM..TO-1; FROM begins a tile. */
static void job(struct cpu_ctx *x, const struct cpu_op *op, int64_t panel,
                int from, int to)
{
    struct cpu_weight *w = op->w, *w2 = op->w2;
    const void *p = cpu_weight_panel(w, 0, panel, x->own->panel[0]),
               *p2 =
                   w2 ? cpu_weight_panel(w2, 0, panel, x->own->panel[1]) : NULL;
    int64_t n = w->n_in, row = panel * KERN_ROWS;
    float scale = op->o.op == BE_ROUTE ? 1 : op->o.scale;
    const float *bias = op->bias ? op->bias + row : NULL,
                *bias2 = op->bias2 ? op->bias2 + row : NULL;
    _Alignas(64) float y[KERN_TILE * KERN_ROWS], y2[KERN_TILE * KERN_ROWS];

    for (int c = from; c < to; c += KERN_TILE) {
        int cols = to - c < KERN_TILE ? to - c : KERN_TILE;

        w->q->mul(y, KERN_ROWS, p,
                  act_of(x, w->q->act) + kern_tile_bytes(w->q->act, n, c), n,
                  cols);
        cpu_product_finish(x, y, cols, bias, op->o.act, w2 ? 1 : scale);
        if (w2) {
            w2->q->mul(y2, KERN_ROWS, p2,
                       act_of(x, w2->q->act) +
                           kern_tile_bytes(w2->q->act, n, c),
                       n, cols);
            cpu_product_finish(x, y2, cols, bias2, BE_NOACT, 1);
            x->k->mul(y, y2, (int64_t)cols * KERN_ROWS);
            if (scale != 1)
                x->k->scale(y, scale, (int64_t)cols * KERN_ROWS);
        }
        if (op->o.op == BE_LOGITS && op->o.softcap != 0)
            x->k->softcap(y, op->o.softcap, (int64_t)cols * KERN_ROWS);
        put(x, op, y, c, cols, row);
    }
}

/* Columns whose activations fit in the cache, a multiple of a tile. */
static int cached(const struct cpu_ctx *x, const struct cpu_stage *st)
{
    size_t bytes = 1, n;

    for (int a = 0; a < KERN_NACT; a++)
        if (st->kinds & 1u << a)
            bytes += kern_tile_bytes(a, st->op[0]->w->n_in, 1);
    n = L2_BYTES / bytes / KERN_TILE * KERN_TILE;
    if (n < KERN_TILE)
        n = KERN_TILE;
    return n < (size_t)x->ncol ? (int)n : x->ncol;
}

/* Panels P0..P1-1 of OP. */
static void panels(struct cpu_ctx *x, const struct cpu_stage *st,
                   const struct cpu_op *op, int64_t p0, int64_t p1)
{
    int step = cached(x, st);
    bool fresh = cpu_weight_fresh(op->w, 0, p0),
         fresh2 = op->w2 && cpu_weight_fresh(op->w2, 0, p0);

    for (int from = 0; from < x->ncol; from += step) {
        int to = x->ncol - from < step ? x->ncol : from + step;

        for (int64_t p = p0; p < p1; p++)
            job(x, op, p, from, to);
    }
    if (fresh)
        cpu_weight_forget(op->w, 0, p0, p1);
    if (fresh2)
        cpu_weight_forget(op->w2, 0, p0, p1);
}

void cpu_product_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    int64_t from = st->cut[x->id], to = st->cut[x->id + 1];

    prepare(x, st);
    for (int i = 0; i < st->nop; i++) {
        const struct cpu_op *op = st->op[i];
        int64_t p0 = from - op->job0, p1 = to - op->job0;

        if (p0 < 0)
            p0 = 0;
        if (p1 > op->njob)
            p1 = op->njob;
        if (p0 < p1)
            panels(x, st, op, p0, p1);
    }
}
