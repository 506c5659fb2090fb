/* SPDX-License-Identifier: MIT */
#include "embed/embed.h"

#include <stdlib.h>
#include <string.h>

#include "embed/vector.h"
#include "run/step.h"

struct embed {
    struct embed_config c;
    struct embed_head *head;
    struct step *step;
    enum model_pooling
        pool; /* never MODEL_POOL_RANK: what its classifier is given */
    bool both;
    size_t in, out, width; /* floats of an output, of the head's, and kept */
    int types;
    struct embed_job *active; /* in order of arrival */
    struct embed_job *waiting, **end;
    int nactive, nwaiting;
    struct step_part *part; /* [batch] */
    struct embed_job **who;
    float *pooled, *headed; /* [in], [out] */
};

enum model_pooling embed_pool_of(const struct model *m)
{
    enum model_pooling said = model_pooling(m);

    if (said != MODEL_POOL_UNSAID)
        return said;
    return model_both(m) ? MODEL_POOL_MEAN : MODEL_POOL_LAST;
}

/* What a classifier was made to look at. */
static enum model_pooling ranked_by(const struct model *m)
{
    if (!model_both(m))
        return MODEL_POOL_LAST;
    return !strcmp(model_arch(m), "modern-bert") ? MODEL_POOL_MEAN
                                                 : MODEL_POOL_CLS;
}

static int count_types(const struct model *m)
{
    const struct gguf_tensor *t =
        gguf_tensor(model_gguf(m), "token_types.weight");

    return t && t->ne[1] > 1 && t->ne[1] < INT32_MAX ? (int)t->ne[1] : 1;
}

static int prepare(struct embed *s, struct err *e)
{
    const struct embed_config *c = &s->c;

    if (embed_head_open(&s->head, c->model, c->pool == MODEL_POOL_RANK, e))
        return -1;
    s->in = (size_t)model_width(c->model);
    s->out = s->width = (size_t)embed_head_width(s->head);
    if (c->dims < 0 || (size_t)c->dims > s->out)
        return err_set(e, ERR_USAGE, "%d of %zu numbers cannot be kept",
                       c->dims, s->out);
    if (c->dims)
        s->width = (size_t)c->dims;
    s->pool = c->pool == MODEL_POOL_RANK ? ranked_by(c->model) : c->pool;
    s->both = model_both(c->model);
    if (s->both && c->chunk > model_context(c->model))
        s->c.chunk = model_context(c->model);
    s->types = count_types(c->model);
    s->part = calloc((size_t)c->batch, sizeof *s->part);
    s->who = calloc((size_t)c->batch, sizeof *s->who);
    s->pooled = malloc(s->in * sizeof *s->pooled);
    s->headed = malloc(s->out * sizeof *s->headed);
    if (!s->part || !s->who || !s->pooled || !s->headed)
        return err_nomem(e);
    s->step = step_new(c->model, c->kv, e);
    return s->step ? 0 : -1;
}

