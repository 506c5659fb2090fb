/* SPDX-License-Identifier: MIT
 * cpu_adapt.c - what adapters (LoRA) add to products: out += s * B (A x).
 *
 * A x is a product like others, and stands beside that of the weight that is
 * adapted.  B times that comes here, after a barrier, with what else must wait
 * for it: activation and gate.  Only the columns that want an adapter are
 * gathered into tiles, so that a batch of sequences with an adapter each costs
 * little more than one; and each is scaled by its own S, before that product,
 * where it is short. */
#include <string.h>

#include "backend/cpu_impl.h"

bool cpu_adapt_wanted(const struct cpu_ctx *x, int i)
{
    for (int c = 0; c < x->ncol && x->s->scale; c++)
        if (cpu_adapt_scale(x, i, c) != 0)
            return true;
    return false;
}

static float *target(const struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    if (op->o.flags & BE_TO_LOGITS)
        return x->logits + (size_t)c * (size_t)x->p->n_vocab;
    return cpu_out(x, op, c);
}

/* Columns of one tile, and what they want. */
struct some {
    int col[KERN_TILE];
    float scale[KERN_TILE];
    int n;
};

/* The next columns from C on that want the adapter of OP; returns where to go
 * on. */
static int choose(struct some *t, const struct cpu_ctx *x,
                  const struct cpu_op *op, int c)
{
    for (t->n = 0; c < x->ncol && t->n < KERN_TILE; c++) {
        float s = cpu_adapt_scale(x, op->o.adapter, c);

        if (s == 0)
            continue;
        t->col[t->n] = c;
        t->scale[t->n++] = s * op->o.scale;
    }
    return c;
}

/* Y[n][16] to the rows from R on, of which there are ROWS, of all that T has:
 * columns that follow each other at once. */
static void add(const struct cpu_ctx *x, const struct cpu_op *op,
                const struct some *t, int64_t r, int64_t rows, const float *y)
{
    size_t ld = (size_t)(target(x, op, 1) - target(x, op, 0));

    for (int i = 0, k; i < t->n; i = k) {
        float *to = target(x, op, t->col[i]) + r;

        for (k = i + 1; rows == KERN_ROWS && k < t->n; k++)
            if (t->col[k] != t->col[k - 1] + 1)
                break;
        if (rows == KERN_ROWS)
            x->k->add_panel(to, ld, y + (ptrdiff_t)i * KERN_ROWS, k - i);
        else
            x->k->add(to, y + (ptrdiff_t)i * KERN_ROWS, rows);
    }
}

/* Rows FROM..TO-1 of a DELTA. */
static void delta(struct cpu_ctx *x, const struct cpu_op *op, int64_t from,
                  int64_t to)
{
    _Alignas(64) float y[KERN_TILE * KERN_ROWS];
    struct cpu_weight *w = op->w;
    struct some t;

    for (int c = 0; c < x->ncol && x->s->scale;) {
        c = choose(&t, x, op, c);
        for (int i = 0; i < t.n; i++) {
            memcpy(x->own->tmp, cpu_in(x, op, t.col[i]) + op->o.at,
                   (size_t)w->n_in * sizeof(float));
            x->k->scale(x->own->tmp, t.scale[i], w->n_in);
            x->k->act[KERN_ACT_F32](x->own->low, t.n, i, x->own->tmp, 0,
                                    w->n_in);
        }
        for (int64_t r = from; r < to && t.n; r += KERN_ROWS) {
            int64_t n = to - r < KERN_ROWS ? to - r : KERN_ROWS;

            w->q->mul(y, KERN_ROWS,
                      cpu_weight_panel(w, 0, r / KERN_ROWS, x->own->panel[0]),
                      x->own->low, w->n_in, t.n);
            add(x, op, &t, r, n, y);
        }
    }
}

static void act(struct cpu_ctx *x, const struct cpu_op *op, int64_t from,
                int64_t to)
{
    const struct be_op *o = &op->o;

    for (int c = 0; c < x->ncol && from < to; c++) {
        float *y = target(x, op, c) + from;

        if (o->act != BE_NOACT)
            x->k->unary[o->act](y, to - from);
        if (o->in != o->out)
            x->k->mul(y, cpu_in(x, op, c) + from, to - from);
        if (o->scale != 1)
            x->k->scale(y, o->scale, to - from);
        if (o->softcap != 0)
            x->k->softcap(y, o->softcap, to - from);
        for (int64_t r = from; o->flags & BE_TO_LOGITS && r < to;
             r += KERN_ROWS)
            cpu_product_peaks(x, y + (r - from), 0, c, 1, r, to - r);
    }
}

void cpu_adapt_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    for (int i = 0; i < st->nop; i++) {
        const struct cpu_op *op = st->op[i];
        int64_t panels = (op->n + KERN_ROWS - 1) / KERN_ROWS,
                from = cpu_part(panels, x->id, x->n) * KERN_ROWS,
                to = cpu_part(panels, x->id + 1, x->n) * KERN_ROWS;

        if (to > op->n)
            to = op->n;
        if (op->o.op == BE_DELTA)
            delta(x, op, from, to);
        else
            act(x, op, from, to);
    }
}
