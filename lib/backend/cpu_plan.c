/* SPDX-License-Identifier: MIT
 * cpu_plan.c - a plan checked, and the memory that it needs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu_impl.h"
#include "base/num.h"
#include "base/pages.h"

/* ---- checks ---- */

static int fit(const struct cpu_plan *p, const struct cpu_weight *w,
               enum be_slot in, enum be_slot out, struct err *e)
{
    if (w->n_in > p->width[in])
        return err_set(e, ERR_FORMAT, "%s: takes %lld floats, there are %d",
                       w->name, (long long)w->n_in, p->width[in]);
    if (w->n_out > p->width[out])
        return err_set(e, ERR_FORMAT, "%s: gives %lld floats, room is for %d",
                       w->name, (long long)w->n_out, p->width[out]);
    return 0;
}

/* The weight behind ID, which must be there, and of USE. */
static int weight(struct cpu_weight **out, const struct cpu *b, be_w id,
                  enum be_use use, const char *what, struct err *e)
{
    if (!id || id > b->nw)
        return err_set(e, ERR_USAGE, "%s: a weight is missing", what);
    *out = b->w[id - 1];
    if ((*out)->use != use)
        return err_set(e, ERR_USAGE, "%s: taken for another use", (*out)->name);
    return 0;
}

/* The N floats of vector ID; NULL when there is none. */
static int vector(const float **out, const struct cpu *b, be_w id, int64_t n,
                  struct err *e)
{
    struct cpu_weight *w = NULL;

    *out = NULL;
    if (!id)
        return 0;
    if (weight(&w, b, id, BE_VECTOR, "vector", e))
        return -1;
    if (w->n_in * w->n_out != n)
        return err_set(e, ERR_FORMAT, "%s: has %lld floats, must have %lld",
                       w->name, (long long)(w->n_in * w->n_out), (long long)n);
    *out = w->vec;
    return 0;
}

static int act_ok(int act, struct err *e)
{
    if (act != BE_NOACT && (act < 0 || act >= KERN_NUNARY))
        return err_set(e, ERR_UNSUPPORTED, "activation function %d", act);
    return 0;
}

static int check_embed(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    if (weight(&op->w, p->b, op->o.w, BE_ROWS, "embed", e))
        return -1;
    if (op->o.flags & BE_BY_POSITION && op->o.flags & BE_BY_TYPE)
        return err_set(e, ERR_USAGE, "%s: looked up in two ways", op->w->name);
    if (op->w->n_in > p->width[op->o.out] || op->w->n_mat != 1)
        return err_set(e, ERR_FORMAT, "%s: rows of %lld floats do not fit",
                       op->w->name, (long long)op->w->n_in);
    return 0;
}

static int check_norm(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    int64_t n = p->width[op->o.in];
    const float *v;

    if (op->o.w) {
        if (weight(&op->w, p->b, op->o.w, BE_VECTOR, "norm", e))
            return -1;
        n = op->w->n_in * op->w->n_out;
    }
    if (n < 1 || n > p->width[op->o.in] || n > p->width[op->o.out])
        return err_set(e, ERR_FORMAT, "%s: has %lld floats, there are %d",
                       op->w ? op->w->name : "norm", (long long)n,
                       p->width[op->o.in]);
    op->n = n;
    return vector(&op->bias, p->b, op->o.bias, n, e) ||
                   vector(&v, p->b, op->o.w, n, e)
               ? -1
               : 0;
}

static int check_heads(const struct cpu_plan *p, const struct be_op *o,
                       struct err *e)
{
    uint64_t n;

    if (o->heads < 1 || o->head_dim < 1 ||
        !mul_ok((uint64_t)o->heads, (uint64_t)o->head_dim, &n) ||
        n > (uint64_t)p->width[o->out])
        return err_set(e, ERR_FORMAT, "%d heads of %d do not fit %d floats",
                       o->heads, o->head_dim, p->width[o->out]);
    return 0;
}

static int check_norm_heads(struct cpu_plan *p, struct cpu_op *op,
                            struct err *e)
{
    const struct be_op *o = &op->o;
    const float *v;
    int64_t n;

