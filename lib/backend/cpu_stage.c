/* SPDX-License-Identifier: MIT
 * cpu_stage.c - operations fused into stages.
 *
 * Stages are apart by barriers.  Within one, threads must not need what another
 * one writes; that decides what may stand together:
 *   PRODUCT: all products of one slot, after the norms that make it.  When
 *     columns are few each thread does the norms and the quantising for itself,
 *     and where it can be, all that the norms read and write is its own.
 *   COLS: whatever is done column by column, one thread for each.
 *   HEADS: what is done head by head, one thread for each head of a column.
 *   ADAPT: what is done row by row, each thread having the same rows of all
 *     that are as long. */
#include <stdlib.h>
#include <string.h>

#include "backend/cpu_impl.h"
#include "base/num.h"

bool cpu_stage_product(const struct cpu_op *op)
{
    return op->o.op == BE_MUL || op->o.op == BE_GLU || op->o.op == BE_ROUTE ||
           (op->o.op == BE_LOGITS && op->w);
}

static bool heads(const struct cpu_op *op)
{
    return op->o.op == BE_NORM_HEADS || op->o.op == BE_ROPE ||
           op->o.op == BE_SCALE_POS || op->o.op == BE_STORE;
}

static bool writes(const struct cpu_op *op, enum be_slot s)
{
    if (op->o.op == BE_STORE || op->o.op == BE_LOGITS || op->o.op == BE_ROUTE ||
        op->o.flags & BE_TO_LOGITS)
        return false;
    return op->o.out == s || (op->o.flags & BE_APART && s == BE_UP);
}

/* A plain norm into a slot that, until the next one, only it writes. */
static bool overwrites(const struct cpu_op *op, enum be_slot s)
{
    return op->o.op == BE_NORM && !(op->o.flags & BE_ACCUMULATE) &&
           op->o.out == s && op->o.in != s && op->n == op->width;
}

static bool private_norm(const struct cpu_plan *p, int i)
{
    enum be_slot s = p->op[i].o.out;

    if (!overwrites(&p->op[i], s))
        return false;
    for (int j = i + 1; j < p->nop && !overwrites(&p->op[j], s); j++)
        if (writes(&p->op[j], s))
            return false;
    return true;
}

/* Is slot S of a kind that every thread can keep for itself from the first
 * operation on: embeddings, to which norms add (Gemma's layers end so), and
 * which nobody reads but column by column? */
static bool resident(const struct cpu_plan *p, enum be_slot s)
{
    bool any = false;

    for (int i = 0; i < p->nop; i++) {
        const struct cpu_op *op = &p->op[i];
        bool embed = op->o.op == BE_EMBED,
             norm = op->o.op == BE_NORM && op->o.in != op->o.out;

        if (writes(op, s) && !embed && !(norm && op->o.flags & BE_ACCUMULATE))
            return false;
        if (!embed && op->o.in == s && !norm && !cpu_stage_product(op))
            return false;
        any |= embed && op->o.out == s;
    }
    return any;
}

/* What is private, and who reads it. */
static void mark(struct cpu_plan *p)
{
    bool own[BE_NSLOT] = {false}, always[BE_NSLOT];

    for (int s = 0; s < BE_NSLOT; s++)
        own[s] = always[s] = resident(p, (enum be_slot)s);
    for (int i = 0; i < p->nop; i++) {
        struct cpu_op *op = &p->op[i];
        enum be_slot out = op->o.out;

        op->in_own = own[op->o.in] && op->o.op != BE_STORE;
        if (op->o.op != BE_NORM && op->o.op != BE_EMBED)
            continue;
        op->out_own = always[out] || private_norm(p, i);
        if (op->out_own)
            p->own_slot[out] = true;
        if (overwrites(op, out))
            own[out] = op->out_own;
    }
}

/* ---- building ---- */

struct fuse {
    struct cpu_plan *p;
    struct cpu_op **next; /* where the stage's next operation is noted */
    struct cpu_op **wait; /* private norms that no stage has yet */
    int nwait;
};

static struct cpu_stage *begin(struct fuse *f, enum cpu_kind kind)
{
    struct cpu_stage *st = &f->p->stage[f->p->nstage++];

    st->kind = kind;
    if (kind == CPU_PRODUCT) {
        st->pre = f->wait;
        st->npre = f->nwait;
        f->wait += f->nwait;
        f->nwait = 0;
    }
    st->op = f->next;
    return st;
}

/* The last stage, if it is of KIND and no norm came after it. */
static struct cpu_stage *last(struct fuse *f, enum cpu_kind kind)
{
    struct cpu_stage *st = &f->p->stage[f->p->nstage - 1];

    return f->p->nstage && st->kind == kind && !f->nwait ? st : NULL;
}

static void append(struct fuse *f, struct cpu_stage *st, struct cpu_op *op)
{
    *f->next++ = op;
    st->nop++;
}

