/* SPDX-License-Identifier: MIT
 * draft_model.c - a model that guesses token by token.
 *
 * WORDS are the tokens that it has to read: those of the sequence, or, in
 * another vocabulary, those of its text (retext.c).  What of them is in the KV
 * cache, and still right, stays; with a full context only the newer half is
 * read, and of what came before a sequence is known to it no more than the time
 * that it is given for.
 */
#include "run/draft_model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/op/math/math.h"
#include "run/picker.h"
#include "run/retext.h"
#include "run/step.h"

enum { READ = 32 }; /* tokens, to know what a prompt costs */

struct small {
    struct drafter d;
    struct draft_model_opts o;
    struct step *step;
};

struct small_seq {
    struct small *m;
    struct kv_seq *kv;
    struct sampler *sampler;
    uint64_t key;
    struct ids words;
    int from;              /* words before this one do not fit in the context */
    int nwords;            /* those that are sure; guesses follow */
    bool ended;            /* it would end the text */
    bool knows;            /* it was asked before */
    struct retext *retext; /* NULL: one vocabulary */
};

static int small_open(void **out, struct drafter *d, uint64_t number,
                      const void *request, struct err *e)
{
    struct small *m = (struct small *)d;
    const struct run_request *q = request;
    struct small_seq *s = calloc(1, sizeof *s);
    struct run_request plain = {0};

    (void)number;
    if (!s)
        return err_nomem(e);
    s->m = m;
    s->key = q->key;
    if (m->o.target) {
        sample_defaults(&plain.sampling);
        plain.sampling.temp = 0;
        q = &plain;
    }
    if (picker_new(&s->sampler, q, m->o.tok, model_n_vocab(m->o.model), e) ||
        (m->o.target && !(s->retext = retext_new(m->o.target, m->o.tok, e)))) {
        sampler_free(s->sampler);
        free(s);
        return -1;
    }
    *out = s;
    return 0;
}

static void small_close(void *seq)
{
    struct small_seq *s = seq;

    kv_seq_free(s->kv);
    sampler_free(s->sampler);
    retext_free(s->retext);
    free(s->words.p);
    free(s);
}

static int small_begin(void *seq, const int32_t *t, int n, int same,
                       double worth, struct err *e)
{
    struct small_seq *s = seq;
    int context = model_context(s->m->o.model);
    int more = s->retext ? DRAFT_MAX * RETEXT_MORE : DRAFT_MAX;
    double most = worth / s->m->d.read;

    s->ended = false;
    if (s->retext) {
        if (retext_begin(s->retext, &s->words, t, n, same, e))
            return -1;
    } else {
        s->words.n = same < s->nwords ? same : s->nwords;
        for (int i = s->words.n; i < n; i++)
            if (ids_push(&s->words, t[i], e))
                return -1;
    }
    s->nwords = s->words.n;
    if (s->from > s->nwords)
        s->from = 0;
    if (!s->knows && s->nwords > most)
        s->from = s->nwords - (int)most;
    s->knows = true;
    if (s->nwords - s->from > context - more)
        s->from = s->nwords > context / 2 ? s->nwords - context / 2 : 0;
    if (s->nwords == s->from)
        s->ended = true; /* nothing to go on from */
    return 0;
}

/* The logits after all words. */
static int read_words(struct small_seq *s, const float **logits, struct err *e)
{
    const int32_t *t = s->words.p + s->from;
    int n = s->words.n - s->from;

    if (step_begin(s->m->o.kv, &s->kv, t, n, e))
        return -1;
    for (;;) {
        int at = kv_seq_n(s->kv), left = n - at;
        struct step_part p = {
            .seq = s->kv, .tok = t + at, .n = left, .want = STEP_LAST};

        if (left > s->m->o.chunk) {
            p.n = s->m->o.chunk;
            p.want = STEP_NONE;
        }
        if (step_run(s->m->step, &p, 1, logits, e))
            return -1;
        if (left <= s->m->o.chunk)
            return 0;
    }
}

/* One more of its own words: 1, or 0 where the text ends; *P is how probable it
 * was. */