    if (check_heads(p, o, e))
        return -1;
    n = o->head_dim;
    if (o->w && o->w <= p->b->nw) { /* one for all heads, or each its own */
        const struct cpu_weight *w = p->b->w[o->w - 1];

        if (w->n_in * w->n_out == n * o->heads)
            n *= o->heads;
    }
    op->n = n;
    if (vector(&v, p->b, o->w, n, e) || vector(&op->bias, p->b, o->bias, n, e))
        return -1;
    op->w = o->w ? p->b->w[o->w - 1] : NULL;
    return 0;
}

static int check_rope(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    const struct be_op *o = &op->o;

    if (check_heads(p, o, e))
        return -1;
    if (o->rope < 0 || o->rope >= p->nrope)
        return err_set(e, ERR_USAGE, "no rope table %d", o->rope);
    if (p->rope[o->rope].npair > o->head_dim / 2)
        return err_set(e, ERR_FORMAT, "rope: %d pairs in heads of %d",
                       p->rope[o->rope].npair, o->head_dim);
    return 0;
}

static int check_attend(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    struct be_op *o = &op->o;
    enum be_slot out = o->out;

    o->in = BE_Q;
    o->out = BE_Q;
    if (check_heads(p, o, e))
        return -1;
    o->out = out;
    if (o->out != BE_ATT)
        return err_set(e, ERR_UNSUPPORTED, "attention into another slot");
    if (o->layer < 0 || o->window < 0)
        return err_set(e, ERR_FORMAT, "layer %d: impossible window", o->layer);
    if (o->flags & BE_BOTH && !p->both)
        return err_set(e, ERR_USAGE, "layer %d: both ways needs a block",
                       o->layer);
    if (p->head_q < o->head_dim)
        p->head_q = o->head_dim;
    return 0;
}

/* LOGITS without a weight. */
static int check_result(const struct cpu_plan *p, const struct be_op *o,
                        struct err *e)
{
    if (o->bias || o->act != BE_NOACT || o->scale != 1 || o->softcap != 0)
        return err_set(e, ERR_UNSUPPORTED, "results that are changed");
    if (p->width[o->in] != p->n_vocab || p->n_vocab < 1)
        return err_set(e, ERR_FORMAT, "results of %d floats, there are %d",
                       p->n_vocab, p->width[o->in]);
    return 0;
}

/* MUL, GLU, LOGITS and ROUTE. */
static int check_product(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    struct be_op *o = &op->o;
    bool glu = o->op == BE_GLU;

    if (o->op == BE_LOGITS && !o->w)
        return check_result(p, o, e);
    if (weight(&op->w, p->b, o->w, BE_MATRIX, "product", e) ||
        (glu && weight(&op->w2, p->b, o->w2, BE_MATRIX, "product", e)) ||
        vector(&op->bias, p->b, o->bias, op->w->n_out, e) || act_ok(o->act, e))
        return -1;
    if (op->w->n_mat != 1 || (glu && op->w2->n_mat != 1))
        return err_set(e, ERR_FORMAT, "%s: several matrices", op->w->name);
    op->njob = op->w->npanel;
    if (o->op == BE_LOGITS || o->op == BE_ROUTE) {
        int n = o->op == BE_LOGITS ? p->n_vocab : o->experts;

        if (op->w->n_in > p->width[o->in] || op->w->n_out != n)
            return err_set(e, ERR_FORMAT, "%s: is %lldx%lld, must be %dx%d",
                           op->w->name, (long long)op->w->n_in,
                           (long long)op->w->n_out, p->width[o->in], n);
        if (o->op == BE_LOGITS && o->softcap == 0)
            cpu_head_split(p->b, op->w);
        return 0;
    }
    if (fit(p, op->w, o->in, o->out, e))
        return -1;
    if (o->adapter && (o->op != BE_MUL || o->at < 0 ||
                       op->w->n_out > (int64_t)p->width[o->out] - o->at))
        return err_set(e, ERR_FORMAT, "%s: has not the shape of its place",
                       op->w->name);
    if (!glu)
        return 0;
    if (o->flags & BE_APART &&
        (o->act != BE_NOACT || op->w->n_out > p->width[BE_UP]))
        return err_set(e, ERR_USAGE, "%s: no place apart", op->w->name);
    if (op->w2->n_in != op->w->n_in || op->w2->n_out != op->w->n_out)
        return err_set(e, ERR_FORMAT, "%s: has not the shape of %s",
                       op->w2->name, op->w->name);
    return vector(&op->bias2, p->b, o->bias2, op->w2->n_out, e);
}