/* May product OP stand beside those of ST? */
static bool beside(const struct cpu_stage *st, const struct cpu_op *op)
{
    for (int i = 0; i < st->nop; i++) {
        const struct cpu_op *o = st->op[i];

        if (o->o.in != op->o.in || o->w->n_in != op->w->n_in ||
            writes(o, op->o.in) || o->w == op->w || o->w == op->w2 ||
            (o->w2 && (o->w2 == op->w || o->w2 == op->w2)))
            return false;
        if (op->o.op == BE_LOGITS || o->o.op == BE_LOGITS ||
            (o->o.op == op->o.op && op->o.op == BE_ROUTE))
            return false;
        /* Those of adapters each have a part of LOW. */
        for (int s = 0; s < BE_NSLOT; s++)
            if (writes(o, s) && writes(op, s) &&
                !(o->o.adapter && op->o.adapter))
                return false;
    }
    return true;
}

static void add_product(struct fuse *f, struct cpu_op *op)
{
    struct cpu_stage *st = last(f, CPU_PRODUCT);

    if (!st || !beside(st, op))
        st = begin(f, CPU_PRODUCT);
    op->job0 = st->njob;
    st->njob += op->njob;
    st->kinds |= 1u << op->w->q->act;
    st->twice = op->o.op == BE_LOGITS && op->w->q->act != KERN_ACT_F32;
    if (op->w2)
        st->kinds |= 1u << op->w2->q->act;
    st->sync |= writes(op, op->o.in);
    for (int i = 0; i < st->npre; i++)
        st->sync |= writes(op, st->pre[i]->o.in);
    append(f, st, op);
}

/* Norms that wait are done now when OP writes what they read, or reads what
 * they write otherwise than as a product does. */
static void settle(struct fuse *f, const struct cpu_op *op)
{
    bool now = false;

    for (int i = 0; i < f->nwait; i++) {
        const struct cpu_op *n = f->wait[i];

        now |= writes(op, n->o.in) && !cpu_stage_product(op);
        now |= op->o.in == n->o.out && !cpu_stage_product(op) &&
               op->o.op != BE_STORE;
    }
    if (now)
        begin(f, CPU_PRODUCT);
}

static bool adapts(const struct cpu_op *op)
{
    return op->o.op == BE_DELTA || op->o.op == BE_ACT;
}

/* Has a thread the rows of all that OP reads and writes in ST? */
static bool rows_agree(const struct cpu_stage *st, const struct cpu_op *op)
{
    for (int i = 0; i < st->nop; i++) {
        const struct be_op *a = &st->op[i]->o, *b = &op->o;
        bool logits = a->flags & b->flags & BE_TO_LOGITS,
             other = (a->flags | b->flags) & BE_TO_LOGITS;
        bool touch = logits || (!other && a->out == b->out) ||
                     (b->op == BE_ACT && b->in == a->out) ||
                     (a->op == BE_ACT && a->in == b->out);

        if (touch && st->op[i]->n != op->n)
            return false;
        if (b->op == BE_DELTA && writes(st->op[i], b->in))
            return false;
    }
    return true;
}

static void add(struct fuse *f, struct cpu_op *op)
{
    enum cpu_kind kind = heads(op)                ? CPU_HEADS
                         : op->o.op == BE_ATTEND  ? CPU_ATTEND
                         : op->o.op == BE_EXPERTS ? CPU_EXPERTS
                         : adapts(op)             ? CPU_ADAPT
                         : cpu_stage_product(op)  ? CPU_PRODUCT
                                                  : CPU_COLS;
    struct cpu_stage *st;

    /* What waits is done in order by one thread. */
    if (!op->out_own)
        settle(f, op);
    if (op->out_own) {
        f->wait[f->nwait++] = op;
    } else if (kind == CPU_PRODUCT) {
        add_product(f, op);
    } else {
        st = kind != CPU_ATTEND && kind != CPU_EXPERTS ? last(f, kind) : NULL;
        if (!st || (kind == CPU_ADAPT && !rows_agree(st, op)))
            st = begin(f, kind);
        append(f, st, op);
    }
    if (op->o.op == BE_STORE)
        f->p->last_store = f->p->nstage - 1;
}

/* ---- shares ---- */

static size_t job_bytes(const struct cpu_op *op)
{
    return op->w->panel + (op->w2 ? op->w2->panel : 0);
}

/* Contiguous jobs for each of N threads, as even as whole panels allow; NULL
 * when memory ran out. */
static int64_t *cut(struct cpu_plan *p, const struct cpu_stage *st, int n)
{
    int64_t *at = arena_array(&p->arena, (size_t)n + 1, sizeof *at);
    uint64_t all = 0, sum = 0;
    int t = 1;

    if (!at)
        return NULL;
    for (int i = 0; i < st->nop; i++)
        all += job_bytes(st->op[i]) * (uint64_t)st->op[i]->njob;
    for (int i = 0; i < st->nop; i++)
        for (int64_t j = 0; j < st->op[i]->njob; j++) {
            /* The job is the next thread's when its middle is. */
            while (t < n && (double)sum + (double)job_bytes(st->op[i]) / 2 >=
                                (double)all * t / n)
                at[t++] = st->op[i]->job0 + j;
            sum += job_bytes(st->op[i]);
        }
    while (t <= n)
        at[t++] = st->njob;
    return at;
}

