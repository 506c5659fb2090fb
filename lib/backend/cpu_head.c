/* SPDX-License-Identifier: MIT
 * cpu_head.c - logits of which the greatest one is wanted.
 *
 * The matrix that makes them is the largest of a small model: most of what a
 * token reads.  Its panels have two planes (kern.split), the first of which
 * gives an upper bound of each logit in half of the bytes.  Then the exact ones
 * are computed where the bound is not below the greatest that is known: of
 * Gemma 3's 16,384 panels 3 in a hundred.  What is asked for later (be_exact())
 * is computed then.  There are models where bounds help little (SmolLM2, nearly
 * all panels): after a run in which too many were made exact some go without.
 */
#include <math.h>
#include <string.h>

#include "backend/cpu_impl.h"

void cpu_head_split(const struct cpu *b, struct cpu_weight *w)
{
    if (b->pack && !w->stride && w->q == &b->kern.quant[KERN_q8_0] &&
        b->kern.split.most)
        w->q = &b->kern.split;
}

enum {
    USEFUL = 4, /* no more than one panel in so many is made exact */
    WITHOUT = 16,
    WITHOUT_MOST = 1024
};

static struct cpu_stage *stage_of(const struct cpu_plan *p)
{
    return &p->stage[p->nstage - 1];
}

bool cpu_head_bounded(const struct cpu_plan *p, const struct cpu_stage *st)
{
    const struct cpu_op *op = st->op[0];

    return st == stage_of(p) && st->nop == 1 && st->twice && op->w->q->most &&
           op->o.softcap == 0 && op->o.scale > 0 && !op->o.adapter;
}

bool cpu_head_wanted(struct cpu_plan *p, const struct be_step *s)
{
    if (!p->nstage || !stage_of(p)->bounded || !stage_of(p)->warm ||
        s->ncol > CPU_FEW || !s->want || p->b->tap)
        return false;
    for (int c = 0; c < s->ncol; c++)
        if (s->want[c] == 1)
            return false;
    if (!p->without)
        return true;
    p->without--;
    return false;
}

void cpu_head_judge(struct cpu_plan *p)
{
    int64_t n = 0;

    for (int i = 0; i < p->b->with[0]; i++)
        n += p->own[i].nexact;
    if (n <= stage_of(p)->op[0]->w->npanel / USEFUL) {
        p->without1 = 0;
        return;
    }
    p->without1 = !p->without1                     ? WITHOUT
                  : p->without1 < WITHOUT_MOST / 2 ? 2 * p->without1
                                                   : WITHOUT_MOST;
    p->without = p->without1;
}

/* The bound, or the exact one, of panel P for column C. */
static float *peak(const struct cpu_ctx *x, int c, int64_t p)
{
    return x->peaks + (size_t)c * be_peaks_n(x->p->n_vocab) + p;
}

static void make_exact(struct cpu_ctx *x, const struct cpu_stage *st, int64_t p)
{
    bool bound = x->bound;

    if (x->p->exact[p])
        return;
    x->bound = false;
    cpu_product_panel(x, st, st->op[0], p);
    x->bound = bound;
    x->p->exact[p] = 1;
    x->own->nexact++;
}

/* Of panels FROM..TO-1, for each column that one which promises most. */
static void find_best(struct cpu_ctx *x, const struct cpu_stage *st,
                      int64_t from, int64_t to)
{
    for (int c = 0; c < x->ncol; c++) {
        int64_t best = from;

        for (int64_t p = from; p < to; p++)
            if (*peak(x, c, p) > *peak(x, c, best))
                best = p;
        x->own->best[c] = -INFINITY;
        if (from < to) {
            make_exact(x, st, best);
            x->own->best[c] = *peak(x, c, best);
        }
    }
}

static bool may_be_best(const struct cpu_ctx *x, const float *best, int64_t p)
{
    for (int c = 0; c < x->ncol; c++)
        if (!(*peak(x, c, p) < best[c]))
            return true;
    return false;
}

void cpu_head_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    const struct cpu_op *op = st->op[0];
    int64_t n = op->w->npanel, from = cpu_part(n, x->id, x->n),
            to = cpu_part(n, x->id + 1, x->n);
    float best[CPU_FEW];

    cpu_product_prepare(x, st);
    for (int c = 0; c < 2 * x->ncol; c++)
        kern_most(x->own->act[op->w->q->act], 2 * x->ncol, c, op->w->n_in);
    cpu_product_jobs(x, st);
    x->own->nexact = 0;
    memset(x->p->exact + from, 0, (size_t)(to - from));
    cpu_run_barrier(x);
    find_best(x, st, from, to);
    cpu_run_barrier(x);
    for (int c = 0; c < x->ncol; c++) {
        best[c] = -INFINITY;
        for (int i = 0; i < x->n; i++)
            if (x->p->own[i].best[c] > best[c])
                best[c] = x->p->own[i].best[c];
    }
    for (int64_t p = from; p < to; p++)
        if (!x->p->exact[p] && may_be_best(x, best, p))
            make_exact(x, st, p);
}

bool cpu_head_exact(struct be_plan *plan, int row)
{
    struct cpu_plan *p = (struct cpu_plan *)plan;
    struct cpu_ctx x = {.b = p->b,
                        .p = p,
                        .k = &p->b->kern,
                        .own = &p->own[0],
                        .n = 1,
                        .ncol = p->ncol,
                        .few = true,
                        .logits = p->logits,
                        .peaks = p->peaks};

    if (!p->bounds || p->exact[row / KERN_ROWS])
        return false;
    make_exact(&x, stage_of(p), row / KERN_ROWS);
    return true;
}
