/* SPDX-License-Identifier: MIT
 * cpu_attend.c - heads: what is done to each before attention, and attention.
 *
 * A tile is columns of one sequence, and all heads of Q that share a head of K:
 * up to CPU_TILE_Q queries, which read K and V together.  Positions are taken
 * in chunks of CPU_CHUNK, counted from position 0.  Each chunk that a column
 * sees has its own softmax; the first is taken as it is, the others are merged
 * in order.  One thread may do them all, or several share them and merge
 * later: the bits are the same. */
#include <math.h>
#include <string.h>

#include "backend/cpu_impl.h"

/* ---- heads ---- */

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

/* Every operation of ST on piece I of slot S of column C. */
static void piece(struct cpu_ctx *x, const struct cpu_stage *st, enum be_slot s,
                  int i, int c)
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
        piece(x, st, (enum be_slot)s, i, c);
    }
}

/* ---- attention ---- */

/* One tile of one head of K. */
struct tile {
    struct cpu_ctx *x;
    const struct be_op *o;
    const struct cpu_layer *l;
    int head, group;
    int c0, c1; /* columns */
};

static int pos_of(const struct tile *t, int c)
{
    return t->x->s->pos[t->x->src[c]];
}

/* The first position that column C sees. */
static int first_of(const struct tile *t, int c)
{
    int pos = pos_of(t, c), w = t->o->window;

    return w && pos >= w ? pos - w + 1 : 0;
}

/* The queries, one after the other. */
static void gather(const struct tile *t)
{
    const struct cpu_ctx *x = t->x;
    size_t n = (size_t)t->group * (size_t)t->l->dk;

    for (int c = t->c0; c < t->c1; c++)
        memcpy(x->own->q + (size_t)(c - t->c0) * n,
               x->p->slot[BE_Q] + (size_t)c * (size_t)x->p->width[BE_Q] +
                   (size_t)t->head * n,
               n * sizeof(float));
}

/* The bounds of the first N queries, from the chunk's to those of its page at
 * AT. */
static void on_page(struct cpu_own *own, int at, int n)
{
    for (int i = 0; i < n; i++) {
        int lo = own->lo[i] - at, hi = own->hi[i] - at;

        lo = lo < 0 ? 0 : lo;
        hi = hi > BE_PAGE ? BE_PAGE : hi;
        own->page_lo[i] = lo < hi ? lo : 0;
        own->page_hi[i] = lo < hi ? hi : 0;
    }
}

/* Chunk NUMBER for the columns CA..CB-1 of T, all of which see some of it:
 * maxima, sums and unscaled O of their queries, in order. */
static void chunk(const struct tile *t, int number, int ca, int cb, float *m,
                  float *l, float *o)
{
    struct cpu_ctx *x = t->x;
    struct cpu_own *own = x->own;
    int g = t->group, nq = (cb - ca) * g, dk = t->l->dk, dv = t->l->dv,
        base = number * CPU_CHUNK, from = first_of(t, ca) - base,
        to = pos_of(t, cb - 1) + 1 - base, end;
    const float *q = own->q + (size_t)(ca - t->c0) * (size_t)(g * dk);

    from = from < 0 ? 0 : from / BE_PAGE * BE_PAGE;
    to = to > CPU_CHUNK ? CPU_CHUNK : to;
    end = (to + KERN_KV_TILE - 1) / KERN_KV_TILE * KERN_KV_TILE;
    for (int at = from; at < end; at += BE_PAGE) {
        int n = end - at < BE_PAGE ? end - at : BE_PAGE;
        const char *k =
            cpu_k(x->b, t->l, cpu_page(x, t->l->group, ca, base + at), t->head);

        x->k->score[x->b->ktype](own->s + at, CPU_CHUNK, q, (size_t)dk, nq, k,
                                 dk, n / KERN_KV_TILE);
    }
    for (int i = 0; i < nq; i++) {
        int c = ca + i / g, lo = first_of(t, c) - base,
            hi = pos_of(t, c) + 1 - base;

        own->lo[i] = lo < 0 ? 0 : lo;
        own->hi[i] = hi > CPU_CHUNK ? CPU_CHUNK : hi;
        x->k->softmax(own->s + (size_t)i * CPU_CHUNK, own->lo[i], own->hi[i],
                      end, t->o->scale, t->o->softcap, &m[i], &l[i]);
    }
    memset(o, 0, (size_t)nq * (size_t)dv * sizeof *o);
    for (int at = from; at < end; at += BE_PAGE) {
        const char *v =
            cpu_v(x->b, t->l, cpu_page(x, t->l->group, ca, base + at), t->head);

        on_page(own, at, nq);
        x->k->mix[x->b->vtype](o, (size_t)dv, own->s + at, CPU_CHUNK,
                               own->page_lo, own->page_hi, nq, v, dv);
    }
}

