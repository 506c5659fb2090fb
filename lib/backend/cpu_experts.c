/* SPDX-License-Identifier: MIT
 * cpu_experts.c - which experts a column goes to, and what they make of it.
 *
 * Columns are gathered by expert: "pairs" of a column and one of its experts,
 * by expert and then by column.  An expert's pairs stand in tiles of their own.
 * A thread has the same panels of every expert, so that an uneven choice costs
 * nobody more than others, and sums the experts of a column in their order. */
#include <string.h>

#include "backend/cpu_impl.h"

/* The K greatest of S[N], the first of equals; into ID ascending and W.  SUM
 * adds the chosen weights up from the greatest on. */
static float greatest(int *id, float *w, const float *s, const float *value,
                      int n, int k)
{
    float sum = 0;

    for (int j = 0; j < k; j++) {
        int best = -1, at;

        for (int i = 0; i < n; i++) {
            bool taken = false;

            for (int t = 0; t < j && !taken; t++)
                taken = id[t] == i;
            if (!taken && (best < 0 || s[i] > s[best]))
                best = i;
        }
        sum += value[best];
        for (at = j; at > 0 && id[at - 1] > best; at--) {
            id[at] = id[at - 1];
            w[at] = w[at - 1];
        }
        id[at] = best;
        w[at] = value[best];
    }
    return sum;
}

static void choose(struct cpu_ctx *x, const struct be_op *o, int c)
{
    struct cpu_plan *p = x->p;
    float *s = p->score + (size_t)c * (size_t)p->max_experts,
          *v = x->own->route, *w = p->share + (size_t)c * (size_t)p->max_used,
          m, l, sum;
    int *id = p->chosen + (size_t)c * (size_t)p->max_used;

    /* Chosen by the product itself: functions of it may round two together. */
    memcpy(v, s, (size_t)o->experts * sizeof *v);
    if (o->flags & BE_ROUTE_SIGMOID) {
        x->k->unary[KERN_SIGMOID](v, o->experts);
    } else {
        x->k->softmax(v, 0, o->experts, o->experts, 1, 0, &m, &l);
        for (int i = 0; i < o->experts; i++)
            v[i] /= l;
    }
    sum = greatest(id, w, s, v, o->experts, o->used);
    for (int i = 0; i < o->used; i++) {
        if (o->flags & BE_ROUTE_NORM)
            w[i] /= sum;
        w[i] *= o->scale;
    }
}

/* Pairs of expert E are START[E]..START[E+1]-1. */
static int gather(struct cpu_ctx *x, const struct be_op *o)
{
    const struct cpu_plan *p = x->p;
    struct cpu_own *own = x->own;
    int n = x->ncol * o->used;

    memset(own->start, 0, ((size_t)o->experts + 1) * sizeof(int));
    for (int c = 0; c < x->ncol; c++)
        for (int i = 0; i < o->used; i++)
            own->start[p->chosen[c * p->max_used + i] + 1]++;
    for (int e = 0; e < o->experts; e++)
        own->start[e + 1] += own->start[e];
    for (int c = 0; c < x->ncol; c++)
        for (int i = 0; i < o->used; i++) {
            int at = own->start[p->chosen[c * p->max_used + i]]++;

            own->pair[at] = c;
            own->weight[at] = p->share[c * p->max_used + i] * o->scale;
        }
    for (int e = o->experts; e > 0; e--)
        own->start[e] = own->start[e - 1];
    own->start[0] = 0;
    return n;
}

/* Quantise the pairs' columns, of the input or of MID, as A. */
static void quantise(struct cpu_ctx *x, const struct cpu_op *op, bool mid,
                     enum kern_act a, int npair)
{
    int from = (int)cpu_part(npair, x->id, x->n),
        to = (int)cpu_part(npair, x->id + 1, x->n), e = 0;
    int64_t n = mid ? op->w3->n_in : op->w->n_in;

    for (int i = from; i < to; i++) {
        int first, tile, w;
        const float *in;

        while (i >= x->own->start[e + 1])
            e++;
        first = x->own->start[e];
        tile = first + (i - first) / KERN_TILE * KERN_TILE;
        w = x->own->start[e + 1] - tile;
        in = mid ? x->p->mid + (size_t)i * (size_t)n
                 : cpu_in(x, op, x->own->pair[i]);
        x->k->act[a](x->p->act[a] + kern_tile_bytes(a, n, tile),
                     w < KERN_TILE ? w : KERN_TILE, i - tile, in, 0, n);
    }
}

