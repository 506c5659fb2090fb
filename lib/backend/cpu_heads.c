/* SPDX-License-Identifier: MIT
 * cpu_heads.c - what is done to each head before attention: norms, rope, and
 * K and V to their pages. */
#include <math.h>

#include "backend/cpu_impl.h"

static float position_scale(const struct be_op *o, int pos)
{
    return fmaf(o->scale, cpu_rope_log(1 + pos / o->period), 1);
}

static void store(struct cpu_ctx *x, const struct cpu_op *op, enum be_slot s,
                  float *y, int h, int pos, int c)
{
    const struct cpu_layer *l = &x->b->layer[op->o.layer];
    int page = cpu_page(x, l->group, c, pos);

    if (s == BE_K)
        x->k->k_put[x->b->ktype](cpu_k(x->b, l, page, h), y, l->dk,
                                 pos % BE_PAGE);
    else
        x->k->v_put[x->b->vtype](cpu_v(x->b, l, page, h), y, l->dv,
                                 pos % BE_PAGE);
}

/* OP on head H of column C, which is at Y. */
static void head(struct cpu_ctx *x, const struct cpu_op *op, enum be_slot s,
                 float *y, int h, int c)
{
    const struct be_op *o = &op->o;
    int pos = x->s->pos[x->src[c]];
    const struct cpu_table *t;
    size_t at = op->n > o->head_dim ? (size_t)h * (size_t)o->head_dim : 0;
    const float *w = op->w ? op->w->vec + at : NULL,
                *bias = op->bias ? op->bias + at : NULL;

    switch (o->op) {
    case BE_NORM_HEADS:
        if (o->flags & BE_LAYERNORM) {
            x->k->layernorm(y, y, w, bias, o->head_dim, o->eps);
        } else {
            x->k->rmsnorm(y, y, w, o->head_dim, o->eps);
            if (bias)
                x->k->add(y, bias, o->head_dim);
        }
        break;
    case BE_ROPE:
        t = &x->p->rope[o->rope];
        x->k->rope(y,
                   t->cs + (size_t)(x->src[c] - x->c0) * 2 * (size_t)t->npair,
                   t->npair, o->flags & BE_PAIRS);
        break;
    default:
        store(x, op, s, y, h, pos, c);
    }
}

void cpu_heads_piece(struct cpu_ctx *x, const struct cpu_stage *st,
                     enum be_slot s, int i, int c)
{
    float *y = x->p->slot[s] + (size_t)c * (size_t)x->p->width[s];

    for (int j = 0; j < st->nop; j++) {
        const struct cpu_op *op = st->op[j];
        const struct be_op *o = &op->o;
        int n = o->heads, d = o->head_dim;

        if (o->op == BE_STORE) {
            const struct cpu_layer *l = &x->b->layer[o->layer];

            if (s != BE_K && s != BE_V)
                continue;
            n = l->heads;
            d = s == BE_K ? l->dk : l->dv;
        } else if (o->out != s) {
            continue;
        } else if (o->op == BE_SCALE_POS) {
            x->k->scale(y + (size_t)i * (size_t)st->size[s],
                        position_scale(o, x->s->pos[x->src[c]]), st->size[s]);
            continue;
        }
        for (int h = st->piece[s] == n ? i : 0;
             h < (st->piece[s] == n ? i + 1 : n); h++)
            head(x, op, s, y + (size_t)h * (size_t)d, h, c);
    }
}

void cpu_heads_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    int64_t n = (int64_t)x->ncol * st->npiece,
            to = cpu_part(n, x->id + 1, x->n);

    for (int64_t u = cpu_part(n, x->id, x->n); u < to; u++) {
        int c = (int)(u / st->npiece), i = (int)(u % st->npiece), s = 0;

        while (i >= st->piece[s])
            i -= st->piece[s++];
        if (s != BE_Q || !st->late || !x->idle)
            cpu_heads_piece(x, st, (enum be_slot)s, i, c);
    }
}
