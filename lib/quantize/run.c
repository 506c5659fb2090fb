/* SPDX-License-Identifier: MIT
 *
 * All tensors are cut into pieces of some thousand elements, whole blocks of
 * both types, which any thread reads, changes and writes to their place.  What
 * is held in memory is a piece for each thread. */
#include "quantize/run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "quantize/source.h"

enum {
    PIECE = 1 << 17, /* elements: a multiple of every block */
    SAMPLE = 1 << 20 /* elements that a measurement looks at, about */
};

/* Tensor I's first piece is FIRST of all. */
struct span {
    uint64_t at; /* in the file's data */
    int first;
};

struct work {
    const struct plan *p;
    const struct quantize_run *r;
    struct gguf_file *f; /* NULL: into memory, what changes alone */
    unsigned char *memory;
    struct span *span;
    unsigned char *room; /* PIECE floats and as many bytes, for each thread */
    pthread_mutex_t lock;
    uint64_t done, all; /* elements */
    bool failed;
    struct err *e;
};

enum { ROOM = PIECE * 12 }; /* floats in, and twice: what comes out */

#define NAME(t) ((t)->name.n < 80 ? (int)(t)->name.n : 80), (t)->name.p

static uint64_t elements(const struct gguf_tensor *t)
{
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

/* The weights of the columns of the row in which element AT is. */
static const float *weights_at(const struct plan_tensor *k, uint64_t at)
{
    uint64_t matrix = k->t->ne[0] * k->t->ne[1];

    return k->w ? k->w + at / matrix * k->t->ne[0] : NULL;
}

static int not_finite(const struct plan_tensor *k, uint64_t at, struct err *e)
{
    return err_set(e, ERR_FORMAT,
                   "tensor '%.*s': element %llu is not a finite number",
                   NAME(k->t), (unsigned long long)at);
}

/* N elements from AT of tensor K, as floats X, to blocks of TYPE at TO. */
static int change(unsigned char *to, const float *x, uint64_t at, uint64_t n,
                  const struct plan_tensor *k, const struct quantize_type *type,
                  struct err *e)
{
    uint64_t row = k->t->ne[0];

    while (n) {
        uint64_t column = at % row, some = row - column < n ? row - column : n;
        const float *w = weights_at(k, at);
        int64_t bad = type->row(to, x, w ? w + column : NULL, (int64_t)some);

        if (bad >= 0)
            return err_set(e, ERR_FORMAT,
                           "tensor '%.*s': element %llu is too great for %s",
                           NAME(k->t), (unsigned long long)(at + (uint64_t)bad),
                           type->name);
        to += some / (uint64_t)type->elems * (uint64_t)type->bytes;
        x += some;
        at += some;
        n -= some;
    }
    return 0;
}

/* Elements AT and on, of tensor K, to floats. */
static int load(float *x, uint64_t at, uint64_t n, const struct plan_tensor *k,
                const struct quantize *q, struct err *e)
{
    const struct gguf_type_info *from = gguf_type_info(k->t->type);
    const unsigned char *p = k->t->p + at / from->elems * from->bytes;
    int64_t bad;

    source_load(x, p, k->t->type, (int64_t)n, q);
    bad = q->bad(x, (int64_t)n);
    return bad < 0 ? 0 : not_finite(k, at + (uint64_t)bad, e);
}

static int piece(struct work *w, size_t tensor, uint64_t at, uint64_t n,
                 unsigned char *room, struct err *e)
{
    const struct plan_tensor *k = &w->p->tensor[tensor];
    const struct gguf_type_info *from = gguf_type_info(k->t->type),
                                *to = gguf_type_info(k->type);
    const unsigned char *p = k->t->p + at / from->elems * from->bytes;
    size_t in = (size_t)(n / from->elems * from->bytes);
    size_t out = (size_t)(n / to->elems * to->bytes);
    uint64_t place = w->span[tensor].at + at / to->elems * to->bytes;
    float *x = (float *)(void *)room;
    int rc;

    if (k->type == k->t->type) {
        rc = gguf_file_put(w->f, place, p, out, e);
    } else {
        room = w->f ? room + PIECE * sizeof *x : w->memory + place;
        rc = load(x, at, n, k, w->r->q, e);
        if (!rc)
            rc = change(room, x, at, n, k, quantize_type(w->r->q, k->type), e);
        if (!rc && w->f)
            rc = gguf_file_put(w->f, place, room, out, e);
    }
    map_forget(NULL, p, in);
    return rc;
}

static size_t tensor_of(const struct work *w, int job)
{
    size_t lo = 0, hi = w->p->n;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (w->span[mid].first <= job)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void job(void *arg, int i, int worker)
{
    struct work *w = arg;
    size_t tensor = tensor_of(w, i);
    uint64_t at = (uint64_t)(i - w->span[tensor].first) * PIECE;
    uint64_t n = elements(w->p->tensor[tensor].t) - at;
    struct err mine = {0};
    bool stop;

    pthread_mutex_lock(&w->lock);
    stop = w->failed;
    pthread_mutex_unlock(&w->lock);
    if (stop)
        return;
    n = n < PIECE ? n : PIECE;
    piece(w, tensor, at, n, w->room + (size_t)worker * ROOM, &mine);
    pthread_mutex_lock(&w->lock);
    if (mine.code && !w->failed) {
        w->failed = true;
        err_set(w->e, mine.code, "%s", mine.msg);
    }
    w->done += n;
    if (w->r->progress && !w->failed)
        w->r->progress(w->r->arg, w->done, w->all);
    pthread_mutex_unlock(&w->lock);
}

static bool left_out(const struct work *w, const struct plan_tensor *k)
{
    return !w->f && k->type == k->t->type;
}

/* Where each tensor goes, how many pieces there are, and bytes in all. */
static int layout(int *njob, uint64_t *bytes, struct work *w,
                  uint64_t alignment, struct err *e)
{
    uint64_t at = 0, jobs = 0;

    w->span = calloc(w->p->n + 1, sizeof *w->span);
    if (!w->span)
        return err_nomem(e);
    for (size_t i = 0; i < w->p->n; i++) {
        const struct plan_tensor *k = &w->p->tensor[i];

        w->span[i] = (struct span){at, (int)jobs};
        if (left_out(w, k))
            continue;
        at += (k->bytes + alignment - 1) & ~(alignment - 1);
        jobs += (elements(k->t) + PIECE - 1) / PIECE;
        w->all += elements(k->t);
        if (jobs > INT32_MAX)
            return err_set(e, ERR_UNSUPPORTED, "the model is too large");
    }
    *njob = (int)jobs;
    *bytes = at;
    return 0;
}

static int run_all(struct work *w, int njob, struct err *e)
{
    w->room = malloc((size_t)pool_size(w->r->pool) * ROOM);
    if (!w->room)
        return err_nomem(e);
    pthread_mutex_init(&w->lock, NULL);
    pool_run(w->r->pool, job, w, njob);
    pthread_mutex_destroy(&w->lock);
    free(w->room);
    return w->failed ? -1 : 0;
}

int quantize_write(const struct plan *p, struct gguf_file *f,
                   uint32_t alignment, const struct quantize_run *r,
                   struct err *e)
{
    struct work w = {.p = p, .r = r, .f = f, .e = e};
    uint64_t bytes;
    int njob, rc = layout(&njob, &bytes, &w, alignment, e);

    if (!rc)
        rc = run_all(&w, njob, e);
    free(w.span);
    return rc;
}

void quantize_made_free(struct quantize_made *m)
{
    free(m->p);
    free(m->tensor);
    *m = (struct quantize_made){0};
}

int quantize_memory(struct quantize_made *m, const struct plan *p,
                    const struct quantize_run *r, struct err *e)
{
    struct work w = {.p = p, .r = r, .e = e};
    int njob, rc;

    *m = (struct quantize_made){0};
    rc = layout(&njob, &m->bytes, &w, 64, e);
    m->tensor = calloc(p->n + 1, sizeof *m->tensor);
    m->p = rc || m->bytes > SIZE_MAX - 64
               ? NULL
               : aligned_alloc(64, (size_t)m->bytes + 64);
    if (!rc && (!m->p || !m->tensor))
        rc = err_nomem(e);
    w.memory = m->p;
    for (size_t i = 0; !rc && i < p->n; i++)
        if (!left_out(&w, &p->tensor[i]))
            m->tensor[m->n++] = (struct gguf_instead){i, p->tensor[i].type,
                                                      m->p + w.span[i].at};
    if (!rc)
        rc = run_all(&w, njob, e);
    free(w.span);
    if (rc)
        quantize_made_free(m);
    return rc;
}

/* ---- measuring ---- */

struct measure {
    const struct plan_tensor *k;
    const struct quantize_type *type;
    const struct quantize_run *r;
    uint64_t count, step, n; /* so many elements, of every so many rows */
    unsigned char *room;
    double *err, *all; /* of each */
    struct err *each;  /* of each thread */
};

static void measure_job(void *arg, int i, int worker)
{
    struct measure *m = arg;
    const struct plan_tensor *k = m->k;
    uint64_t at = (uint64_t)i * m->step * k->t->ne[0];
    float *x = (float *)(void *)(m->room + (size_t)worker * ROOM);
    float *y = x + PIECE;
    unsigned char *b = (unsigned char *)(y + PIECE);
    struct err *e = &m->each[worker];

    if (load(x, at, m->n, k, m->r->q, e) ||
        change(b, x, at, m->n, k, m->type, e))
        return;
    source_load(y, b, m->type->id, (int64_t)m->n, m->r->q);
    m->r->q->error(&m->err[i], &m->all[i], x, y, weights_at(k, at),
                   (int64_t)m->n);
}

static int measure_all(double *part, struct measure *m, struct err *e)
{
    double err = 0, all = 0;

    pool_run(m->r->pool, measure_job, m, (int)m->count);
    for (int i = 0; i < pool_size(m->r->pool); i++)
        if (m->each[i].code)
            return err_set(e, m->each[i].code, "%s", m->each[i].msg);
    for (uint64_t i = 0; i < m->count; i++) {
        err += m->err[i];
        all += m->all[i];
    }
    *part = all > 0 ? err / all : 0;
    return 0;
}

int quantize_measure(double *part, const struct plan_tensor *k, uint32_t type,
                     const struct quantize_run *r, struct err *e)
{
    struct measure m = {.k = k, .type = quantize_type(r->q, type), .r = r};
    uint64_t rows = k->t->ne[1] * k->t->ne[2] * k->t->ne[3];
    int rc = -1;

    *part = 0;
    if (type == k->t->type || !elements(k->t))
        return 0;
    m.n = k->t->ne[0] < PIECE ? k->t->ne[0] : PIECE;
    m.count = SAMPLE / m.n ? SAMPLE / m.n : 1;
    m.count = m.count < rows ? m.count : rows;
    m.step = rows / m.count;
    m.room = malloc((size_t)pool_size(r->pool) * ROOM);
    m.err = calloc((size_t)m.count * 2, sizeof *m.err);
    m.each = calloc((size_t)pool_size(r->pool), sizeof *m.each);
    if (m.room && m.err && m.each) {
        m.all = m.err + m.count;
        rc = measure_all(part, &m, e);
    } else {
        err_nomem(e);
    }
    free(m.room);
    free(m.err);
    free(m.each);
    return rc;
}