static void divide(float *to, const float *o, float l, int n)
{
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        float v __attribute__((vector_size(16)));

        memcpy(&v, o + i, sizeof v);
        v /= l;
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++)
        to[i] = o[i] / l;
}

static float *output(const struct tile *t, int c, int i)
{
    const struct cpu_plan *p = t->x->p;

    return p->slot[BE_ATT] + (size_t)c * (size_t)p->width[BE_ATT] +
           (size_t)(t->head * t->group + i) * (size_t)t->l->dv;
}

/* Columns CA..CB-1 of T that see some of chunk NUMBER: positions ascend, so
 * that the late ones see late chunks, and windows leave early ones behind. */
static bool seen(const struct tile *t, int number, int *ca, int *cb)
{
    for (*ca = t->c0; *ca < t->c1 && pos_of(t, *ca) < number * CPU_CHUNK;)
        ++*ca;
    for (*cb = t->c1;
         *cb > *ca && first_of(t, *cb - 1) >= (number + 1) * CPU_CHUNK;)
        --*cb;
    return *ca < *cb;
}

/* All chunks, by one thread. */
static void attend(const struct tile *t)
{
    struct cpu_own *own = t->x->own;
    int last = pos_of(t, t->c1 - 1) / CPU_CHUNK, g = t->group, dv = t->l->dv;
    int ca, cb;

    gather(t);
    for (int n = first_of(t, t->c0) / CPU_CHUNK; n <= last; n++) {
        if (!seen(t, n, &ca, &cb))
            continue;
        chunk(t, n, ca, cb, own->m[1], own->l[1], own->o[1]);
        for (int i = 0; i < (cb - ca) * g; i++) {
            int c = ca + i / g, to = (ca - t->c0) * g + i;
            float *o = own->o[0] + (size_t)to * (size_t)dv,
                  *o1 = own->o[1] + (size_t)i * (size_t)dv;

            if (n == first_of(t, c) / CPU_CHUNK) {
                own->m[0][to] = own->m[1][i];
                own->l[0][to] = own->l[1][i];
                memcpy(o, o1, (size_t)dv * sizeof *o);
            } else {
                t->x->k->merge(&own->m[0][to], &own->l[0][to], o, own->m[1][i],
                               own->l[1][i], o1, dv);
            }
        }
    }
    for (int i = 0; i < (t->c1 - t->c0) * g; i++)
        divide(output(t, t->c0 + i / g, i % g),
               own->o[0] + (size_t)i * (size_t)dv, own->l[0][i], dv);
}

/* ---- chunks shared ---- */

/* Of a step: chunks that its last position is in, counted from 0. */
static int chunks(const struct be_step *s)
{
    int n = 0;

    for (int c = 0; c < s->ncol; c++)
        if (n < s->pos[c] / CPU_CHUNK + 1)
            n = s->pos[c] / CPU_CHUNK + 1;
    return n;
}

size_t cpu_attend_parts(const struct cpu_plan *p, const struct be_step *s)
{
    size_t heads = 0;

    if (p->b->with[0] == 1 || s->ncol > CPU_SPLIT || chunks(s) < 2)
        return 0;
    for (int i = 0; i < p->nop; i++)
        if (p->op[i].o.op == BE_ATTEND && heads < (size_t)p->op[i].o.heads)
            heads = (size_t)p->op[i].o.heads;
    return (size_t)s->ncol * heads * (size_t)chunks(s) *
           (size_t)(p->head_v + 2);
}

/* The part of chunk NUMBER for head H of Q of column C: O, maximum, sum. */
static float *part(const struct tile *t, int c, int h, int number)
{
    size_t i = (size_t)c * (size_t)t->o->heads + (size_t)h;

    return t->x->p->part + (i * (size_t)chunks(t->x->s) + (size_t)number) *
                               (size_t)(t->l->dv + 2);
}