int embed_new(struct embed **out, const struct embed_config *c, struct err *e)
{
    struct embed *s = calloc(1, sizeof *s);

    if (!s)
        return err_nomem(e);
    s->c = *c;
    s->end = &s->waiting;
    if (prepare(s, e)) {
        embed_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

/* Let go of what JOB needed while it ran. */
static void settle(struct embed_job *job)
{
    kv_seq_free(job->kv);
    free(job->sum);
    job->kv = NULL;
    job->sum = NULL;
}

void embed_free(struct embed *s)
{
    if (!s)
        return;
    for (struct embed_job *j = s->active; j; j = j->next) {
        settle(j);
        free(j->v);
        j->v = NULL;
    }
    embed_head_free(s->head);
    step_free(s->step);
    free(s->part);
    free(s->who);
    free(s->pooled);
    free(s->headed);
    free(s);
}

int embed_width(const struct embed *s)
{
    return (int)s->width;
}

bool embed_by_token(const struct embed *s)
{
    return s->pool == MODEL_POOL_NONE;
}

struct gguf_str embed_label(const struct embed *s, int i)
{
    return embed_head_label(s->head, i);
}

int embed_types(const struct embed *s)
{
    return s->types;
}

int embed_free_slots(const struct embed *s)
{
    return s->c.batch - s->nactive - s->nwaiting;
}

int embed_busy(const struct embed *s)
{
    return s->nactive + s->nwaiting;
}

void embed_add(struct embed *s, struct embed_job *job)
{
    job->v = NULL;
    job->sum = NULL;
    job->kv = NULL;
    job->rows = job->read = 0;
    job->next = NULL;
    *s->end = job;
    s->end = &job->next;
    s->nwaiting++;
}

static int finish(struct embed *s, struct embed_job *job, const struct err *why,
                  struct err *e)
{
    struct embed_job **p = &s->active;

    while (*p != job)
        p = &(*p)->next;
    *p = job->next;
    s->nactive--;
    settle(job);
    if (why) {
        free(job->v);
        job->v = NULL;
        job->rows = 0;
    }
    return s->c.end(s->c.arg, job, why, e);
}

/* ---- a job begins ---- */

static int check(const struct embed *s, const struct embed_job *job,
                 struct err *e)
{
    if (step_check(s->c.model, job->tok, job->n, model_context(s->c.model), e))
        return -1;
    for (int i = 0; job->type && i < job->n; i++)
        if (job->type[i] < 0 || job->type[i] >= s->types)
            return err_set(e, ERR_FORMAT, "token %d is of type %d of %d", i,
                           (int)job->type[i], s->types);
    return 0;
}

static int begin(struct embed *s, struct embed_job *job, struct err *e)
{
    size_t rows = s->pool == MODEL_POOL_NONE ? (size_t)job->n : 1;

    if (check(s, job, e))
        return -1;
    if (rows > SIZE_MAX / sizeof(float) / s->width)
        return err_nomem(e);
    job->v = malloc(rows * s->width * sizeof *job->v);
    job->sum =
        s->pool == MODEL_POOL_MEAN ? calloc(s->in, sizeof *job->sum) : NULL;
    if (!job->v || (s->pool == MODEL_POOL_MEAN && !job->sum))
        return err_nomem(e);
    job->kv = kv_seq_new(s->c.kv);
    if (!job->kv || (job->adapt && kv_seq_adapt(job->kv, job->adapt, NULL)))
        return err_nomem(e);
    /* Where it is the last token alone that counts, what another list has begun
     * with in the same way need not be read again. */
    if (s->pool == MODEL_POOL_LAST && !s->both) {
        if (step_begin(s->c.kv, &job->kv, job->tok, job->n, e))
            return -1;
        job->read = kv_seq_n(job->kv);
    }
    return 0;
}

static int admit(struct embed *s, struct err *e)
{
    while (s->nwaiting && s->nactive < s->c.batch) {
        struct embed_job *job = s->waiting, **end = &s->active;
        struct err mine = {0};

        s->waiting = job->next;
        if (!s->waiting)
            s->end = &s->waiting;
        s->nwaiting--;
        while (*end)
            end = &(*end)->next;
        *end = job;
        job->next = NULL;
        s->nactive++;
        if (!begin(s, job, &mine))
            continue;
        if (mine.code == ERR_NOMEM) {
            *e = mine;
            return -1;
        }
        if (finish(s, job, &mine, e))
            return -1;
    }
    return 0;
}

/* ---- a step ---- */

/* Which outputs of the next N tokens of JOB are needed. */
static enum step_want wanted(const struct embed *s, const struct embed_job *job,
                             int n)
{
    switch (s->pool) {
    case MODEL_POOL_CLS:
        return job->read ? STEP_NONE : STEP_FIRST;
    case MODEL_POOL_LAST:
        return job->read + n == job->n ? STEP_LAST : STEP_NONE;
    default:
        return STEP_ALL;
    }
}

/* The next tokens of as many jobs as may be; how many parts. */
static int gather(struct embed *s)
{
    int left = s->c.chunk, n = 0;

    for (struct embed_job *j = s->active; j && left > 0; j = j->next) {
        int cols = j->n - j->read;

        /* Both ways: all of it, if need be alone. */
        if (s->both && n && cols > left)
            break;
        if (!s->both && cols > left)
            cols = left;
        s->who[n] = j;
        s->part[n++] =
            (struct step_part){.seq = j->kv,
                               .tok = j->tok + j->read,
                               .type = j->type ? j->type + j->read : NULL,
                               .n = cols,
                               .want = wanted(s, j, cols),
                               .forget = s->both};
        left -= cols;
    }
    return n;
}

/* The vector number ROW of JOB, of an output that is pooled. */
static void put(struct embed *s, struct embed_job *job, int row,
                const float *pooled)
{
    float *to = job->v + (size_t)row * s->width;

    embed_head_run(s->head, s->headed, pooled);
    memcpy(to, s->headed, s->width * sizeof *to);
    if (s->c.normal && s->c.pool != MODEL_POOL_RANK)
        embed_normal(to, s->width);
    job->rows = row + 1;
}

/* N outputs V of JOB, in order. */
static void take(struct embed *s, struct embed_job *job, const float *v, int n)
{
    for (int k = 0; k < n; k++, v += s->in) {
        if (s->pool != MODEL_POOL_MEAN)
            put(s, job, s->pool == MODEL_POOL_NONE ? job->read + k : 0, v);
        for (size_t i = 0; job->sum && i < s->in; i++)
            job->sum[i] += (double)v[i];
    }
}

static int complete(struct embed *s, struct embed_job *job, struct err *e)
{
    struct err why = {0};

    for (size_t i = 0; job->sum && i < s->in; i++)
        s->pooled[i] = (float)(job->sum[i] / job->n);
    if (job->sum)
        put(s, job, 0, s->pooled);
    if (!embed_finite(job->v, (size_t)job->rows * s->width))
        err_set(&why, ERR_FORMAT, "what the model makes of it is not finite");
    return finish(s, job, why.code ? &why : NULL, e);
}

int embed_step(struct embed *s, struct err *e)
{
    const float *v;
    int n;

    if (admit(s, e))
        return -1;
    n = gather(s);
    if (n && step_run(s->step, s->part, n, &v, e))
        return -1;
    for (int i = 0; i < n; i++) {
        struct embed_job *job = s->who[i];
        int rows = s->part[i].want == STEP_ALL    ? s->part[i].n
                   : s->part[i].want == STEP_NONE ? 0
                                                  : 1;

        take(s, job, v, rows);
        if (rows)
            v += (size_t)rows * s->in;
        job->read += s->part[i].n;
        if (job->read == job->n && complete(s, job, e))
            return -1;
    }
    return 0;
}