/* Inputs of the pairs to who looks at them. */
static void tap(struct cpu_ctx *x, const struct cpu_op *op, bool mid)
{
    for (int e = 0; e < op->o.experts; e++)
        for (int i = x->own->start[e]; i < x->own->start[e + 1]; i++) {
            if (mid) {
                size_t n = (size_t)op->w3->n_in;

                cpu_product_tap(x, op->w3, e, x->p->mid + (size_t)i * n, n, 1);
                continue;
            }
            cpu_product_tap(x, op->w, e, cpu_in(x, op, x->own->pair[i]), 0, 1);
            cpu_product_tap(x, op->w2, e, cpu_in(x, op, x->own->pair[i]), 0, 1);
        }
}

/* Y = panel P of expert E's matrix times W pairs from AT on. */
static void mul(struct cpu_ctx *x, struct cpu_weight *w, int e, int64_t p,
                int at, int cols, float *y, int scratch)
{
    const void *panel = cpu_weight_panel(w, e, p, x->own->panel[scratch]);

    w->q->mul(y, KERN_ROWS, panel,
              x->p->act[w->q->act] + kern_tile_bytes(w->q->act, w->n_in, at),
              w->n_in, cols);
}

static void gate_up(struct cpu_ctx *x, const struct cpu_op *op, int e,
                    int64_t p, int from, int to)
{
    _Alignas(64) float y[KERN_TILE * KERN_ROWS], y2[KERN_TILE * KERN_ROWS];
    int64_t row = p * KERN_ROWS, n = op->w->n_out - row;

    if (n > KERN_ROWS)
        n = KERN_ROWS;
    for (int at = from; at < to; at += KERN_TILE) {
        int cols = to - at < KERN_TILE ? to - at : KERN_TILE;

        mul(x, op->w, e, p, at, cols, y, 0);
        mul(x, op->w2, e, p, at, cols, y2, 1);
        cpu_product_finish(x, y, cols, NULL, op->o.act, 1);
        x->k->mul(y, y2, (int64_t)cols * KERN_ROWS);
        for (int i = 0; i < cols; i++)
            memcpy(x->p->mid + (size_t)(at + i) * (size_t)op->w->n_out + row,
                   y + (ptrdiff_t)i * KERN_ROWS, (size_t)n * sizeof *y);
    }
}

static void down(struct cpu_ctx *x, const struct cpu_op *op, int e, int64_t p,
                 int from, int to)
{
    _Alignas(64) float y[KERN_TILE * KERN_ROWS];
    int64_t row = p * KERN_ROWS, n = op->w3->n_out - row;

    if (n > KERN_ROWS)
        n = KERN_ROWS;
    for (int at = from; at < to; at += KERN_TILE) {
        int cols = to - at < KERN_TILE ? to - at : KERN_TILE;

        mul(x, op->w3, e, p, at, cols, y, 0);
        for (int i = 0; i < cols; i++)
            x->k->axpy(cpu_out(x, op, x->own->pair[at + i]) + row,
                       x->own->weight[at + i], y + (ptrdiff_t)i * KERN_ROWS, n);
    }
}

/* This thread's panels of W for every expert that has pairs. */
static void panels(struct cpu_ctx *x, const struct cpu_op *op,
                   struct cpu_weight *w,
                   void (*fn)(struct cpu_ctx *, const struct cpu_op *, int,
                              int64_t, int, int))
{
    int64_t p0 = cpu_part(w->npanel, x->id, x->n),
            p1 = cpu_part(w->npanel, x->id + 1, x->n);

    for (int e = 0; e < op->o.experts && p0 < p1; e++) {
        int from = x->own->start[e], to = x->own->start[e + 1];
        bool fresh;

        if (from == to)
            continue;
        fresh = cpu_weight_fresh(w, e, p0);
        for (int64_t p = p0; p < p1; p++)
            fn(x, op, e, p, from, to);
        if (fresh) {
            cpu_weight_forget(w, e, p0, p1, true);
            if (w == op->w)
                cpu_weight_forget(op->w2, e, p0, p1, true);
        }
    }
}

void cpu_experts_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    const struct cpu_op *op = st->op[0];
    enum kern_act a = op->w->q->act, b = op->w2->q->act;
    int to = (int)cpu_part(x->ncol, x->id + 1, x->n), npair;

    for (int c = (int)cpu_part(x->ncol, x->id, x->n); c < to; c++)
        choose(x, &op->route->o, c);
    cpu_run_barrier(x);
    npair = gather(x, &op->o);
    quantise(x, op, false, a, npair);
    if (a != b)
        quantise(x, op, false, b, npair);
    if (x->b->tap)
        tap(x, op, false);
    cpu_run_barrier(x);
    panels(x, op, op->w, gate_up);
    cpu_run_barrier(x);
    quantise(x, op, true, op->w3->q->act, npair);
    if (x->b->tap)
        tap(x, op, true);
    cpu_run_barrier(x);
    panels(x, op, op->w3, down);
}
