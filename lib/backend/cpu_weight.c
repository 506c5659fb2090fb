/* SPDX-License-Identifier: MIT
 * cpu_weight.c - weights, and their panels.
 *
 * A plan's matrices get places in one region, in the order in which the plan
 * reads them; gate and up of a feed-forward network stand panel beside panel,
 * because they are read so.  A panel is packed by the thread that first needs
 * it, and always the same thread needs it in one stage; stages are apart by
 * barriers, so the marks need no atomics. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cpu_impl.h"
#include "base/map.h"
#include "base/num.h"
#include "base/pages.h"

void cpu_weight_free(struct cpu_weight *w)
{
    if (!w)
        return;
    free(w->name);
    free(w->vec);
    free(w->done);
    free(w);
}

/* Shape and size, checked so that no later product of them overflows. */
static int measure(struct cpu_weight *w, const struct be_tensor *t,
                   struct err *e)
{
    const struct kern_quant *q = w->q;
    uint64_t bytes, rows;

    if (t->n_in < 1 || t->n_out < 1 || t->n_mat < 1 || t->n_in > CPU_MAX_DIM ||
        t->n_out > INT32_MAX - KERN_ROWS || t->n_mat > 1 << 16)
        return err_set(e, ERR_FORMAT, "%s: impossible shape", t->name);
    if (t->n_in % q->elems)
        return err_set(e, ERR_FORMAT,
                       "%s: rows of %lld elements, but %s has blocks of %d",
                       t->name, (long long)t->n_in, q->name, q->elems);
    w->row = (size_t)(t->n_in / q->elems) * (size_t)q->bytes;
    if (!mul_ok((uint64_t)t->n_out, (uint64_t)t->n_mat, &rows) ||
        !mul_ok(rows, w->row, &bytes) || bytes != t->bytes)
        return err_set(e, ERR_FORMAT, "%s: size does not fit its shape",
                       t->name);
    return 0;
}

/* Vectors are floats from here on. */
static int unpack(struct cpu_weight *w, struct err *e)
{
    size_t n = (size_t)(w->n_in * w->n_out);

    if (w->n_mat != 1 || w->n_in * w->n_out > CPU_MAX_DIM)
        return err_set(e, ERR_FORMAT, "%s: too large for a vector", w->name);
    w->vec = calloc(n + KERN_ROWS, sizeof *w->vec);
    if (!w->vec)
        return err_nomem(e);
    for (int64_t r = 0; r < w->n_out; r++)
        w->q->dequant(w->vec + r * w->n_in, w->data + (size_t)r * w->row,
                      w->n_in);
    return 0;
}

static int matrix(struct cpu_weight *w, struct err *e)
{
    int block = kern_act_block(w->q->act);
    uint64_t bytes, stride;

    if (!w->q->mul)
        return err_set(e, ERR_UNSUPPORTED, "%s: no products with %s", w->name,
                       w->q->name);
    if (w->n_in % block)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: rows of %lld elements of %s are no multiple of %d",
                       w->name, (long long)w->n_in, w->q->name, block);
    w->npanel = (w->n_out + KERN_ROWS - 1) / KERN_ROWS;
    w->panel = kern_panel(w->q, w->n_in);
    w->rows = w->q->layout && !strcmp(w->q->layout, "rows");
    stride = (w->panel + CPU_LINE - 1) / CPU_LINE * CPU_LINE;
    if (!mul_ok((uint64_t)(w->npanel * w->n_mat), stride, &bytes) ||
        bytes > SIZE_MAX / 4)
        return err_set(e, ERR_FORMAT, "%s: impossible shape", w->name);
    return 0;
}

be_w cpu_weight_add(struct be *be, const struct be_tensor *t, enum be_use use,
                    struct err *e)
{
    struct cpu *b = (struct cpu *)be;
    struct cpu_weight *w;
    int rc;

    if (b->nw == b->cap_w) {
        size_t cap = b->cap_w ? b->cap_w * 2 : 64;
        struct cpu_weight **more =
            realloc(b->w, cap * sizeof(struct cpu_weight *));

        if (!more)
            return (be_w)(err_nomem(e), 0);
        b->w = more;
        b->cap_w = cap;
    }
    w = calloc(1, sizeof *w);
    if (!w || !(w->name = strdup(t->name))) {
        free(w);
        return (be_w)(err_nomem(e), 0);
    }
    w->q = kern_quant_find(&b->kern, t->type);
    w->use = use;
    w->n_in = t->n_in;
    w->n_out = t->n_out;
    w->n_mat = t->n_mat;
    w->data = t->data;
    w->nocache = t->nocache;
    if (!w->q || !w->q->dequant)
        rc = err_set(e, ERR_UNSUPPORTED, "%s: weights of type %u are not known",
                     t->name, (unsigned)t->type);
    else
        rc = measure(w, t, e);
    if (!rc && use == BE_VECTOR)
        rc = unpack(w, e);
    if (!rc && use == BE_MATRIX)
        rc = matrix(w, e);
    if (rc) {
        cpu_weight_free(w);
        return 0;
    }
    b->w[b->nw++] = w;
    return (be_w)b->nw;
}

/* ---- places ---- */

/* Weights that wait for a place in one region, and where in it. */
struct placing {
    struct cpu_weight **w;
    size_t *offset;
    size_t n, bytes;
};

static size_t line_up(size_t n)
{
    return (n + CPU_LINE - 1) / CPU_LINE * CPU_LINE;
}