static int check_route(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    if (op->o.experts < 1 || op->o.experts > 1 << 16 || op->o.used < 1 ||
        op->o.used > op->o.experts)
        return err_set(e, ERR_FORMAT, "%d experts of %d", op->o.used,
                       op->o.experts);
    if (p->max_experts < op->o.experts)
        p->max_experts = op->o.experts;
    if (p->max_used < op->o.used)
        p->max_used = op->o.used;
    return check_product(p, op, e);
}

static int check_experts(struct cpu_plan *p, struct cpu_op *op,
                         const struct cpu_op *route, struct err *e)
{
    struct be_op *o = &op->o;

    if (weight(&op->w, p->b, o->w, BE_MATRIX, "experts", e) ||
        weight(&op->w2, p->b, o->w2, BE_MATRIX, "experts", e) ||
        weight(&op->w3, p->b, o->w3, BE_MATRIX, "experts", e) ||
        act_ok(o->act, e))
        return -1;
    if (!route || route->o.experts != o->experts || route->o.used != o->used)
        return err_set(e, ERR_USAGE, "%s: nothing routes to them", op->w->name);
    if (o->bias || o->bias2)
        return err_set(e, ERR_UNSUPPORTED, "%s: biases of experts",
                       op->w->name);
    op->route = route;
    if (op->w->n_mat != o->experts || op->w2->n_mat != o->experts ||
        op->w3->n_mat != o->experts || op->w->n_in != op->w2->n_in ||
        op->w->n_out != op->w2->n_out || op->w3->n_in != op->w->n_out ||
        op->w->n_in > p->width[o->in] || op->w3->n_out > p->width[o->out])
        return err_set(e, ERR_FORMAT, "%s, %s, %s: shapes do not fit",
                       op->w->name, op->w2->name, op->w3->name);
    if (p->max_mid < op->w->n_out)
        p->max_mid = (int)op->w->n_out;
    return 0;
}

/* A vector, or a matrix of one row, which is made one. */
static int check_gate(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    struct cpu_weight *w;
    float *v;

    if (!op->o.w || op->o.w > p->b->nw)
        return err_set(e, ERR_USAGE, "gate: a weight is missing");
    w = p->b->w[op->o.w - 1];
    if (w->n_in * w->n_out != w->n_in || w->n_mat != 1 ||
        w->n_in > p->width[op->o.in])
        return err_set(e, ERR_FORMAT, "%s: has not the shape of a gate",
                       w->name);
    op->n = w->n_in;
    v = arena_array(&p->arena, (size_t)w->n_in, sizeof *v);
    if (!v)
        return err_nomem(e);
    w->q->dequant(v, w->data, w->n_in);
    op->bias = v;
    return 0;
}

/* DELTA and ACT. */
static int check_adapt(struct cpu_plan *p, struct cpu_op *op, struct err *e)
{
    const struct be_op *o = &op->o;
    int room = o->flags & BE_TO_LOGITS ? p->n_vocab : p->width[o->out];

    if (o->op == BE_ACT) {
        op->n = o->n;
        if (o->n < 1 || o->n > room ||
            (o->in != o->out && o->n > p->width[o->in]))
            return err_set(e, ERR_FORMAT, "%d floats of %d", o->n, room);
        return act_ok(o->act, e);
    }
    if (weight(&op->w, p->b, o->w, BE_MATRIX, "delta", e))
        return -1;
    op->n = op->w->n_out;
    if (op->w->n_mat != 1 || op->w->q->act != KERN_ACT_F32)
        return err_set(e, ERR_UNSUPPORTED, "%s: of type %s", op->w->name,
                       op->w->q->name);
    if (o->adapter < 1 || o->at < 0 ||
        op->w->n_in > (int64_t)p->width[o->in] - o->at || op->n > room)
        return err_set(e, ERR_FORMAT, "%s: has not the shape of its place",
                       op->w->name);
    if (p->max_low < op->w->n_in)
        p->max_low = (int)op->w->n_in;
    return 0;
}

