/* SPDX-License-Identifier: MIT */
#include "score/imatrix.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "gguf/write_file.h"

/* What one tensor was multiplied with. */
struct entry {
    char *name;
    int64_t n_in, n_mat;
    double *sum;    /* [n_mat][n_in] */
    int64_t *count; /* [n_mat] */
    struct entry *next;
};

struct score_imatrix {
    struct be *be;
    pthread_mutex_t lock; /* of the list; sums are each one thread's */
    struct entry *first, **end, *last; /* in order of appearance; looked up */
    bool failed;                       /* memory ran out */
};

static struct entry *entry_new(const struct be_input *in)
{
    struct entry *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->name = strdup(in->weight);
    t->n_in = in->n_in;
    t->n_mat = in->n_mat;
    t->sum = calloc((size_t)(in->n_in * in->n_mat), sizeof *t->sum);
    t->count = calloc((size_t)in->n_mat, sizeof *t->count);
    if (t->name && t->sum && t->count)
        return t;
    free(t->name);
    free(t->sum);
    free(t->count);
    free(t);
    return NULL;
}

static bool is_of(const struct entry *t, const struct be_input *in)
{
    return t->n_in == in->n_in && t->n_mat == in->n_mat &&
           !strcmp(t->name, in->weight);
}

/* Most often it is the one that was looked up last, or the next. */
static struct entry *find(struct score_imatrix *m, const struct be_input *in)
{
    struct entry *t = m->last;

    if (t && is_of(t, in))
        return t;
    t = t && t->next ? t->next : m->first;
    for (struct entry *from = t; t && !is_of(t, in);) {
        t = t->next ? t->next : m->first;
        if (t == from)
            t = NULL;
    }
    if (!t && (t = entry_new(in))) {
        *m->end = t;
        m->end = &t->next;
    }
    m->failed |= !t;
    m->last = t ? t : m->last;
    return t;
}

static void add(void *arg, const struct be_input *in)
{
    struct score_imatrix *m = arg;
    struct entry *t;
    double *sum;

    pthread_mutex_lock(&m->lock);
    t = find(m, in);
    if (t && !in->from)
        t->count[in->mat] += in->ncol;
    pthread_mutex_unlock(&m->lock);
    if (!t)
        return;
    sum = t->sum + in->mat * t->n_in;
    for (int c = 0; c < in->ncol; c++) {
        const float *x = in->x + (size_t)c * in->ld;

        for (int64_t i = in->from; i < in->to; i++)
            sum[i] += (double)x[i] * (double)x[i];
    }
}

int score_imatrix_new(struct score_imatrix **out, struct be *be, struct err *e)
{
    struct score_imatrix *m = calloc(1, sizeof *m);

    if (!m || pthread_mutex_init(&m->lock, NULL)) {
        free(m);
        return err_nomem(e);
    }
    m->be = be;
    m->end = &m->first;
    be_tap(be, add, m);
    *out = m;
    return 0;
}

