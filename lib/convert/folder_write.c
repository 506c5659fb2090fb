/* SPDX-License-Identifier: MIT
 *
 * The weights of a folder's file: runs of rows, which any thread reads, changes
 * and writes to their place. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "convert/folder_impl.h"
#include "quantize/source.h"
#include "safetensors/write.h"

enum {
    RUN = 1 << 18
}; /* elements that a thread holds: those of a row at most
    */

struct work {
    const struct folder *f;
    const struct folder_file *file;
    struct newfile *to;
    const struct convert_run *r;
    struct quantize q;
    uint64_t head, before; /* bytes: of the front; of the files before */
    uint64_t *job;         /* each tensor's first */
    unsigned char *room;
    uint64_t most; /* elements of a run */
    pthread_mutex_t lock;
    uint64_t done;
    bool failed;
    struct err *e;
};

static uint32_t type_of(enum safetensors_dtype d)
{
    return d == SAFETENSORS_BF16  ? GGUF_T_BF16
           : d == SAFETENSORS_F16 ? GGUF_T_F16
                                  : GGUF_T_F32;
}

/* The row of the GGUF that row R of the folder's tensor is: pairs become
 * halves. */
static uint64_t source_row(const struct folder_tensor *t, uint64_t r)
{
    uint64_t i;

    if (!t->turn)
        return t->first + r;
    i = r % t->turn;
    return r - i + (i < t->turn / 2 ? 2 * i : 2 * (i - t->turn / 2) + 1);
}

/* Rows that follow each other there, too. */
static uint64_t together(const struct folder_tensor *t, uint64_t n)
{
    return t->turn ? 1 : n;
}

static const unsigned char *row_at(const struct folder_tensor *t, uint64_t r)
{
    const struct gguf_type_info *info = gguf_type_info(t->from->type);

    return t->from->p + source_row(t, r) * t->cols / info->elems * info->bytes;
}

static int bad(const struct folder_tensor *t, uint64_t at, const char *what,
               struct err *e)
{
    return err_set(e, ERR_FORMAT, "tensor '%.*s': element %llu of '%s' is %s",
                   (int)t->from->name.n, t->from->name.p,
                   (unsigned long long)at, t->name, what);
}

/* N rows from R on, by way of floats, to ROOM. */
static int change(const struct work *w, const struct folder_tensor *t,
                  uint64_t r, uint64_t n, unsigned char *room, struct err *e)
{
    const struct quantize_type *type;
    float *x = (float *)(void *)room;
    int64_t count = (int64_t)(n * t->cols), at;
    size_t size = safetensors_dtype_size(t->dtype);
    uint64_t to = w->head + t->at + r * t->cols * size;

    for (uint64_t i = 0; i < n; i += together(t, n))
        source_load(x + i * t->cols, row_at(t, r + i), t->from->type,
                    (int64_t)(together(t, n) * t->cols), &w->q);
    at = w->q.bad(x, count);
    if (at >= 0)
        return bad(t, r * t->cols + (uint64_t)at, "no finite number", e);
    for (int64_t i = 0; t->one && i < count; i++)
        x[i] -= 1;
    if (t->dtype == SAFETENSORS_F32)
        return newfile_put(w->to, to, x, (size_t)count * size, e);
    type = quantize_type(&w->q, type_of(t->dtype));
    room += w->most * sizeof *x;
    at = type->row(room, x, NULL, count);
    if (at >= 0)
        return bad(t, r * t->cols + (uint64_t)at, "too great for F16", e);
    return newfile_put(w->to, to, room, (size_t)count * size, e);
}

/* The same of rows that stay as they are. */
static int move(const struct work *w, const struct folder_tensor *t, uint64_t r,
                uint64_t n, unsigned char *room, struct err *e)
{
    size_t size = (size_t)t->cols * safetensors_dtype_size(t->dtype);
    uint64_t to = w->head + t->at + r * size;

    if (!t->turn)
        return newfile_put(w->to, to, row_at(t, r), (size_t)n * size, e);
    for (uint64_t i = 0; i < n; i++)
        memcpy(room + i * size, row_at(t, r + i), size);
    return newfile_put(w->to, to, room, (size_t)n * size, e);
}

