/* SPDX-License-Identifier: MIT
 * cpu_run.c - steps: every thread through every stage, block after block. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu_impl.h"
#include "base/map.h"

void cpu_run_barrier(struct cpu_ctx *x)
{
    team_barrier(x->b->team, x->id);
}

/* ---- column by column ---- */

/* The row that column C of a step looks up. */
static int32_t row_of(const struct be_op *o, const struct be_step *s, int c)
{
    if (o->flags & BE_BY_POSITION)
        return s->pos[c];
    if (o->flags & BE_BY_TYPE)
        return s->type ? s->type[c] : 0;
    return s->tok[c];
}

static void embed(struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    float *out = cpu_out(x, op, c),
          *y = op->o.flags & BE_ACCUMULATE ? x->own->tmp : out;
    size_t row = (size_t)row_of(&op->o, x->s, x->src[c]);

    op->w->q->dequant(y, op->w->data + row * op->w->row, op->w->n_in);
    if (op->o.scale != 1)
        x->k->scale(y, op->o.scale, op->w->n_in);
    if (y != out)
        x->k->add(out, y, op->w->n_in);
}

static void norm(struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    const struct be_op *o = &op->o;
    const float *in = cpu_in(x, op, c), *w = op->w ? op->w->vec : NULL;
    float *out = cpu_out(x, op, c),
          *y = o->flags & BE_ACCUMULATE ? x->own->tmp : out;

    if (o->flags & BE_LAYERNORM) {
        x->k->layernorm(y, in, w, op->bias, op->n, o->eps);
    } else {
        x->k->rmsnorm(y, in, w, op->n, o->eps);
        if (op->bias)
            x->k->add(y, op->bias, op->n);
    }
    if (o->scale != 1)
        x->k->scale(y, o->scale, op->n);
    if (y != out)
        x->k->add(out, y, op->n);
}

/* One number a column: a product as f32's definition has it. */
static void gate(struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    float g =
        x->k->quant[KERN_f32].dot(op->bias, cpu_in(x, op, c), op->n, 1, 0);

    x->k->unary[KERN_SIGMOID](&g, 1);
    x->k->scale(cpu_out(x, op, c), g, op->width);
}

static void add(struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    int n = x->p->width[op->o.in];

    if (op->o.scale == 1)
        x->k->add(cpu_out(x, op, c), cpu_in(x, op, c), n);
    else
        x->k->axpy(cpu_out(x, op, c), op->o.scale, cpu_in(x, op, c), n);
}

static void result(struct cpu_ctx *x, const struct cpu_op *op, int c)
{
    size_t n = (size_t)x->p->n_vocab;

    memcpy(x->logits + (size_t)c * n, cpu_in(x, op, c), n * sizeof(float));
}

void cpu_run_column(struct cpu_ctx *x, struct cpu_op *op, int c)
{
    switch (op->o.op) {
    case BE_EMBED:
        embed(x, op, c);
        break;
    case BE_NORM:
        norm(x, op, c);
        break;
    case BE_GATE:
        gate(x, op, c);
        break;
    case BE_ADD:
        add(x, op, c);
        break;
    case BE_LOGITS:
        result(x, op, c);
        break;
    default:
        assert(!"an operation on columns");
    }
}

static void columns(struct cpu_ctx *x, struct cpu_stage *st)
{
    int to = (int)cpu_part(x->ncol, x->id + 1, x->n);

    for (int c = (int)cpu_part(x->ncol, x->id, x->n); c < to; c++)
        for (int i = 0; i < st->nop; i++)
            cpu_run_column(x, st->op[i], c);
}

/* ---- blocks ---- */

static void angles(struct cpu_ctx *x)
{
    int to = (int)cpu_part(x->ncol, x->id + 1, x->n);

    for (int i = 0; i < x->p->nrope; i++)
        for (int c = (int)cpu_part(x->ncol, x->id, x->n); c < to; c++) {
            struct cpu_table *t = &x->p->rope[i];

            cpu_rope_angles(t->cs + (size_t)c * 2 * (size_t)t->npair, t,
                            x->s->pos[x->c0 + c]);
        }
}

/* Column I of slot S moves to C, if this thread is the one to do it. */
static void move(struct cpu_ctx *x, int c, int i)
{
    for (int s = 0; s < BE_NSLOT; s++) {
        size_t w = (size_t)x->p->width[s];

        if (w && s % x->n == x->id)
            memcpy(x->p->slot[s] + (size_t)c * w, x->p->slot[s] + (size_t)i * w,
                   w * sizeof(float));
        if (x->few && x->p->own_slot[s])
            memcpy(x->own->slot[s] + (size_t)c * w,
                   x->own->slot[s] + (size_t)i * w, w * sizeof(float));
    }
}