static int check(struct cpu_plan *p, struct cpu_op *op,
                 const struct cpu_op **route, struct err *e)
{
    const struct be_op *o = &op->o;

    if ((unsigned)o->in >= BE_NSLOT || (unsigned)o->out >= BE_NSLOT)
        return err_set(e, ERR_USAGE, "operation %d: no such slot", o->op);
    if (o->adapter < 0 || o->adapter > p->nadapter)
        return err_set(e, ERR_USAGE, "operation %d: no adapter %d", o->op,
                       o->adapter);
    switch (o->op) {
    case BE_EMBED:
        return check_embed(p, op, e);
    case BE_NORM:
        return check_norm(p, op, e);
    case BE_NORM_HEADS:
        return check_norm_heads(p, op, e);
    case BE_ROPE:
        return check_rope(p, op, e);
    case BE_SCALE_POS:
        if (o->period < 1)
            return err_set(e, ERR_FORMAT, "a period of %d", o->period);
        return 0;
    case BE_STORE:
        return o->layer < 0 ? err_set(e, ERR_USAGE, "layer %d", o->layer) : 0;
    case BE_ATTEND:
        return check_attend(p, op, e);
    case BE_MUL:
    case BE_GLU:
    case BE_LOGITS:
        return check_product(p, op, e);
    case BE_ROUTE:
        *route = op;
        return check_route(p, op, e);
    case BE_EXPERTS:
        return check_experts(p, op, *route, e);
    case BE_GATE:
        return check_gate(p, op, e);
    case BE_DELTA:
    case BE_ACT:
        return check_adapt(p, op, e);
    case BE_ADD:
        if (p->width[o->in] > p->width[o->out])
            return err_set(e, ERR_FORMAT, "%d floats added to %d",
                           p->width[o->in], p->width[o->out]);
        return 0;
    }
    return err_set(e, ERR_UNSUPPORTED, "operation %d", o->op);
}

/* Layers: what is stored and attended over, against the pages. */
static int check_layer(struct cpu_plan *p, const struct be_op *o, struct err *e)
{
    const struct cpu_layer *l;

    if (o->layer >= p->b->nlayer || p->b->layer[o->layer].group < 0)
        return err_set(e, ERR_USAGE, "layer %d keeps no K and V", o->layer);
    l = &p->b->layer[o->layer];
    if (o->op == BE_STORE) {
        if ((int64_t)l->heads * l->dk > p->width[BE_K] ||
            (int64_t)l->heads * l->dv > p->width[BE_V])
            return err_set(e, ERR_FORMAT, "layer %d: K and V do not fit",
                           o->layer);
        return 0;
    }
    if (o->heads % l->heads || l->dk != o->head_dim ||
        (int64_t)o->heads * l->dv > p->width[BE_ATT])
        return err_set(e, ERR_FORMAT,
                       "layer %d: %d heads of %d over %d of %d and %d",
                       o->layer, o->heads, o->head_dim, l->heads, l->dk, l->dv);
    if (p->head_v < l->dv)
        p->head_v = l->dv;
    if (p->group < o->heads / l->heads)
        p->group = o->heads / l->heads;
    return 0;
}

int cpu_plan_bind(struct cpu_plan *p, struct err *e)
{
    size_t q;
    bool bad;

    if (p->bound)
        return 0;
    for (int i = 0; i < p->nop; i++)
        if ((p->op[i].o.op == BE_STORE || p->op[i].o.op == BE_ATTEND) &&
            check_layer(p, &p->op[i].o, e))
            return -1;
    cpu_stage_pieces(p);
    q = (size_t)(p->group > CPU_TILE_Q ? p->group : CPU_TILE_Q);
    for (int i = 0; i < p->b->n && p->group; i++) {
        struct cpu_own *own = &p->own[i];

        own->q = arena_array(&p->arena, q * (size_t)p->head_q, sizeof(float));
        own->s = arena_array(&p->arena, q * CPU_CHUNK, sizeof(float));
        own->lo = arena_array(&p->arena, q, sizeof(int));
        own->hi = arena_array(&p->arena, q, sizeof(int));
        own->page_lo = arena_array(&p->arena, q, sizeof(int));
        own->page_hi = arena_array(&p->arena, q, sizeof(int));
        bad = !own->q || !own->s || !own->lo || !own->hi || !own->page_lo ||
              !own->page_hi;
        for (int j = 0; j < 2; j++) {
            own->o[j] =
                arena_array(&p->arena, q * (size_t)p->head_v, sizeof(float));
            own->m[j] = arena_array(&p->arena, q, sizeof(float));
            own->l[j] = arena_array(&p->arena, q, sizeof(float));
            bad |= !own->o[j] || !own->m[j] || !own->l[j];
        }
        if (bad)
            return err_nomem(e);
    }
    p->bound = true;
    return 0;
}

