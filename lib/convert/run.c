/* SPDX-License-Identifier: MIT
 *
 * Weights, from the folder's maps to the file.  All tensors are cut into runs
 * of rows, which any thread reads, changes and writes to their place: what is
 * held in memory is a run for each thread. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "convert/convert_impl.h"
#include "quantize/quantize.h"
#include "quantize/source.h"

enum {
    RUN = 1 << 18,  /* elements that a thread holds: those of a row at most */
    COPY = 32 << 20 /* bytes at a time of what stays as it is */
};

/* Tensor I's first job is FIRST of all; each of its jobs is ROWS rows. */
struct span {
    int first;
    uint64_t rows;
};

/* A file of the folder, open so that the system can copy from it. */
struct source {
    const char *path;
    int fd;
};

struct work {
    const struct convert *c;
    const struct convert_run *r;
    const struct quantize *q;
    struct gguf_file *f;
    struct span *span;
    struct buf sources; /* struct source */
    unsigned char *room;
    size_t each;   /* of ROOM, for a thread */
    uint64_t most; /* elements of a run */
    pthread_mutex_t lock;
    uint64_t done, all; /* bytes */
    bool failed;
    struct err *e;
};

/* ---- rows ---- */

/* Is T, all of it, bytes of the folder in their order? */
static bool as_is(const struct convert_tensor *t)
{
    static const struct {
        uint32_t type;
        enum safetensors_dtype dtype;
    } same[] = {{GGUF_T_F32, SAFETENSORS_F32},
                {GGUF_T_F16, SAFETENSORS_F16},
                {GGUF_T_BF16, SAFETENSORS_BF16}};

    if (t->made || t->turn || t->one)
        return false;
    for (size_t i = 0; i < t->npiece; i++) {
        size_t k = 0;

        while (k < 3 && t->piece[i].from->dtype != same[k].dtype)
            k++;
        if (k == 3 || t->type != same[k].type)
            return false;
    }
    return true;
}

static size_t row_bytes(const struct convert_tensor *t,
                        const struct safetensors_tensor *from)
{
    return (size_t)t->cols * safetensors_dtype_size(from->dtype);
}

/* Row R of T: which row of which piece it is, and how many follow it there. */
static const unsigned char *row_at(const struct convert_piece **piece,
                                   uint64_t *left,
                                   const struct convert_tensor *t, uint64_t r)
{
    size_t i = 0;

    /* All pieces have as many rows. */
    if (t->npiece > 1) {
        i = (size_t)(r / t->piece[0].rows);
        r %= t->piece[0].rows;
    }
    *piece = &t->piece[i];
    *left = t->piece[i].rows - r;
    return t->piece[i].from->p +
           (t->piece[i].first + r) * row_bytes(t, t->piece[i].from);
}

static uint32_t type_of(enum safetensors_dtype d)
{
    return d == SAFETENSORS_BF16  ? GGUF_T_BF16
           : d == SAFETENSORS_F16 ? GGUF_T_F16
                                  : GGUF_T_F32;
}

/* The row of a head that becomes row R: halves become pairs. */
static uint64_t turned(uint64_t r, uint64_t turn)
{
    uint64_t i = r % turn;

    return r - i + i / 2 + (i % 2) * (turn / 2);
}

static void load(float *x, const struct convert_piece *k,
                 const unsigned char *p, uint64_t n, uint64_t cols,
                 const struct quantize *q)
{
    if (k->scale)
        convert_load_f8(x, k, p, n, cols);
    else
        source_load(x, p, type_of(k->from->dtype), (int64_t)n, q);
}

static void load_rows(float *x, const struct convert_tensor *t, uint64_t r,
                      uint64_t n, const struct quantize *q)
{
    uint64_t left;
    const struct convert_piece *k;

    if (t->made) {
        memcpy(x, t->made + r * t->cols, (size_t)(n * t->cols) * sizeof *x);
        return;
    }
    if (t->turn) {
        for (uint64_t i = 0; i < n; i++) {
            const unsigned char *p =
                row_at(&k, &left, t, turned(r + i, t->turn));

            load(x + i * t->cols, k, p, t->cols, t->cols, q);
        }
        return;
    }
    while (n) {
        const unsigned char *p = row_at(&k, &left, t, r);

        left = left < n ? left : n;
        load(x, k, p, left * t->cols, t->cols, q);
        x += left * t->cols;
        r += left;
        n -= left;
    }
}