static void place(struct placing *l, struct cpu_weight *w, size_t offset,
                  size_t stride)
{
    w->stride = stride;
    l->w[l->n] = w;
    l->offset[l->n++] = offset;
}

static bool waits(const struct cpu_weight *w, bool nocache)
{
    return w && w->use == BE_MATRIX && !w->stride && w->nocache == nocache;
}

/* W, and W2 between its panels when they are read together. */
static bool place_pair(struct placing *l, struct cpu_weight *w,
                       struct cpu_weight *w2, bool nocache)
{
    struct cpu_weight *both[] = {w, w2};
    uint64_t n, stride;

    if (waits(w, nocache) && waits(w2, nocache) && w != w2 &&
        w->npanel == w2->npanel && w->n_mat == w2->n_mat) {
        stride = line_up(w->panel) + line_up(w2->panel);
        if (!mul_ok((uint64_t)(w->npanel * w->n_mat), stride, &n))
            return false;
        place(l, w, l->bytes, (size_t)stride);
        place(l, w2, l->bytes + line_up(w->panel), (size_t)stride);
        return add_ok(l->bytes, n, &n) && (l->bytes = (size_t)n, true);
    }
    for (int i = 0; i < 2; i++) {
        if (!waits(both[i], nocache))
            continue;
        stride = line_up(both[i]->panel);
        if (!mul_ok((uint64_t)(both[i]->npanel * both[i]->n_mat), stride, &n))
            return false;
        place(l, both[i], l->bytes, (size_t)stride);
        if (!add_ok(l->bytes, n, &n) || n > SIZE_MAX / 2)
            return false;
        l->bytes = (size_t)n;
    }
    return true;
}

static int settle(struct cpu *b, struct placing *l, bool nocache)
{
    struct cpu_region *r = &b->region[b->nregion];
    bool shared = false;

    *r = (struct cpu_region){.n = l->bytes};
    if (!nocache && b->share_dir)
        shared = cpu_share_open(b, r, l->w, l->n, l->offset, l->bytes);
    if (!shared && !(r->p = pages_alloc(l->bytes)))
        return -1;
    b->nregion++;
    for (size_t i = 0; i < l->n; i++) {
        struct cpu_weight *w = l->w[i];

        if (!shared && !(w->done = calloc((size_t)(w->npanel * w->n_mat), 1)))
            return -1;
        w->packed = r->p + l->offset[i];
    }
    return 0;
}

int cpu_weight_place(struct cpu *b, const struct cpu_plan *p, struct err *e)
{
    struct placing l = {0};
    struct cpu_region *more;
    int rc = 0;

    if (!b->pack)
        return 0;
    more = realloc(b->region, (size_t)(b->nregion + 2) * sizeof *more);
    if (!more)
        return err_nomem(e);
    b->region = more;
    l.w = calloc(b->nw + 1, sizeof(struct cpu_weight *));
    l.offset = calloc(b->nw + 1, sizeof(size_t));
    if (!l.w || !l.offset)
        rc = -1;
    for (int made = 0; made < 2 && !rc; made++) {
        l.n = l.bytes = 0;
        for (int i = 0; i < p->nop && !rc; i++) {
            const struct cpu_op *op = &p->op[i];

            if (!place_pair(&l, op->w, op->w2, made) ||
                !place_pair(&l, op->w3, NULL, made))
                rc = -1;
        }
        if (!rc && l.n)
            rc = settle(b, &l, made);
        if (rc) /* they have no place after all */
            for (size_t i = 0; i < l.n; i++) {
                free(l.w[i]->done);
                l.w[i]->done = NULL;
                l.w[i]->packed = NULL;
                l.w[i]->stride = 0;
            }
    }
    free(l.w);
    free(l.offset);
    return rc ? err_nomem(e) : 0;
}

/* ---- use ---- */

void cpu_weight_pack(const struct cpu_weight *w, int64_t m, int64_t p, void *to)
{
    int64_t row = p * KERN_ROWS, left = w->n_out - row;

    w->q->pack(to, w->data + (size_t)(m * w->n_out + row) * w->row, w->row,
               left < KERN_ROWS ? (int)left : KERN_ROWS, w->n_in);
}

const void *cpu_weight_first(struct cpu_weight *w, int64_t m, int64_t p,
                             void *scratch)
{
    int64_t i = m * w->npanel + p, row = p * KERN_ROWS;
    char *at = w->packed ? w->packed + (size_t)i * w->stride : scratch;

    /* Whole panels of rows are what the file has. */
    if (!w->packed && w->rows && w->n_out - row >= KERN_ROWS)
        return w->data + (size_t)(m * w->n_out + row) * w->row;
    cpu_weight_pack(w, m, p, at);
    if (w->packed)
        w->done[i] = 1;
    return at;
}

int64_t cpu_weight_forget(const struct cpu_weight *w, int64_t m, int64_t p0,
                          int64_t p1, bool last)
{
    enum { STEP = 2 << 20 };
    int64_t from, to;

    if (p0 >= p1 || (!last && (size_t)((p1 - p0) * KERN_ROWS) * w->row < STEP))
        return p0;
    from = p0 * KERN_ROWS;
    to = p1 * KERN_ROWS;
    if (to > w->n_out)
        to = w->n_out;
    if (!w->nocache)
        map_forget(NULL,
                   (const unsigned char *)w->data +
                       (size_t)(m * w->n_out + from) * w->row,
                   (size_t)(to - from) * w->row);
    return last ? INT64_MAX : p1;
}