/* ---- memory ---- */

static int copy_rope(struct cpu_plan *p, const struct be_plan_desc *d,
                     struct err *e)
{
    p->nrope = d->nrope;
    p->rope = arena_array(&p->arena, (size_t)d->nrope + 1, sizeof *p->rope);
    if (!p->rope)
        return err_nomem(e);
    for (int i = 0; i < d->nrope; i++) {
        struct cpu_table *t = &p->rope[i];
        size_t n = (size_t)d->rope[i].npair;

        if (d->rope[i].npair < 1 || d->rope[i].npair > CPU_MAX_DIM)
            return err_set(e, ERR_FORMAT, "rope: %d pairs", d->rope[i].npair);
        t->npair = d->rope[i].npair;
        t->mscale = d->rope[i].mscale;
        t->freq = arena_copy(&p->arena, d->rope[i].freq, n * sizeof(double));
        if (!t->freq)
            return err_nomem(e);
    }
    return 0;
}

static void longest(struct cpu_plan *p, const struct cpu_weight *w, int times)
{
    enum kern_act a;

    if (!w || w->use != BE_MATRIX)
        return;
    a = w->q->act;
    if (p->max_in[a] < w->n_in * times)
        p->max_in[a] = w->n_in * times;
    if (p->max_panel < w->panel)
        p->max_panel = w->panel;
}

/* One piece of memory for all that a run writes: counted with P NULL, then
 * handed out. */
struct carve {
    char *p;
    size_t n;
    bool bad;
};

static void *carve(struct carve *c, size_t count, size_t size)
{
    enum { APART = 2 * CPU_LINE };
    size_t at = c->n;
    uint64_t n, sum;

    if (!mul_ok(count, size, &n) ||
        !add_ok(at, (n + APART - 1) / APART * APART, &sum) ||
        sum > SIZE_MAX / 2) {
        c->bad = true;
        return NULL;
    }
    c->n = (size_t)sum;
    return c->p ? c->p + at : NULL;
}

static void carve_own(struct cpu_plan *p, struct carve *c, struct cpu_own *own)
{
    size_t pairs = (size_t)p->block * (size_t)p->max_used, widest = 1;

    for (int s = 0; s < BE_NSLOT; s++) {
        if (widest < (size_t)p->width[s])
            widest = (size_t)p->width[s];
        if (p->own_slot[s])
            own->slot[s] =
                carve(c, (size_t)p->width[s], CPU_FEW * sizeof(float));
    }
    for (int a = 0; a < KERN_NACT; a++)
        own->act[a] = carve(c, kern_tile_bytes(a, p->max_in[a], 1), CPU_FEW);
    own->tmp = carve(c, widest, sizeof(float));
    own->src = carve(c, (size_t)p->block, sizeof(int));
    own->tile = carve(c, (size_t)p->block + 1, sizeof(int));
    own->panel[0] = carve(c, p->max_panel, 1);
    own->panel[1] = carve(c, p->max_panel, 1);
    own->start = carve(c, (size_t)p->max_experts + 1, sizeof(int));
    own->pair = carve(c, pairs, sizeof(int));
    own->weight = carve(c, pairs, sizeof(float));
    own->route = carve(c, (size_t)p->max_experts, sizeof(float));
    own->low = carve(c, (size_t)p->max_low, KERN_TILE * sizeof(float));
}

