/* SPDX-License-Identifier: MIT */
#include "score/apart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score/job.h"
#include "score/kept.h"

enum { CHUNK = 512 };

/* Tokens from AT on of all, that are read together; those that are scored have
 * the numbers from FIRST on. */
struct window {
    size_t at, first;
    int n;
};

struct score_apart {
    struct score_apart_config c;
    int32_t *tok;
    size_t ntok, cap;
    struct window *window;
    size_t nwindow, count;
    struct score_kept kept;
    float *kl;    /* [count] */
    bool keeping; /* what is run is the base */
    struct err failed;
};

int score_apart_new(struct score_apart **out,
                    const struct score_apart_config *c, struct err *e)
{
    struct score_apart *a = calloc(1, sizeof *a);

    if (!a)
        return err_nomem(e);
    a->c = *c;
    *out = a;
    return 0;
}

void score_apart_free(struct score_apart *a)
{
    if (!a)
        return;
    score_kept_free(&a->kept);
    free(a->tok);
    free(a->window);
    free(a->kl);
    free(a);
}

size_t score_apart_count(const struct score_apart *a)
{
    return a->count;
}

static int room(struct score_apart *a, size_t more, struct err *e)
{
    struct window *w = realloc(a->window, (a->nwindow + 1) * sizeof *w);
    int32_t *tok;

    if (!w)
        return err_nomem(e);
    a->window = w;
    if (a->ntok + more <= a->cap)
        return 0;
    a->cap = a->ntok + a->ntok / 2 + more;
    tok = realloc(a->tok, a->cap * sizeof *tok);
    if (!tok)
        return err_nomem(e);
    a->tok = tok;
    return 0;
}

int score_apart_add(struct score_apart *a, const int32_t *tok, size_t n,
                    struct err *e)
{
    bool bos = a->c.bos >= 0;
    size_t most = (size_t)(a->c.window - bos);

    if (bos && n && tok[0] == a->c.bos) {
        tok++;
        n--;
    }
    while (n > !bos) {
        size_t some = n < most ? n : most;

        if (room(a, some + bos, e))
            return -1;
        a->window[a->nwindow++] =
            (struct window){a->ntok, a->count, (int)(some + bos)};
        if (bos)
            a->tok[a->ntok++] = a->c.bos;
        memcpy(a->tok + a->ntok, tok, some * sizeof *tok);
        a->ntok += some;
        a->count += some + bos - 1;
        tok += some;
        n -= some;
    }
    return 0;
}

/* ---- a model over all windows ---- */

/* Numbers of 0 to 1, one for each place, that leave no gaps between them. */
static double turn(size_t at)
{
    double x = 0.5 + (double)at * 0.61803398874989484820;

    return x - floor(x);
}

static int token(void *arg, struct score_job *job, int i,
                 const struct score_dist *d, const struct score_dist *other,
                 int worker, struct err *e)
{
    struct score_apart *a = arg;
    const struct window *w = job->data;
    size_t at = w->first + (size_t)i - 1;
    struct score_kept *k = &a->kept;
    struct sample_top *top = k->top + at * k->k, *drawn = k->drawn + at * k->m;

    (void)other;
    (void)worker;
    (void)e;
    if (!a->keeping) {
        a->kl[at] = (float)score_kl_drawn(top, k->k, (double)k->tail[at], drawn,
                                          k->m, d);
        return 0;
    }
    score_top(top, k->k, d);
    k->tail[at] = (float)score_tail(d, top, k->k);
    if (!score_draw(drawn, k->m, d, top, k->k, turn(at)))
        k->tail[at] = -INFINITY;
    return 0;
}

static int ended(void *arg, struct score_job *job, const struct err *why,
                 struct err *e)
{
    struct score_apart *a = arg;

    (void)job;
    (void)e;
    if (why && !a->failed.code)
        a->failed = *why;
    return 0;
}

static int run_windows(struct score_apart *a, struct score *s,
                       struct score_job *job, struct err *e)
{
    size_t i = 0;

    while (i < a->nwindow || score_busy(s)) {
        for (; i < a->nwindow && score_free_slots(s); i++) {
            const struct window *w = &a->window[i];

            job[i] = (struct score_job){.tok = a->tok + w->at,
                                        .n = w->n,
                                        .from = 1,
                                        .data = &a->window[i]};
            score_add(s, &job[i]);
        }
        if (score_step(s, e))
            return -1;
        if (a->failed.code) {
            *e = a->failed;
            return -1;
        }
    }
    return 0;
}

static int run_model(struct score_apart *a, struct model *m, struct kv *kv,
                     struct err *e)
{
    struct score_config c = {.context = a->c.window,
                             .model = {m},
                             .kv = {kv},
                             .batch = a->c.batch,
                             .chunk = CHUNK,
                             .token = token,
                             .end = ended,
                             .arg = a};
    struct score_job *job = calloc(a->nwindow + 1, sizeof *job);
    struct score *s = NULL;
    struct be_stats stats;
    int rc;

    if (!job)
        return err_nomem(e);
    be_stats(&stats, model_be(m));
    c.threads = stats.threads_batch;
    rc = score_new(&s, &c, e) || run_windows(a, s, job, e);
    score_free(s);
    free(job);
    return rc ? -1 : 0;
}

/* Once the vocabulary's size is known. */
static int make_room(struct score_apart *a, struct model *m, struct err *e)
{
    size_t n = (size_t)model_n_vocab(m);

    a->kl = calloc(a->count + 1, sizeof *a->kl);
    if (!a->kl)
        return err_nomem(e);
    return score_kept_new(&a->kept, a->count,
                          n < SCORE_APART_TOP ? n : SCORE_APART_TOP,
                          n <= SCORE_APART_TOP ? 0 : SCORE_APART_DRAWN, e);
}

/* K and V are floats: it is the weights that are judged. */
static int open_and_run(struct score_apart *a, const struct gguf *g,
                        struct be *be, struct err *e)
{
    struct model_opts o = {
        .context = a->c.window, .ktype = KV_F32, .vtype = KV_F32};
    struct model *m = NULL;
    struct kv_config k;
    struct kv *kv = NULL;
    int rc = model_open(&m, g, be, &o, e);

    if (!rc) {
        k = *model_kv(m);
        k.positions = (int64_t)a->c.window * 2 * a->c.batch;
        k.context = a->c.window;
        k.max_batch = CHUNK;
        k.nseq = 2 * a->c.batch;
        rc = kv_new(&kv, be, &k, e);
    }
    if (!rc && a->keeping && !a->kl)
        rc = make_room(a, m, e);
    if (!rc)
        rc = run_model(a, m, kv, e);
    kv_free(kv);
    model_close(m);
    return rc;
}

static int run(struct score_apart *a, const struct gguf *g, struct err *e)
{
    /* Weights as they stand: there is no second copy of any. */
    struct be_opts o = {
        .threads = a->c.threads, .cpu_mask = ~0u, .model_path = gguf_path(g)};
    struct be *be;
    int rc;

    a->failed = (struct err){0};
    if (be_open(&be, "cpu", &o, e))
        return -1;
    rc = open_and_run(a, g, be, e);
    be_close(be);
    return rc;
}

int score_apart_base(struct score_apart *a, const struct gguf *g, struct err *e)
{
    a->keeping = true;
    return run(a, g, e);
}

int score_apart_from(struct score_mean *kl, struct score_apart *a,
                     const struct gguf *g, struct err *e)
{
    a->keeping = false;
    if (run(a, g, e))
        return -1;
    *kl = score_mean(a->kl, a->count);
    return 0;
}
