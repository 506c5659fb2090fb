/* SPDX-License-Identifier: MIT
 * cpu_attend.c - attention.
 *
 * A tile is columns of one sequence, or of several that begin on the same
 * pages, and all heads of Q that share a head of K: up to CPU_TILE_Q queries,
 * which read K and V together where these are one.  Positions are taken in
 * chunks of CPU_CHUNK, counted from position 0.  Each chunk that a column sees
 * has its own softmax; the first is taken as it is, the others are merged in
 * order.  One thread may do them all, or several share them and merge later:
 * the bits are the same. */
#include <string.h>

#include "backend/cpu_impl.h"

enum { PIECES = BE_PAGE / KERN_KV_TILE }; /* of a page */

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
    int pos = pos_of(t, c), w = t->o->window, lo;

    if (t->o->flags & BE_BOTH) {
        lo = t->x->p->seq_lo[t->x->src[c]];
        return w && pos - lo > w / 2 ? pos - w / 2 : lo;
    }
    return w && pos >= w ? pos - w + 1 : 0;
}

/* And the last one. */
static int last_of(const struct tile *t, int c)
{
    int pos = pos_of(t, c), w = t->o->window, hi;

    if (!(t->o->flags & BE_BOTH))
        return pos;
    hi = t->x->p->seq_hi[t->x->src[c]];
    return w && hi - pos > w / 2 ? pos + w / 2 : hi;
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

/* The bounds of the first N queries, from the chunk's to those of its SIZE
 * positions from AT on. */
static void bounds(struct cpu_own *own, int at, int size, int n)
{
    for (int i = 0; i < n; i++) {
        int lo = own->lo[i] - at, hi = own->hi[i] - at;

        lo = lo < 0 ? 0 : lo;
        hi = hi > size ? size : hi;
        own->page_lo[i] = lo < hi ? lo : 0;
        own->page_hi[i] = lo < hi ? hi : 0;
    }
}

/* With few queries the arithmetic of a page is not enough to hide how long the
 * next one takes to come. */
static void ask(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i += CPU_LINE)
        __builtin_prefetch(p + i, 0, 2);
}

/* K and V of position POS of column C, the first of a tile. */
static const char *k_at(const struct tile *t, int c, int pos)
{
    return cpu_k(t->x->b, t->l, cpu_page(t->x, t->l->group, c, pos), t->head) +
           t->l->k_head / PIECES * (size_t)(pos % BE_PAGE / KERN_KV_TILE);
}