static int word(struct small_seq *s, float *p, struct err *e)
{
    struct sample_result r = {0};
    const float *logits;
    int n = s->words.n;

    if (s->ended || n - s->from >= model_context(s->m->o.model))
        return 0;
    if (read_words(s, &logits, e))
        return -1;
    sampler_peaks(s->sampler, step_peaks(s->m->step, logits));
    if (sampler_pick(s->sampler, &r, logits, s->key, (uint64_t)n - 1,
                     s->words.p, n, NULL, true, e))
        return -1;
    *p = (float)kern_exp_f64((double)r.lp);
    if (r.id >= tok_count(s->m->o.tok) || tok_is_eog(s->m->o.tok, r.id)) {
        s->ended = true;
        return 0;
    }
    return ids_push(&s->words, (int32_t)r.id, e) ? -1 : 1;
}

static int small_next(void *seq, struct draft_token *g, struct err *e)
{
    struct small_seq *s = seq;
    float p = 1, all = 1;
    int got;

    g->sure = 0;
    if (!s->retext) {
        got = word(s, &all, e);
        if (got > 0)
            g->id = s->words.p[s->words.n - 1];
    } else {
        /* Words until a token is sure; each is one that it has to guess. */
        while (!(got = retext_next(s->retext, &g->id, s->ended, e)) &&
               s->words.n - s->nwords < DRAFT_MAX * RETEXT_MORE) {
            got = word(s, &p, e);
            all *= p;
            if (got < 0 ||
                (got && retext_add(s->retext, s->words.p[s->words.n - 1], e)))
                return -1;
            if (!got)
                return retext_next(s->retext, &g->id, true, e);
        }
    }
    g->sure = (int)(all * (DRAFT_CLASSES - 0.01f));
    if (g->sure < 0 || g->sure >= DRAFT_CLASSES)
        g->sure = 0;
    return got;
}

static void small_free(struct drafter *d)
{
    struct small *m = (struct small *)d;

    step_free(m->step);
    free(m);
}

/* A step of N tokens, and the seconds that it took. */
static int timed(struct small *m, struct kv_seq *seq, int n, double *seconds,
                 struct err *e)
{
    static const int32_t ids[READ];
    struct step_part p = {.seq = seq, .tok = ids, .n = n, .want = STEP_LAST};
    const float *logits;
    struct timespec from, to;
    int rc;

    clock_gettime(CLOCK_MONOTONIC, &from);
    rc = step_run(m->step, &p, 1, &logits, e);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *seconds = (double)(to.tv_sec - from.tv_sec) +
               (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    return rc;
}

/* The first step packs weights: let it be none that counts.  The next ones say
 * what a guess costs, and reading. */
static int warm_up(struct small *m, struct err *e)
{
    struct kv_seq *seq = kv_seq_new(m->o.kv);
    int room = model_context(m->o.model) - 3;
    int n = room < 1 ? 1 : room < READ ? room : READ, rc;

    if (!seq)
        return err_nomem(e);
    rc = timed(m, seq, 1, &m->d.guess, e) || timed(m, seq, 1, &m->d.guess, e) ||
         timed(m, seq, n, &m->d.read, e);
    m->d.read /= n;
    kv_seq_free(seq);
    return rc ? -1 : 0;
}

struct drafter *draft_model(const struct draft_model_opts *o, struct err *e)
{
    struct small *m = calloc(1, sizeof *m);

    if (!m) {
        err_nomem(e);
        return NULL;
    }
    m->o = *o;
    m->d = (struct drafter){.name = "model",
                            .cost = DRAFT_WORKS,
                            .open = small_open,
                            .begin = small_begin,
                            .next = small_next,
                            .close = small_close,
                            .free = small_free};
    for (int i = 0; i < DRAFT_CLASSES; i++)
        m->d.prior[i] = 0.2f + 0.8f * (float)i / DRAFT_CLASSES;
    m->step = step_new(o->model, o->kv, e);
    if (!m->step || warm_up(m, e)) {
        small_free(&m->d);
        return NULL;
    }
    return &m->d;
}