void score_imatrix_free(struct score_imatrix *m)
{
    if (!m)
        return;
    be_tap(m->be, NULL, NULL);
    while (m->first) {
        struct entry *t = m->first;

        m->first = t->next;
        free(t->name);
        free(t->sum);
        free(t->count);
        free(t);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- the file ---- */

static struct gguf_str str(const char *s)
{
    return (struct gguf_str){s, strlen(s)};
}

static int put_keys(struct gguf_out *o, const struct score_imatrix *m,
                    const char *dataset, int chunk, struct err *e)
{
    struct buf names = {0};
    int64_t most = 0;
    void *p = buf_add(&names, 8);
    int rc;

    for (const struct entry *t = m->first; t; t = t->next)
        for (int64_t i = 0; i < t->n_mat; i++)
            most = t->count[i] > most ? t->count[i] : most;
    if (p)
        wr_u64(p, strlen(dataset));
    buf_puts(&names, dataset);
    rc = buf_ok(&names, e);
    if (!rc) {
        gguf_put_str(o, "general.type", str("imatrix"));
        gguf_put_arr(o, "imatrix.datasets", GGUF_STR, 1, names.p, names.n);
        gguf_put_int(o, "imatrix.chunk_count", GGUF_U32,
                     (most + chunk - 1) / chunk);
        gguf_put_int(o, "imatrix.chunk_size", GGUF_U32, chunk);
    }
    buf_free(&names);
    return rc;
}

/* The tensor NAME with the end END, of ROWS of COLUMNS; its place. */
static int put_tensor(uint64_t *at, struct gguf_out *o, const char *name,
                      const char *end, int64_t columns, int64_t rows,
                      struct err *e)
{
    uint64_t ne[2] = {(uint64_t)columns, (uint64_t)rows};
    struct buf b = {0};
    int rc;

    buf_puts(&b, name);
    buf_puts(&b, end);
    *at = o->data;
    rc = buf_ok(&b, e);
    if (!rc)
        gguf_put_tensor(o, (struct gguf_str){(const char *)b.p, b.n},
                        GGUF_T_F32, 2, ne);
    buf_free(&b);
    return rc;
}

/* Both tensors of T from AT on. */
static int put_data(struct gguf_file *f, const struct entry *t, uint64_t sums,
                    uint64_t counts, struct err *e)
{
    size_t n = (size_t)(t->n_in * t->n_mat), nc = (size_t)t->n_mat;
    unsigned char *p = malloc((n + nc) * 4);
    int rc;

    if (!p)
        return err_nomem(e);
    for (size_t i = 0; i < n + nc; i++) {
        float v = i < n ? (float)t->sum[i] : (float)t->count[i - n];
        uint32_t bits;

        if (!isfinite(v)) {
            free(p);
            return err_set(e, ERR_FORMAT, "%s: its inputs are not finite",
                           t->name);
        }
        memcpy(&bits, &v, sizeof bits);
        wr_u32(p + 4 * i, bits);
    }
    rc = gguf_file_put(f, sums, p, 4 * n, e) ||
         gguf_file_put(f, counts, p + 4 * n, 4 * nc, e);
    free(p);
    return rc ? -1 : 0;
}

static int put_all(struct gguf_file *f, struct gguf_out *o,
                   const struct score_imatrix *m, struct err *e)
{
    size_t n = 0, i = 0;
    uint64_t *at;
    int rc = 0;

    for (const struct entry *t = m->first; t; t = t->next)
        n++;
    at = calloc(2 * n + 1, sizeof *at);
    if (!at)
        return err_nomem(e);
    for (const struct entry *t = m->first; t && !rc; t = t->next, i += 2)
        rc = put_tensor(&at[i], o, t->name, ".in_sum2", t->n_in, t->n_mat, e) ||
             put_tensor(&at[i + 1], o, t->name, ".counts", 1, t->n_mat, e);
    rc = rc || gguf_file_head(f, o, e);
    i = 0;
    for (const struct entry *t = m->first; t && !rc; t = t->next, i += 2)
        rc = put_data(f, t, at[i], at[i + 1], e);
    free(at);
    return rc ? -1 : 0;
}

int score_imatrix_write(const struct score_imatrix *m, const char *path,
                        const char *dataset, int chunk, struct err *e)
{
    struct gguf_file *f;
    struct gguf_out o;
    int rc;

    if (m->failed)
        return err_nomem(e);
    if (!m->first)
        return err_set(e, ERR_FORMAT, "%s: there was nothing to collect", path);
    if (gguf_file_open(&f, path, e))
        return -1;
    gguf_out_init(&o, 32);
    rc = put_keys(&o, m, dataset, chunk, e) || put_all(f, &o, m, e) ||
         gguf_file_close(f, e);
    if (rc)
        gguf_file_abandon(f);
    gguf_out_fini(&o);
    return rc ? -1 : 0;
}
