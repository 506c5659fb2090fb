/* SPDX-License-Identifier: MIT */
#include "score/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/pool.h"

enum { MOST_BYTES = 128 << 20 }; /* of logits at once, of one model */

/* A row of logits, and the token that it expects. */
struct row {
    struct score_job *job;
    int i;
    bool bad; /* looking at it failed */
};

/* What a worker needs for itself. */
struct worker {
    float *w[2];
};

struct score {
    struct score_config c;
    struct step *step[2];
    struct pool *pool;
    struct worker *worker;
    kern_unary_fn *exp;
    size_t n_vocab;
    int rows; /* most that are wanted at once */
    struct score_job *active;
    /* Those that begin with another, and then the others. */
    struct queue {
        struct score_job *first, **end;
    } waiting[2];
    int nactive, nwaiting;
    struct step_part *part; /* [batch] */
    struct score_job **who;
    struct row *row; /* [rows] */
    int nrow;
    const float *logits[2];
};

static int nmodel(const struct score *s)
{
    return s->c.model[1] ? 2 : 1;
}

static int open_workers(struct score *s, struct err *e)
{
    int n = s->c.threads < 1 ? 1 : s->c.threads;

    s->pool = pool_new(n > POOL_MAX ? POOL_MAX : n, e);
    if (!s->pool)
        return -1;
    n = pool_size(s->pool);
    s->worker = calloc((size_t)n, sizeof *s->worker);
    if (!s->worker)
        return err_nomem(e);
    for (int i = 0; i < n; i++)
        for (int m = 0; m < nmodel(s); m++) {
            s->worker[i].w[m] = malloc(s->n_vocab * sizeof(float));
            if (!s->worker[i].w[m])
                return err_nomem(e);
        }
    return 0;
}

