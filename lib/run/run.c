/* SPDX-License-Identifier: MIT
 * run.c - who runs when: steps of all sequences together. */
#include "run/run.h"

#include <stdlib.h>

#include "run/run_impl.h"

int run_new(struct run **out, const struct run_config *c, struct err *e)
{
    struct run *r = calloc(1, sizeof *r);

    if (!r)
        return err_nomem(e);
    r->c = *c;
    if (!r->c.chunk)
        r->c.chunk = RUN_CHUNK;
    if (!r->c.context)
        r->c.context = model_context(c->model);
    r->part = calloc((size_t)c->batch, sizeof *r->part);
    r->who = calloc((size_t)c->batch, sizeof *r->who);
    r->mask = calloc((size_t)model_n_vocab(c->model) / 64 + 1, sizeof *r->mask);
    if (!r->part || !r->who || !r->mask ||
        !(r->step = step_new(c->model, c->kv, e))) {
        err_nomem(e);
        run_free(r);
        return -1;
    }
    *out = r;
    return 0;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    for (struct live *l = r->active, *n; l; l = n) {
        n = l->next;
        live_free(l);
    }
    for (struct live *l = r->waiting, *n; l; l = n) {
        n = l->next;
        live_free(l);
    }
    step_free(r->step);
    sampler_free(r->scores);
    free(r->part);
    free(r->who);
    free(r->mask);
    buf_free(&r->text);
    buf_free(&r->joined);
    free(r);
}

int run_add(struct run *r, const struct run_request *q, struct err *e)
{
    struct live *l = live_new(r, q, e), **end;

    if (!l)
        return -1;
    for (end = &r->waiting; *end; end = &(*end)->next)
        ;
    *end = l;
    r->nwaiting++;
    return 0;
}

int run_busy(const struct run *r)
{
    return r->nactive + r->nwaiting;
}

int run_room(const struct run *r)
{
    return r->c.batch - run_busy(r);
}

double run_since(const struct timespec *t0)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - t0->tv_sec) +
           (double)(t.tv_nsec - t0->tv_nsec) * 1e-9;
}

/* ---- steps ---- */

/* Those whose turn has come. */
static void activate(struct run *r)
{
    struct live **end = &r->active;

    while (*end)
        end = &(*end)->next;
    while (r->waiting && r->nactive < r->c.batch) {
        struct live *l = r->waiting;

        r->waiting = l->next;
        r->nwaiting--;
        l->next = NULL;
        *end = l;
        end = &l->next;
        r->nactive++;
    }
}

/* The chunk has room beside those that decode, but always for some. */
static void cut_chunk(struct run *r, int n)
{
    int room = r->c.chunk, least = room < 32 ? room : 32;

    for (int i = 0; i < n; i++)
        if (r->part[i].n == 1)
            room--;
    if (room < least)
        room = least;
    for (int i = 0; i < n; i++) {
        struct step_part *p = &r->part[i];
        int most = score_room(r, r->who[i], room);

        if (p->n > most) {
            p->n = most;
            p->want = STEP_NONE;
        }
        if (score_wanted(r->who[i]))
            p->want = STEP_ALL;
    }
}

/* Is nothing wanted of L's logits but which one is the greatest? */
static bool best_is_enough(const struct live *l)
{
    return l->sampler && l->q.logprobs < 0 && !score_wanted(l) &&
           sampler_greedy(l->sampler);
}

/* Choose what runs: every sequence that has one token left to read, and the
 * oldest that has more, a chunk of it. */
static int choose(struct run *r, struct err *e)
{
    int n = 0;
    bool reading = false;

    activate(r);
    for (struct live *l = r->active; l; l = l->next) {
        int at = l->kv ? kv_seq_n(l->kv) : 0, left = l->tokens.n - at;

        l->nguess = 0;
        if (left > 1 || l->made == 0) {
            if (reading)
                continue;
            reading = true;
            if (!l->begun) {
                if (live_begin(r, l, e))
                    return -1;
                at = kv_seq_n(l->kv);
                left = l->tokens.n - at;
            }
        }
        r->who[n] = l;
        r->part[n] = (struct step_part){.seq = l->kv,
                                        .tok = l->tokens.p + at,
                                        .n = left,
                                        .want = STEP_LAST,
                                        .best = best_is_enough(l)};
        n++;
    }
    cut_chunk(r, n);
    return guess_all(r, n, e) ? -1 : n;
}