static const char *v_at(const struct tile *t, int c, int pos)
{
    return cpu_v(t->x->b, t->l, cpu_page(t->x, t->l->group, c, pos), t->head) +
           t->l->v_head / PIECES * (size_t)(pos % BE_PAGE / KERN_KV_TILE);
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
        to = last_of(t, cb - 1) + 1 - base, end;
    bool few = x->ncol < CPU_MANY;
    int step = few ? KERN_KV_TILE : BE_PAGE;
    size_t kn = t->l->k_head / PIECES, vn = t->l->v_head / PIECES;
    const float *q = own->q + (size_t)(ca - t->c0) * (size_t)(g * dk);

    from = from < 0 ? 0 : from / BE_PAGE * BE_PAGE;
    to = to > CPU_CHUNK ? CPU_CHUNK : to;
    end = (to + KERN_KV_TILE - 1) / KERN_KV_TILE * KERN_KV_TILE;
    for (int at = from; at < end; at += step) {
        int n = end - at < step ? end - at : step;

        if (few && at + BE_PAGE < end)
            ask(k_at(t, ca, base + at + BE_PAGE), kn);
        else if (few)
            ask(v_at(t, ca, base + from + at % BE_PAGE), vn);
        x->k->score[x->b->ktype](own->s + at, CPU_CHUNK, q, (size_t)dk, nq,
                                 k_at(t, ca, base + at), dk, n / KERN_KV_TILE);
    }
    for (int i = 0; i < nq; i++) {
        int c = ca + i / g, lo = first_of(t, c) - base,
            hi = last_of(t, c) + 1 - base;

        own->lo[i] = lo < 0 ? 0 : lo;
        own->hi[i] = hi > CPU_CHUNK ? CPU_CHUNK : hi;
        x->k->softmax(own->s + (size_t)i * CPU_CHUNK, own->lo[i], own->hi[i],
                      end, t->o->scale, t->o->softcap, &m[i], &l[i]);
    }
    memset(o, 0, (size_t)nq * (size_t)dv * sizeof *o);
    for (int at = from; at < end; at += step) {
        if (few && at + BE_PAGE < end)
            ask(v_at(t, ca, base + at + BE_PAGE), vn);
        bounds(own, at, step, nq);
        x->k->mix[x->b->vtype](o, (size_t)dv, own->s + at, CPU_CHUNK,
                               own->page_lo, own->page_hi, nq,
                               v_at(t, ca, base + at), dv);
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

/* Do columns A and B see the whole of chunk NUMBER, and that on the same pages?
 */
static bool alike(const struct tile *t, int a, int b, int number)
{
    const struct cpu_ctx *x = t->x;
    int from = number * CPU_CHUNK, to = from + CPU_CHUNK;

    if (last_of(t, a) < to - 1 || last_of(t, b) < to - 1 ||
        first_of(t, a) > from || first_of(t, b) > from)
        return false;
    for (int pos = from; pos < to; pos += BE_PAGE)
        if (cpu_page(x, t->l->group, a, pos) !=
            cpu_page(x, t->l->group, b, pos))
            return false;
    return true;
}

static bool one_sequence(const struct tile *t, int a, int b)
{
    const struct cpu_ctx *x = t->x;

    return x->s->seq[x->src[a]] == x->s->seq[x->src[b]];
}

/* Columns CA..CB-1 of T, from CB on, that see chunk NUMBER together: of a
 * sequence, where positions ascend, all that see some of it; of others, those
 * that share the whole of it. */
static bool seen(const struct tile *t, int number, int *ca, int *cb)
{
    for (*ca = *cb;
         *ca < t->c1 && (last_of(t, *ca) < number * CPU_CHUNK ||
                         first_of(t, *ca) >= (number + 1) * CPU_CHUNK);)
        ++*ca;
    for (*cb = *ca;
         *cb < t->c1 &&
         (*cb == *ca || (one_sequence(t, *cb - 1, *cb)
                             ? first_of(t, *cb) < (number + 1) * CPU_CHUNK
                             : alike(t, *cb - 1, *cb, number)));)
        ++*cb;
    return *ca < *cb;
}

/* Chunk NUMBER of columns CA..CB-1, to what came before it. */
static void join(const struct tile *t, int number, int ca, int cb)
{
    struct cpu_own *own = t->x->own;
    int g = t->group, dv = t->l->dv;

    chunk(t, number, ca, cb, own->m[1], own->l[1], own->o[1]);
    for (int i = 0; i < (cb - ca) * g; i++) {
        int c = ca + i / g, to = (ca - t->c0) * g + i;
        float *o = own->o[0] + (size_t)to * (size_t)dv,
              *o1 = own->o[1] + (size_t)i * (size_t)dv;

        if (number == first_of(t, c) / CPU_CHUNK) {
            own->m[0][to] = own->m[1][i];
            own->l[0][to] = own->l[1][i];
            memcpy(o, o1, (size_t)dv * sizeof *o);
        } else {
            t->x->k->merge(&own->m[0][to], &own->l[0][to], o, own->m[1][i],
                           own->l[1][i], o1, dv);
        }
    }
}

/* All chunks, by one thread. */
static void attend(const struct tile *t)
{
    struct cpu_own *own = t->x->own;
    int first = INT32_MAX, last = 0, g = t->group, dv = t->l->dv;

    for (int c = t->c0; c < t->c1; c++) {
        int a = first_of(t, c) / CPU_CHUNK, b = last_of(t, c) / CPU_CHUNK;

        first = a < first ? a : first;
        last = b > last ? b : last;
    }
    gather(t);
    for (int n = first; n <= last; n++)
        for (int ca, cb = t->c0; seen(t, n, &ca, &cb);)
            join(t, n, ca, cb);
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
    int g = t->group, dv = t->l->dv;

    gather(t);
    for (int ca, cb = t->c0; seen(t, number, &ca, &cb);) {
        chunk(t, number, ca, cb, own->m[1], own->l[1], own->o[1]);
        for (int i = 0; i < (cb - ca) * g; i++) {
            float *to = part(t, ca + i / g, t->head * g + i % g, number);

            memcpy(to, own->o[1] + (size_t)i * (size_t)dv,
                   (size_t)dv * sizeof *to);
            to[dv] = own->m[1][i];
            to[dv + 1] = own->l[1][i];
        }
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
        while (++n <= last_of(t, c) / CPU_CHUNK) {
            from = part(t, c, h, n);
            x->k->merge(&m, &l, out, from[dv], from[dv + 1], from, dv);
        }
        divide(out, out, l, dv);
    }
}

/* ---- the stage ---- */

/* Cut the columns into tiles; how many.  JOIN: sequences that share the first
 * chunk of which they see all are taken together. */
static int cut(const struct tile *t, bool join)
{
    struct cpu_ctx *x = t->x;
    int most = CPU_TILE_Q / t->group, n = 0, from = 0;

    for (int c = 1; c <= x->ncol; c++)
        if (c == x->ncol || c - from >= most ||
            (!one_sequence(t, c - 1, c) &&
             !(join && alike(t, c - 1, c,
                             (first_of(t, c) + CPU_CHUNK - 1) / CPU_CHUNK)))) {
            x->own->tile[n++] = from;
            from = c;
        }
    x->own->tile[n] = x->ncol;
    return n;
}

/* Do so many tiles keep all threads busy? */
static bool enough(const struct cpu_ctx *x, int jobs)
{
    return jobs >= 4 * x->n || jobs % x->n == 0;
}

/* Tiles; SHARED: their chunks are worth sharing. */
static int tiles(const struct tile *t, bool *shared)
{
    const struct cpu_ctx *x = t->x;
    int n = cut(t, true);

    *shared = !enough(x, n * t->l->heads);
    if (*shared && !cpu_attend_parts(x->p, x->s)) {
        *shared = false;
        n = cut(t, false);
    }
    return n;
}

/* Each thread does some heads of K whole, before attention and in it, and needs
 * nobody else's: a barrier less. */
bool cpu_attend_fused(struct cpu_ctx *x, struct cpu_stage *st)
{
    struct tile t = {.x = x};
    int heads, n, to;
    bool shared;

    if (!st->fused)
        return false;
    t.o = &st[1].op[0]->o;
    t.l = &x->b->layer[t.o->layer];
    heads = t.l->heads;
    t.group = t.o->heads / heads;
    n = tiles(&t, &shared);
    if (shared)
        return false;
    to = (int)cpu_part(heads, x->id + 1, x->n);
    for (t.head = (int)cpu_part(heads, x->id, x->n); t.head < to; t.head++) {
        for (int c = 0; c < x->ncol; c++) {
            for (int i = 0; i < t.group; i++)
                cpu_heads_piece(x, st, BE_Q, t.head * t.group + i, c);
            cpu_heads_piece(x, st, BE_K, t.head, c);
            cpu_heads_piece(x, st, BE_V, t.head, c);
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
    n = tiles(&t, &shared);
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