/* ---- what jobs do ---- */

static int bad_element(const struct convert_tensor *t, uint64_t at,
                       const char *what, struct err *e)
{
    uint64_t left, row = at / t->cols;
    const struct convert_piece *k;
    const unsigned char *p;

    if (t->made)
        return err_set(e, ERR_FORMAT, "tensor '%s': %s", t->name, what);
    p = row_at(&k, &left, t, t->turn ? turned(row, t->turn) : row);
    at = (uint64_t)(p - k->from->p) / safetensors_dtype_size(k->from->dtype) +
         at % t->cols;
    return err_set(e, ERR_FORMAT, "%s: tensor '%.100s': element %llu is %s",
                   k->from->path, k->from->name, (unsigned long long)at, what);
}

/* N rows from R on, which a thread has room for. */
static int change(const struct work *w, const struct convert_tensor *t,
                  uint64_t r, uint64_t n, unsigned char *room, struct err *e)
{
    const struct gguf_type_info *info = gguf_type_info(t->type);
    const struct quantize_type *type;
    float *x = (float *)(void *)room;
    int64_t count = (int64_t)(n * t->cols), bad;
    uint64_t at = t->at + r * t->cols / info->elems * info->bytes;
    char what[40] = "too great for ";

    load_rows(x, t, r, n, w->q);
    bad = w->q->bad(x, count);
    if (bad >= 0)
        return bad_element(t, r * t->cols + (uint64_t)bad, "no finite number",
                           e);
    for (int64_t i = 0; t->one && i < count; i++)
        x[i] += 1;
    if (t->type == GGUF_T_F32)
        return gguf_file_put(w->f, at, x, (size_t)count * sizeof *x, e);
    type = quantize_type(w->q, t->type);
    room += w->most * sizeof *x;
    bad = type->row(room, x, NULL, count);
    if (bad >= 0)
        return bad_element(t, r * t->cols + (uint64_t)bad,
                           strcat(what, type->name), e);
    return gguf_file_put(
        w->f, at, room, (size_t)(count / type->elems) * (size_t)type->bytes, e);
}

/* The file that T is in; below 0: only mapped. */
static int fd_of(const struct work *w, const struct safetensors_tensor *t)
{
    const struct source *s = (const struct source *)(const void *)w->sources.p;

    for (size_t i = 0; i < w->sources.n / sizeof *s; i++)
        if (s[i].path == t->path)
            return s[i].fd;
    return -1;
}

static void open_sources(struct work *w)
{
    for (size_t i = 0; i < convert_n(w->c); i++) {
        const struct convert_tensor *t = convert_at(w->c, i);

        for (size_t k = 0; as_is(t) && k < t->npiece; k++) {
            const char *path = t->piece[k].from->path;
            struct source *s;

            if (fd_of(w, t->piece[k].from) >= 0)
                continue;
            s = buf_add(&w->sources, sizeof *s);
            if (!s)
                return;
            *s = (struct source){path, open(path, O_RDONLY | O_CLOEXEC)};
            /* There may be more files than can be open at once. */
            if (s->fd < 0) {
                w->sources.n -= sizeof *s;
                return;
            }
        }
    }
}

static void close_sources(struct work *w)
{
    struct source *s = (struct source *)(void *)w->sources.p;

    for (size_t i = 0; i < w->sources.n / sizeof *s; i++)
        close(s[i].fd);
    buf_free(&w->sources);
}

static int copy(const struct work *w, const struct convert_tensor *t,
                uint64_t r, uint64_t n, struct err *e)
{
    while (n) {
        const struct convert_piece *k;
        uint64_t left;
        const unsigned char *p = row_at(&k, &left, t, r);
        size_t bytes = row_bytes(t, k->from);

        int fd = fd_of(w, k->from);

        left = left < n ? left : n;
        if (fd < 0
                ? gguf_file_put(w->f, t->at + r * bytes, p,
                                (size_t)left * bytes, e)
                : gguf_file_copy(w->f, t->at + r * bytes, fd, k->from->path,
                                 k->from->offset + (uint64_t)(p - k->from->p),
                                 left * bytes, e))
            return -1;
        r += left;
        n -= left;
    }
    return 0;
}