/* Nothing that follows is seen by other columns: go on with those whose logits
 * are wanted. */
static void compact(struct cpu_ctx *x)
{
    int *src = x->own->src, n = 0;

    for (int c = 0; c < x->ncol; c++) {
        if (!x->s->want || !x->s->want[src[c]])
            continue;
        if (c != n)
            move(x, n, c);
        src[n++] = src[c];
    }
    if (n != x->ncol)
        cpu_run_barrier(x);
    x->ncol = n;
}

static void stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    switch (st->kind) {
    case CPU_COLS:
        columns(x, st);
        break;
    case CPU_PRODUCT:
        if (x->bound && st->bounded)
            cpu_head_stage(x, st);
        else
            cpu_product_stage(x, st);
        break;
    case CPU_HEADS:
        cpu_heads_stage(x, st);
        break;
    case CPU_ATTEND:
        cpu_attend_stage(x, st);
        break;
    case CPU_EXPERTS:
        cpu_experts_stage(x, st);
        break;
    case CPU_ADAPT:
        cpu_adapt_stage(x, st);
        break;
    }
    cpu_run_barrier(x);
    if (x->id == 0 && !(x->idle && st->late))
        st->warm = true;
}

static void block(struct cpu_ctx *x)
{
    struct cpu_plan *p = x->p;

    for (int c = 0; c < x->ncol; c++)
        x->own->src[c] = x->c0 + c;
    if (x->id == 0)
        for (int i = 0; i < p->nstage; i++)
            atomic_store_explicit(&p->next[i].job, 0, memory_order_relaxed);
    for (x->turn = 0; x->turn < 2; x->turn++)
        cpu_product_reset(x);
    x->turn = 0;
    angles(x);
    cpu_run_barrier(x);
    if (p->last_store < 0)
        compact(x);
    for (int i = 0; i < p->nstage && x->ncol; i++) {
        /* The last one may leave columns for attention to do without. */
        if (x->few && !x->b->tap && (i != p->last_store || x->ncol == 1) &&
            cpu_attend_fused(x, &p->stage[i])) {
            if (i++ == p->last_store)
                compact(x);
            continue;
        }
        stage(x, &p->stage[i]);
        if (i == p->last_store)
            compact(x);
    }
}

struct run {
    struct cpu_plan *p;
    const struct be_step *s;
    int many;
};

static void member(void *arg, int id)
{
    struct run *r = arg;
    struct cpu_plan *p = r->p;
    struct cpu_ctx x = {.b = p->b,
                        .p = p,
                        .k = &p->b->kern,
                        .s = r->s,
                        .own = &p->own[id],
                        .src = p->own[id].src,
                        .id = id,
                        .n = p->b->with[r->many],
                        .many = r->many,
                        .bound = p->bounds,
                        .logits = p->logits,
                        .peaks = p->peaks};

    for (int c = 0; c < r->s->ncol; c += p->block) {
        x.c0 = c;
        x.ncol = r->s->ncol - c < p->block ? r->s->ncol - c : p->block;
        x.few = x.ncol <= CPU_FEW;
        x.idle = !x.few;
        for (int i = 0; i < x.ncol && x.idle; i++)
            x.idle = !(r->s->want && r->s->want[c + i]);
        block(&x);
        if (x.logits) { /* none are wanted, perhaps */
            x.logits += (size_t)x.ncol * (size_t)p->n_vocab;
            x.peaks += (size_t)x.ncol * be_peaks_n(p->n_vocab);
        }
    }
}

/* ---- steps ---- */

/* The rows that OP looks up. */
static int check_rows(const struct cpu_op *op, const struct be_step *s,
                      struct err *e)
{
    bool by_pos = op->o.flags & BE_BY_POSITION;
    const char *what = by_pos                     ? "position"
                       : op->o.flags & BE_BY_TYPE ? "token type"
                                                  : "token";

    for (int c = 0; c < s->ncol; c++) {
        int32_t row = row_of(&op->o, s, c);

        if (row < 0 || row >= op->w->n_out)
            return err_set(e, by_pos ? ERR_CONTEXT : ERR_FORMAT,
                           "%s %ld: the model has %lld", what, (long)row,
                           (long long)op->w->n_out);
    }
    return 0;
}

/* The first column of the sequence that column C, which no other of it stands
 * before, belongs to: its own, or of an earlier part. */