/* Rows of a job: whole heads where pairs become halves. */
static uint64_t job_rows(const struct folder_tensor *t)
{
    uint64_t n = RUN / t->cols;

    if (t->turn)
        n = n / t->turn * t->turn;
    n = n ? n : t->turn ? t->turn : 1;
    return n < t->rows ? n : t->rows;
}

static size_t tensor_of(const struct work *w, uint64_t job)
{
    size_t lo = 0, hi = w->file->n;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (w->job[mid] <= job)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void job(void *arg, int i, int worker)
{
    struct work *w = arg;
    size_t k = tensor_of(w, (uint64_t)i);
    const struct folder_tensor *t = folder_at(w->f, w->file->first + k);
    uint64_t rows = job_rows(t), r = ((uint64_t)i - w->job[k]) * rows,
             n = t->rows - r < rows ? t->rows - r : rows;
    unsigned char *room = w->room + (size_t)worker * (size_t)w->most * 8;
    struct err mine = {0};
    bool stop;

    pthread_mutex_lock(&w->lock);
    stop = w->failed;
    pthread_mutex_unlock(&w->lock);
    if (stop)
        return;
    if (t->from->type == type_of(t->dtype) && !t->one)
        move(w, t, r, n, room, &mine);
    else
        change(w, t, r, n, room, &mine);
    /* What was read need not stay. */
    if (gguf_mapped(w->f->g))
        map_forget(NULL, row_at(t, t->turn ? r / t->turn * t->turn : r),
                   (size_t)(n * t->cols / gguf_type_info(t->from->type)->elems *
                            gguf_type_info(t->from->type)->bytes));
    pthread_mutex_lock(&w->lock);
    if (mine.code && !w->failed) {
        w->failed = true;
        err_set(w->e, mine.code, "%s", mine.msg);
    }
    w->done += t->bytes / t->rows * n;
    if (w->r->progress && !w->failed)
        w->r->progress(w->r->arg, w->before + w->done, w->f->bytes);
    pthread_mutex_unlock(&w->lock);
}

static int put_front(struct work *w, struct err *e)
{
    struct safetensors_out o = {0};
    struct buf head = {0};
    int rc;

    for (size_t i = 0; i < w->file->n; i++) {
        const struct folder_tensor *t = folder_at(w->f, w->file->first + i);

        safetensors_put(&o, t->name, t->dtype, t->ndim, t->shape);
    }
    rc = safetensors_head(&head, &o, e);
    w->head = head.n;
    if (!rc)
        rc = newfile_size(w->to, head.n + w->file->bytes, e);
    if (!rc)
        rc = newfile_put(w->to, 0, head.p, head.n, e);
    buf_free(&head);
    safetensors_fini(&o);
    return rc;
}

static int count_jobs(int *n, struct work *w, struct err *e)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < w->file->n; i++) {
        const struct folder_tensor *t = folder_at(w->f, w->file->first + i);
        uint64_t rows = job_rows(t);

        w->job[i] = jobs;
        jobs += (t->rows + rows - 1) / rows;
        if (rows * t->cols > w->most)
            w->most = rows * t->cols;
    }
    if (jobs > INT32_MAX)
        return err_set(e, ERR_UNSUPPORTED, "the model is too large");
    *n = (int)jobs;
    return 0;
}

int folder_put(const struct folder *f, size_t i, struct newfile *file,
               const struct convert_run *r, struct err *e)
{
    struct work w = {
        .f = f, .file = folder_file(f, i), .to = file, .r = r, .e = e};
    int njob = 0, rc;

    for (size_t k = 0; k < i; k++)
        w.before += folder_file(f, k)->bytes;
    quantize_init(&w.q, r->cpu);
    pthread_mutex_init(&w.lock, NULL);
    w.job = calloc(w.file->n + 1, sizeof *w.job);
    rc = w.job ? count_jobs(&njob, &w, e) : err_nomem(e);
    if (!rc)
        rc = put_front(&w, e);
    if (!rc) {
        /* Floats, and at most as many bytes of what they become. */
        w.room = malloc((size_t)pool_size(r->pool) * (size_t)w.most * 8 + 1);
        rc = w.room ? 0 : err_nomem(e);
    }
    if (!rc)
        pool_run(r->pool, job, &w, njob);
    pthread_mutex_destroy(&w.lock);
    free(w.job);
    free(w.room);
    return rc || w.failed ? -1 : 0;
}