/* Of the layer that stores last, Q is only used by columns that want logits. */
static void find_late(struct cpu_plan *p)
{
    struct cpu_stage *st;

    if (p->last_store < 1)
        return;
    st = &p->stage[p->last_store];
    if (st->kind != CPU_HEADS || st[-1].kind != CPU_PRODUCT)
        return;
    for (int i = 0; i < st[-1].nop; i++)
        if (st[-1].op[i]->o.op == BE_MUL && st[-1].op[i]->o.out == BE_Q)
            st[-1].op[i]->late = st[-1].late = st->late = true;
}

int cpu_stage_fuse(struct cpu_plan *p, struct err *e)
{
    struct fuse f = {.p = p};
    size_t n = (size_t)p->nop + 1;

    for (int i = 0; i < p->nop; i++)
        p->op[i].width = p->width[p->op[i].o.out];
    mark(p);
    /* An operation begins one stage at most, and settles norms in another. */
    p->stage = arena_array(&p->arena, 2 * n, sizeof *p->stage);
    f.next = arena_array(&p->arena, n, sizeof *f.next);
    f.wait = arena_array(&p->arena, n, sizeof *f.wait);
    if (!p->stage || !f.next || !f.wait)
        return err_nomem(e);
    p->last_store = -1;
    for (int i = 0; i < p->nop; i++)
        add(&f, &p->op[i]);
    find_late(p);
    if (p->nstage) {
        struct cpu_stage *st = &p->stage[p->nstage - 1];

        st->bounded = st->kind == CPU_PRODUCT && cpu_head_bounded(p, st);
        if (st->bounded &&
            !(p->exact = calloc((size_t)st->op[0]->w->npanel, 1)))
            return err_nomem(e);
    }
    for (int i = 0; i < p->nstage; i++)
        for (int k = 0; k < 2 && p->stage[i].kind == CPU_PRODUCT; k++)
            if (!(p->stage[i].cut[k] = cut(p, &p->stage[i], p->b->with[k])))
                return err_nomem(e);
    return 0;
}

/* ---- heads ---- */

/* Into how many pieces OP cuts slot S, of how many floats; 0: it leaves it
 * alone, or whole. */
static int pieces(const struct cpu_plan *p, const struct cpu_op *op,
                  enum be_slot s, int *size)
{
    if (op->o.op == BE_STORE && (s == BE_K || s == BE_V)) {
        const struct cpu_layer *l = &p->b->layer[op->o.layer];

        *size = s == BE_K ? l->dk : l->dv;
        return l->heads;
    }
    if (op->o.op == BE_STORE || op->o.op == BE_SCALE_POS || op->o.out != s)
        return 0;
    *size = op->o.head_dim;
    return op->o.heads;
}

/* A slot is cut into heads when all operations on it agree, else it is one
 * piece. */
static void cut_slot(const struct cpu_plan *p, struct cpu_stage *st,
                     enum be_slot s)
{
    st->piece[s] = 0;
    for (int j = 0; j < st->nop; j++) {
        int size, n = pieces(p, st->op[j], s, &size);

        if (!n)
            continue;
        if (!st->piece[s]) {
            st->piece[s] = n;
            st->size[s] = size;
        } else if (st->piece[s] != n || st->size[s] != size) {
            st->piece[s] = 1;
            st->size[s] = p->width[s];
            return;
        }
    }
    for (int j = 0; j < st->nop && !st->piece[s]; j++)
        if (st->op[j]->o.op == BE_SCALE_POS && st->op[j]->o.out == s) {
            st->piece[s] = 1;
            st->size[s] = p->width[s];
        }
}

/* Are the heads of ST exactly those that attention takes next? */
static bool fused(const struct cpu_plan *p, const struct cpu_stage *st)
{
    const struct be_op *o;
    const struct cpu_layer *l;

    if (st + 1 == p->stage + p->nstage || st[1].kind != CPU_ATTEND)
        return false;
    o = &st[1].op[0]->o;
    l = &p->b->layer[o->layer];
    for (int i = 0; i < st->nop; i++)
        if (st->op[i]->o.op == BE_STORE && st->op[i]->o.layer != o->layer)
            return false;
    return st->piece[BE_Q] == o->heads && st->size[BE_Q] == o->head_dim &&
           st->piece[BE_K] == l->heads && st->size[BE_K] == l->dk &&
           st->piece[BE_V] == l->heads && st->size[BE_V] == l->dv &&
           st->npiece == o->heads + 2 * l->heads;
}

void cpu_stage_pieces(struct cpu_plan *p)
{
    for (int i = 0; i < p->nstage; i++) {
        struct cpu_stage *st = &p->stage[i];

        if (st->kind != CPU_HEADS)
            continue;
        st->npiece = 0;
        for (int s = 0; s < BE_NSLOT; s++) {
            cut_slot(p, st, (enum be_slot)s);
            st->npiece += st->piece[s];
        }
        st->fused = fused(p, st);
    }
}