static int told(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                struct err *e)
{
    struct run_event ev = {.kind = RUN_PROMPT,
                           .seq = l->q.seq,
                           .data = l->q.data,
                           .done = kv_seq_n(l->kv),
                           .of = l->tokens.n};

    if (r->c.after && r->c.after(r->c.cache_arg, l->kv, e))
        return -1;
    return fn(arg, &ev, e);
}

/* The model has read part I; its logits are LOGITS.  How many tokens came of
 * it, or -1. */
static int read_part(struct run *r, int i, const float *logits,
                     run_event_fn *fn, void *arg, struct err *e)
{
    struct live *l = r->who[i];
    const struct step_part *p = &r->part[i];
    size_t nv = (size_t)model_n_vocab(r->c.model);
    int n = p->n - l->nguess, run = l->nguess, at = kv_seq_n(l->kv) - p->n;
    int taken = 0, rc = TOKEN_MORE;

    l->read = at + n;
    if (run)
        draft_ran(l->draft, run);
    if ((n > 1 || !l->made) && told(r, l, fn, arg, e))
        return -1;
    if (p->want == STEP_ALL && !run) {
        if (score_wanted(l) && score_tell(r, l, logits, at, n, fn, arg, e))
            return -1;
        logits += nv * (size_t)(n - 1);
    }
    if (p->want == STEP_NONE || l->read < l->tokens.n)
        return 0;
    for (;; l->read++) {
        rc = token_next(r, l, logits + nv * (size_t)taken, fn, arg, e);
        if (rc != TOKEN_MORE || taken == run ||
            l->tokens.p[l->tokens.n - 1] != l->guess[taken])
            break;
        draft_took(l->draft, taken++);
    }
    if (rc == TOKEN_MORE)
        live_settle(l);
    return rc < 0 ? -1 : taken + 1;
}

static int run_parts(struct run *r, int n, const float **logits,
                     run_event_fn *fn, void *arg, struct err *e)
{
    struct err failed = {0};

    while (step_run(r->step, r->part, n, logits, &failed)) {
        /* No room for all of them: guesses go, then the youngest, if there is
         * another. */
        bool guesses = failed.code == ERR_NOMEM && guess_none(r, n);

        if (!guesses && (failed.code != ERR_NOMEM || n == 1)) {
            *e = failed;
            return -1;
        }
        if (!guesses && token_end(r, r->who[--n], "error", &failed, fn, arg, e))
            return -1;
        failed = (struct err){0};
    }
    return n;
}

static int rows(const struct step_part *p)
{
    return p->want == STEP_ALL ? p->n : p->want == STEP_LAST ? 1 : 0;
}

int run_step(struct run *r, run_event_fn *fn, void *arg, struct err *e)
{
    size_t nv = (size_t)model_n_vocab(r->c.model);
    int n = choose(r, e), tokens = 0;
    const float *logits;
    struct timespec t0;
    double seconds;

    if (n <= 0)
        return n;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    n = run_parts(r, n, &logits, fn, arg, e);
    if (n < 0)
        return -1;
    seconds = run_since(&t0);
    for (int i = 0; i < n; i++) {
        int got = read_part(r, i, logits, fn, arg, e);

        if (got < 0)
            return -1;
        tokens += got;
        if (logits)
            logits += nv * (size_t)rows(&r->part[i]);
    }
    guess_done(r, n, tokens, seconds);
    return 0;
}

int run_interrupt(struct run *r, run_event_fn *fn, void *arg, struct err *e)
{
    while (r->active || r->waiting)
        if (token_end(r, r->active ? r->active : r->waiting, "interrupted",
                      NULL, fn, arg, e))
            return -1;
    return 0;
}