static void carve_all(struct cpu_plan *p, struct carve *c)
{
    size_t n = (size_t)p->block, pairs = n * (size_t)p->max_used;

    for (int s = 0; s < BE_NSLOT; s++)
        p->slot[s] = carve(c, (size_t)p->width[s], n * sizeof(float));
    for (int a = 0; a < KERN_NACT; a++)
        p->act[a] = carve(c, kern_tile_bytes(a, p->max_in[a], 1), n);
    for (int i = 0; i < p->nrope; i++)
        p->rope[i].cs =
            carve(c, (size_t)p->rope[i].npair, n * 2 * sizeof(float));
    p->seq_lo = carve(c, p->both ? n : 0, sizeof(int));
    p->seq_hi = carve(c, p->both ? n : 0, sizeof(int));
    p->score = carve(c, (size_t)p->max_experts, n * sizeof(float));
    p->chosen = carve(c, pairs, sizeof(int));
    p->share = carve(c, pairs, sizeof(float));
    p->mid = carve(c, pairs * sizeof(float), (size_t)p->max_mid);
    p->tail = carve(c, 2 * (size_t)p->b->n, sizeof *p->tail);
    p->next = carve(c, (size_t)p->nstage + 1, sizeof *p->next);
    for (int i = 0; i < p->b->n; i++)
        carve_own(p, c, &p->own[i]);
}

static int memory(struct cpu_plan *p, struct err *e)
{
    struct carve c = {0};

    for (int i = 0; i < p->nop; i++) {
        const struct cpu_op *op = &p->op[i];
        int times = op->o.op == BE_EXPERTS  ? op->o.used
                    : op->o.op == BE_LOGITS ? 2
                                            : 1;

        longest(p, op->w, times);
        longest(p, op->w2, times);
        longest(p, op->w3, times);
    }
    p->own = arena_array(&p->arena, (size_t)p->b->n, sizeof *p->own);
    if (!p->own)
        return err_nomem(e);
    carve_all(p, &c);
    if (c.bad || !(p->mem = pages_alloc(c.n)))
        return err_nomem(e);
    p->mem_n = c.n;
    c = (struct carve){.p = p->mem};
    carve_all(p, &c);
    return 0;
}

/* ---- plans ---- */

static int fill(struct cpu_plan *p, const struct be_plan_desc *d, struct err *e)
{
    const struct cpu_op *route = NULL;

    for (int s = 0; s < BE_NSLOT; s++)
        if (d->width[s] < 0 || d->width[s] > CPU_MAX_DIM)
            return err_set(e, ERR_FORMAT, "%d floats a column", d->width[s]);
    memcpy(p->width, d->width, sizeof p->width);
    if (d->block < 0 || d->block > CPU_MAX_BLOCK)
        return err_set(e, ERR_UNSUPPORTED, "steps of %d columns, at most %d",
                       d->block, CPU_MAX_BLOCK);
    p->both = d->block > 0;
    p->block = p->both ? d->block : CPU_BLOCK;
    p->n_vocab = d->n_vocab;
    p->nadapter = d->nadapter;
    p->nop = d->nop;
    p->op = arena_array(&p->arena, (size_t)d->nop + 1, sizeof *p->op);
    if (!p->op)
        return err_nomem(e);
    if (copy_rope(p, d, e))
        return -1;
    for (int i = 0; i < d->nop; i++) {
        p->op[i].o = d->op[i];
        if (check(p, &p->op[i], &route, e))
            return -1;
    }
    if ((int64_t)p->block * p->max_used > INT32_MAX)
        return err_nomem(e);
    if (cpu_stage_fuse(p, e) || memory(p, e))
        return -1;
    return cpu_weight_place(p->b, p, e);
}

int cpu_plan_new(struct be_plan **out, struct be *be,
                 const struct be_plan_desc *desc, struct err *e)
{
    struct cpu_plan *p = calloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return err_nomem(e);
    p->plan.be = be;
    p->b = (struct cpu *)be;
    if (fill(p, desc, e)) {
        cpu_plan_free(&p->plan);
        return -1;
    }
    *out = &p->plan;
    return 0;
}

void cpu_plan_free(struct be_plan *plan)
{
    struct cpu_plan *p = (struct cpu_plan *)plan;

    arena_free(&p->arena);
    pages_free(p->mem, p->mem_n);
    free(p->part);
    free(p->logits);
    free(p->peaks);
    free(p->exact);
    free(p);
}