int score_new(struct score **out, const struct score_config *c, struct err *e)
{
    struct score *s = calloc(1, sizeof *s);
    struct kern k;

    if (!s)
        return err_nomem(e);
    for (int i = 0; i < 2; i++)
        s->waiting[i].end = &s->waiting[i].first;
    kern_init(&k, cpu_flags());
    s->exp = k.unary[KERN_EXP];
    s->c = *c;
    s->n_vocab = (size_t)model_n_vocab(c->model[0]);
    s->rows = (int)((size_t)MOST_BYTES / 4 / s->n_vocab);
    s->rows = s->rows < 1 ? 1 : s->rows > c->chunk ? c->chunk : s->rows;
    s->part = calloc((size_t)c->batch, sizeof *s->part);
    s->who = calloc((size_t)c->batch, sizeof *s->who);
    s->row = calloc((size_t)s->rows, sizeof *s->row);
    if (!s->part || !s->who || !s->row) {
        err_nomem(e);
        score_free(s);
        return -1;
    }
    if (c->model[1] && model_n_vocab(c->model[1]) != (int)s->n_vocab) {
        err_set(e, ERR_FORMAT, "the models have %zu and %d tokens", s->n_vocab,
                model_n_vocab(c->model[1]));
        score_free(s);
        return -1;
    }
    for (int m = 0; m < nmodel(s); m++)
        if (!(s->step[m] = step_new(c->model[m], c->kv[m], e))) {
            score_free(s);
            return -1;
        }
    if (open_workers(s, e)) {
        score_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void score_drop(struct score_job *job)
{
    for (int m = 0; m < 2; m++) {
        kv_seq_free(job->kv[m]);
        job->kv[m] = NULL;
    }
}

void score_free(struct score *s)
{
    if (!s)
        return;
    for (struct score_job *j = s->active; j; j = j->next)
        score_drop(j);
    for (int i = 0; s->worker && i < pool_size(s->pool); i++) {
        free(s->worker[i].w[0]);
        free(s->worker[i].w[1]);
    }
    free(s->worker);
    pool_free(s->pool);
    step_free(s->step[0]);
    step_free(s->step[1]);
    free(s->part);
    free(s->who);
    free(s->row);
    free(s);
}

int score_workers(const struct score *s)
{
    return pool_size(s->pool);
}

int score_free_slots(const struct score *s)
{
    return s->c.batch - s->nactive - s->nwaiting;
}

int score_busy(const struct score *s)
{
    return s->nactive + s->nwaiting;
}

void score_add(struct score *s, struct score_job *job)
{
    struct queue *q = &s->waiting[!job->begin];

    job->next = NULL;
    *q->end = job;
    q->end = &job->next;
    job->read = 0;
    job->kv[0] = job->kv[1] = NULL;
    s->nwaiting++;
}

static int finish(struct score *s, struct score_job *job, const struct err *why,
                  struct err *e)
{
    struct score_job **p = &s->active;

    while (*p != job)
        p = &(*p)->next;
    *p = job->next;
    s->nactive--;
    if (why || !job->keep)
        score_drop(job);
    return s->c.end(s->c.arg, job, why, e);
}

/* Its turn has come. */
static int begin(struct score *s, struct score_job *job, struct err *e)
{
    for (int m = 0; m < nmodel(s); m++) {
        struct kv_seq *from = job->begin ? job->begin->kv[m] : NULL;

        job->kv[m] = from ? kv_seq_fork(from) : kv_seq_new(s->c.kv[m]);
        if (!job->kv[m] ||
            (!m && job->adapt && kv_seq_adapt(job->kv[m], job->adapt, NULL)))
            return err_nomem(e);
    }
    job->read = job->begin ? job->begin->n : 0;
    return 0;
}

/* The one whose turn is next; there is one. */
static struct score_job *take(struct score *s)
{
    struct queue *q = &s->waiting[!s->waiting[0].first];
    struct score_job *job = q->first;

    q->first = job->next;
    if (!q->first)
        q->end = &q->first;
    s->nwaiting--;
    return job;
}

static int admit(struct score *s, struct err *e)
{
    while (s->nwaiting && s->nactive < s->c.batch) {
        struct score_job *job = take(s), **end = &s->active;
        struct err mine = {0};

        while (*end)
            end = &(*end)->next;
        *end = job;
        job->next = NULL;
        s->nactive++;
        for (int m = 0; m < nmodel(s) && !mine.code; m++)
            step_check(s->c.model[m], job->tok, job->n, s->c.context, &mine);
        if (mine.code || begin(s, job, &mine)) {
            if (mine.code == ERR_NOMEM) {
                *e = mine;
                return -1;
            }
            if (finish(s, job, &mine, e))
                return -1;
        }
    }
    return 0;
}

/* What is wanted of JOB is there. */
static bool done(const struct score_job *job)
{
    if (job->from < job->n)
        return job->read >= job->n - 1;
    return !job->keep || job->read >= job->n;
}

/* How many tokens of JOB come next, when LEFT and ROWS may, and whether their
 * logits are wanted. */
static int next(const struct score_job *job, int left, int rows,
                enum step_want *want)
{
    int first = job->from < job->n ? job->from - 1 : job->n;
    int n;

    if (done(job))
        return 0;
    if (job->read < first) {
        n = first - job->read;
        *want = STEP_NONE;
        return n < left ? n : left;
    }
    n = job->n - 1 - job->read;
    n = n < left ? n : left;
    *want = STEP_ALL;
    return n < rows ? n : rows;
}

/* The next tokens of as many jobs as may be; how many parts. */
static int gather(struct score *s)
{
    int left = s->c.chunk, rows = s->rows, n = 0;

    s->nrow = 0;
    for (struct score_job *j = s->active; j && left; j = j->next) {
        enum step_want want;
        int cols = next(j, left, rows, &want);

        if (cols <= 0)
            continue;
        s->who[n] = j;
        s->part[n++] = (struct step_part){
            .seq = j->kv[0], .tok = j->tok + j->read, .n = cols, .want = want};
        left -= cols;
        for (int i = 0; want == STEP_ALL && i < cols; i++)
            s->row[s->nrow++] = (struct row){j, j->read + i + 1, false};
        rows = s->rows - s->nrow;
    }
    return n;
}

static int look(struct score *s, const struct row *r, int worker, struct err *e)
{
    size_t at = s->n_vocab * (size_t)(r - s->row);
    struct score_dist d[2] = {0};

    for (int m = 0; m < nmodel(s); m++)
        if (score_dist(&d[m], s->logits[m] + at, s->n_vocab,
                       s->worker[worker].w[m], s->exp, e))
            return -1;
    return s->c.token(s->c.arg, r->job, r->i, &d[0], &d[1], worker, e);
}

static void look_one(void *arg, int i, int worker)
{
    struct score *s = arg;
    struct err e = {0};

    s->row[i].bad = look(s, &s->row[i], worker, &e) != 0;
}

/* The jobs that ended by this step, in order. */
static int finish_all(struct score *s, struct err *e)
{
    struct score_job *after;
    int i = 0;

    for (struct score_job *j = s->active; j; j = after) {
        struct err why = {0};

        after = j->next;
        /* Again, for what is wrong: the same, whoever found it. */
        for (; i < s->nrow && s->row[i].job == j; i++)
            if (s->row[i].bad && !why.code && !look(s, &s->row[i], 0, &why))
                err_set(&why, ERR_FORMAT, "a token cannot be scored");
        if (why.code == ERR_NOMEM) {
            *e = why;
            return -1;
        }
        if ((why.code || done(j)) && finish(s, j, why.code ? &why : NULL, e))
            return -1;
    }
    return 0;
}

int score_step(struct score *s, struct err *e)
{
    int n;

    if (admit(s, e))
        return -1;
    n = gather(s);
    for (int m = 0; n && m < nmodel(s); m++) {
        for (int i = 0; i < n; i++)
            s->part[i].seq = s->who[i]->kv[m];
        if (step_run(s->step[m], s->part, n, &s->logits[m], e))
            return -1;
    }
    pool_run(s->pool, look_one, s, s->nrow);
    for (int i = 0; i < n; i++)
        s->who[i]->read += s->part[i].n;
    return finish_all(s, e);
}