/* One chunk of a tile, into its part. */
static void attend_part(const struct tile *t, int number)
{
    struct cpu_own *own = t->x->own;
    int ca, cb, g = t->group, dv = t->l->dv;

    if (!seen(t, number, &ca, &cb))
        return;
    gather(t);
    chunk(t, number, ca, cb, own->m[1], own->l[1], own->o[1]);
    for (int i = 0; i < (cb - ca) * g; i++) {
        float *to = part(t, ca + i / g, t->head * g + i % g, number);

        memcpy(to, own->o[1] + (size_t)i * (size_t)dv, (size_t)dv * sizeof *to);
        to[dv] = own->m[1][i];
        to[dv + 1] = own->l[1][i];
    }
}

/* Heads of Q of all columns, shared evenly: their parts in order. */
static void merge_parts(struct tile *t)
{
    struct cpu_ctx *x = t->x;
    int heads = t->o->heads, dv = t->l->dv,
        to = (int)cpu_part((int64_t)x->ncol * heads, x->id + 1, x->n);

    for (int u = (int)cpu_part((int64_t)x->ncol * heads, x->id, x->n); u < to;
         u++) {
        int c = u / heads, h = u % heads, n = first_of(t, c) / CPU_CHUNK;
        float *from = part(t, c, h, n), *out, m = from[dv], l = from[dv + 1];

        t->head = h / t->group;
        out = output(t, c, h % t->group);
        memcpy(out, from, (size_t)dv * sizeof *out);
        while (++n <= pos_of(t, c) / CPU_CHUNK) {
            from = part(t, c, h, n);
            x->k->merge(&m, &l, out, from[dv], from[dv + 1], from, dv);
        }
        divide(out, out, l, dv);
    }
}

/* ---- the stage ---- */

/* Cut the columns into tiles; how many. */
static int tiles(struct cpu_ctx *x, int group)
{
    int most = CPU_TILE_Q / group, n = 0, from = 0;

    for (int c = 1; c <= x->ncol; c++)
        if (c == x->ncol || c - from >= most ||
            x->s->seq[x->src[c]] != x->s->seq[x->src[from]]) {
            x->own->tile[n++] = from;
            from = c;
        }
    x->own->tile[n] = x->ncol;
    return n;
}

/* Are chunks worth sharing?  Not when whole tiles keep all threads busy. */
static bool split(const struct cpu_ctx *x, int jobs)
{
    return cpu_attend_parts(x->p, x->s) && jobs < 4 * x->n && jobs % x->n;
}

/* Each thread does some heads of K whole, before attention and in it, and needs
 * nobody else's: a barrier less. */
bool cpu_attend_fused(struct cpu_ctx *x, struct cpu_stage *st)
{
    struct tile t = {.x = x};
    int heads, n, to;

    if (!st->fused)
        return false;
    t.o = &st[1].op[0]->o;
    t.l = &x->b->layer[t.o->layer];
    heads = t.l->heads;
    t.group = t.o->heads / heads;
    n = tiles(x, t.group);
    if (split(x, n * heads))
        return false;
    to = (int)cpu_part(heads, x->id + 1, x->n);
    for (t.head = (int)cpu_part(heads, x->id, x->n); t.head < to; t.head++) {
        for (int c = 0; c < x->ncol; c++) {
            for (int i = 0; i < t.group; i++)
                piece(x, st, BE_Q, t.head * t.group + i, c);
            piece(x, st, BE_K, t.head, c);
            piece(x, st, BE_V, t.head, c);
        }
        for (int i = 0; i < n; i++) {
            t.c0 = x->own->tile[i];
            t.c1 = x->own->tile[i + 1];
            attend(&t);
        }
    }
    cpu_run_barrier(x);
    return true;
}

void cpu_attend_stage(struct cpu_ctx *x, struct cpu_stage *st)
{
    struct tile t = {.x = x, .o = &st->op[0]->o};
    int stage = (int)(st - x->p->stage), heads, n, job, nchunk = 1;
    bool shared;

    t.l = &x->b->layer[t.o->layer];
    heads = t.l->heads;
    t.group = t.o->heads / heads;
    n = tiles(x, t.group);
    shared = split(x, n * heads);
    if (shared)
        nchunk = chunks(x->s);
    /* The last tiles see most: they come first. */
    while ((job = cpu_take(x, stage)) < n * heads * nchunk) {
        int at = n - 1 - job / (heads * nchunk);

        t.head = job % heads;
        t.c0 = x->own->tile[at];
        t.c1 = x->own->tile[at + 1];
        if (shared)
            attend_part(&t, job / heads % nchunk);
        else
            attend(&t);
    }
    if (shared) {
        cpu_run_barrier(x);
        merge_parts(&t);
    }
}