static int begins(const struct be_step *s, int c)
{
    for (int i = 0; i < c; i++)
        if (s->seq[i] == s->seq[c])
            return i;
    return c;
}

/* What each column of a step sees both ways: positions that all are there. */
static int spans(struct cpu_plan *p, const struct be_step *s, struct err *e)
{
    int *first = p->seq_lo, *last = p->seq_hi;

    if (s->ncol > p->block)
        return err_set(e, ERR_USAGE, "a step of %d columns, at most %d",
                       s->ncol, p->block);
    /* The first column of each one's sequence; there, the last position. */
    for (int c = 0; c < s->ncol; c++) {
        first[c] =
            c && s->seq[c] == s->seq[c - 1] ? first[c - 1] : begins(s, c);
        if (first[c] < c && s->pos[c] != (int64_t)last[first[c]] + 1)
            return err_set(e, ERR_USAGE, "position %ld follows on %d",
                           (long)s->pos[c], last[first[c]]);
        last[first[c]] = s->pos[c];
    }
    for (int c = s->ncol - 1; c >= 0; c--) {
        last[c] = last[first[c]];
        first[c] = s->pos[first[c]];
    }
    return 0;
}

static int check(struct cpu_plan *p, const struct be_step *s, struct err *e)
{
    const struct cpu *b = p->b;

    if (p->both && spans(p, s, e))
        return -1;
    for (int i = 0; i < p->nop; i++)
        if (p->op[i].o.op == BE_EMBED && check_rows(&p->op[i], s, e))
            return -1;
    for (int g = 0; g < b->ngroup && p->last_store >= 0; g++)
        for (int c = 0; c < s->ncol; c++) {
            int i = s->pos[c] / BE_PAGE;
            int32_t page;

            if (s->pos[c] < 0 || i >= s->npage[g])
                return err_set(e, ERR_USAGE, "position %ld has no page",
                               (long)s->pos[c]);
            page = s->pages[g][(size_t)s->seq[c] * (size_t)s->npage[g] +
                               (size_t)i];
            if (page < 0 || page >= b->group[g].npages)
                return err_set(e, ERR_USAGE, "position %ld has no page",
                               (long)s->pos[c]);
        }
    return 0;
}

/* Make *P hold N floats. */
static int room(float **p, size_t *cap, size_t n, struct err *e)
{
    if (n <= *cap)
        return 0;
    if (n > SIZE_MAX / 2 / sizeof(float))
        return err_nomem(e);
    free(*p);
    *cap = 0;
    *p = malloc(n * sizeof(float));
    if (!*p)
        return err_nomem(e);
    *cap = n;
    return 0;
}

/* Rows are looked up all over a table that may be most of the file, and that is
 * packed for the logits besides: what is mapped of it goes now and then. */
static void forget_rows(struct cpu_plan *p, int ncol)
{
    enum { OFTEN = 128 };

    for (int i = 0; i < p->nop; i++) {
        struct cpu_weight *w = p->op[i].w;

        if (p->op[i].o.op != BE_EMBED || w->nocache)
            continue;
        w->looked_up += ncol;
        if (w->looked_up < OFTEN)
            continue;
        w->looked_up = 0;
        map_forget(NULL, (const unsigned char *)w->data,
                   w->row * (size_t)w->n_out);
    }
}

int cpu_run(struct be *be, struct be_plan *plan, const struct be_step *s,
            const float **logits, struct err *e)
{
    struct cpu_plan *p = (struct cpu_plan *)plan;
    struct run r = {p, s, s->ncol >= CPU_MANY};
    size_t nwant = 0;

    assert(be == plan->be);
    *logits = NULL;
    for (int c = 0; c < s->ncol && s->want; c++)
        nwant += s->want[c] != 0;
    if (cpu_plan_bind(p, e) || check(p, s, e) ||
        room(&p->logits, &p->logits_cap, nwant * (size_t)p->n_vocab, e) ||
        room(&p->peaks, &p->peaks_cap, nwant * be_peaks_n(p->n_vocab), e) ||
        room(&p->part, &p->part_cap, cpu_attend_parts(p, s), e))
        return -1;
    p->bounds = cpu_head_wanted(p, s);
    p->ncol = (int)nwant;
    team_run(p->b->team, p->b->with[r.many], member, &r);
    if (p->bounds)
        cpu_head_judge(p);
    if (p->b->pack)
        forget_rows(p, s->ncol);
    if (nwant)
        *logits = p->logits;
    return 0;
}

const float *cpu_run_peaks(const struct be_plan *plan)
{
    return ((const struct cpu_plan *)plan)->peaks;
}