/* What was read need not stay. */
static void forget(const struct convert_tensor *t, uint64_t r, uint64_t n)
{
    while (n && !t->made) {
        const struct convert_piece *k;
        uint64_t left;
        const unsigned char *p = row_at(&k, &left, t, r);

        left = left < n ? left : n;
        map_forget(NULL, p, (size_t)left * row_bytes(t, k->from));
        r += left;
        n -= left;
    }
}

static size_t tensor_of(const struct work *w, int job)
{
    size_t lo = 0, hi = convert_n(w->c);

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
    const struct convert_tensor *t = convert_at(w->c, tensor);
    uint64_t rows = w->span[tensor].rows,
             r = (uint64_t)(i - w->span[tensor].first) * rows, n = t->rows - r;
    struct err mine = {0};
    bool stop;

    pthread_mutex_lock(&w->lock);
    stop = w->failed;
    pthread_mutex_unlock(&w->lock);
    if (stop)
        return;
    n = n < rows ? n : rows;
    if (as_is(t))
        copy(w, t, r, n, &mine);
    else
        change(w, t, r, n, w->room + (size_t)worker * w->each, &mine);
    forget(t, r, n);
    pthread_mutex_lock(&w->lock);
    if (mine.code && !w->failed) {
        w->failed = true;
        err_set(w->e, mine.code, "%s", mine.msg);
    }
    w->done += t->bytes / t->rows * n;
    if (w->r->progress && !w->failed)
        w->r->progress(w->r->arg, w->done, w->all);
    pthread_mutex_unlock(&w->lock);
}

/* ---- the whole ---- */

/* Rows of a job: those of whole heads where halves become pairs, so that what
 * is forgotten is nobody else's. */
static uint64_t job_rows(const struct convert_tensor *t)
{
    uint64_t bytes = t->npiece ? row_bytes(t, t->piece[0].from) : 4, n;

    n = as_is(t) ? COPY / (bytes ? bytes : 1) : RUN / (t->cols ? t->cols : 1);
    if (t->turn)
        n = n / t->turn * t->turn;
    n = n ? n : t->turn ? t->turn : 1;
    return n < t->rows ? n : t->rows;
}

static int layout(int *njob, struct work *w, struct err *e)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < convert_n(w->c); i++) {
        const struct convert_tensor *t = convert_at(w->c, i);
        uint64_t rows = job_rows(t);

        w->span[i] = (struct span){(int)jobs, rows};
        jobs += rows ? (t->rows + rows - 1) / rows : 0;
        w->all += t->bytes;
        if (!as_is(t) && rows * t->cols > w->most)
            w->most = rows * t->cols;
        if (jobs > INT32_MAX)
            return err_set(e, ERR_UNSUPPORTED, "the model is too large");
    }
    *njob = (int)jobs;
    return 0;
}

int convert_write(const struct convert *c, struct gguf_file *f,
                  const struct convert_run *r, struct err *e)
{
    struct work w = {.c = c, .r = r, .f = f, .e = e};
    struct quantize q;
    int njob = 0, rc = -1;

    quantize_init(&q, r->cpu);
    w.q = &q;
    w.span = calloc(convert_n(c) + 1, sizeof *w.span);
    pthread_mutex_init(&w.lock, NULL);
    if (!w.span)
        err_nomem(e);
    else
        rc = layout(&njob, &w, e);
    if (!rc) {
        /* Floats, and at most as many bytes of what they become. */
        w.each = (size_t)w.most * 8;
        w.room = malloc((size_t)pool_size(r->pool) * w.each + 1);
        rc = w.room ? 0 : err_nomem(e);
    }
    if (!rc) {
        open_sources(&w);
        pool_run(r->pool, job, &w, njob);
        close_sources(&w);
    }
    pthread_mutex_destroy(&w.lock);
    free(w.span);
    free(w.room);
    return rc || w.failed ? -1 : 0;
}
