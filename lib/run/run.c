/* SPDX-License-Identifier: MIT
 *
 * A sequence (struct live) is its history: prompt and answer.  What is in the
 * KV cache is a beginning of TOKENS, which is the history until a context is
 * shifted.  Tokens whose text may yet be a part of a stop string wait in
 * HELD, their text in HELD_TEXT.
 */
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/step.h"

struct held {
    uint32_t id;
    float lp;
    size_t end; /* of its text, in held_text */
    struct sample_top *top;
    int ntop;
};

struct live {
    struct run_request q; /* prompt, state and bias are not used after adding */
    struct kv_seq *kv;    /* NULL: not begun */
    struct sampler *sampler;
    int32_t *tokens; /* what the model reads: [ntokens] */
    int ntokens, cap;
    int32_t *history; /* NULL: it is TOKENS */
    int nhistory, history_cap;
    int64_t made;
    int reused;
    bool begun;  /* its prompt is being read */
    bool starts; /* the next text begins a text */
    struct held *held;
    int nheld, held_cap;
    struct buf held_text;
    struct timespec t0;
    double first;
    struct live *next;
};

struct run {
    struct run_config c;
    struct step *step;
    struct live *active, *waiting; /* in order of arrival */
    int nactive, nwaiting;
    struct step_part *part;    /* [batch] */
    struct live **who;         /* [batch]: whose PART is */
    struct sample_bias *never; /* tokens that may not be drawn */
    int nnever;
    struct buf text;
};

static void held_clear(struct live *l)
{
    for (int i = 0; i < l->nheld; i++)
        free(l->held[i].top);
    l->nheld = 0;
    l->held_text.n = 0;
}

static void live_free(struct live *l)
{
    if (!l)
        return;
    held_clear(l);
    kv_seq_free(l->kv);
    sampler_free(l->sampler);
    stop_free(&l->q.stop);
    free(l->tokens);
    free(l->history);
    free(l->held);
    buf_free(&l->held_text);
    free(l);
}

/* Tokens that are none: suppressed ones, and rows without a token. */
static int find_never(struct run *r, struct err *e)
{
    const struct tok *t = r->c.tok;
    uint32_t n = (uint32_t)model_n_vocab(r->c.model), count = 0;

    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (uint32_t id = 0; id < n; id++) {
            if (id < tok_count(t) && !tok_is_suppressed(t, id))
                continue;
            if (pass)
                r->never[count] = (struct sample_bias){id, -INFINITY};
            count++;
        }
        if (!pass && !(r->never = calloc(count + 1u, sizeof *r->never)))
            return err_nomem(e);
    }
    r->nnever = (int)count;
    return 0;
}

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
    if (!r->part || !r->who || !(r->step = step_new(c->model, c->kv, e)) ||
        find_never(r, e)) {
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
    free(r->part);
    free(r->who);
    free(r->never);
    buf_free(&r->text);
    free(r);
}

static int push(int32_t **v, int *n, int *cap, int32_t id, struct err *e)
{
    if (*n == *cap) {
        int32_t *p = *cap < INT32_MAX / 4
                         ? realloc(*v, ((size_t)*cap * 2 + 64) * sizeof **v)
                         : NULL;

        if (!p)
            return err_nomem(e);
        *v = p;
        *cap = *cap * 2 + 64;
    }
    (*v)[(*n)++] = id;
    return 0;
}

/* The request's own options and what may never be drawn, as one sampler. */
static int make_sampler(struct live *l, const struct run *r,
                        const struct run_request *q, struct err *e)
{
    struct sample_opts o = q->sampling;
    uint32_t count = tok_count(r->c.tok), eog = 0;
    struct sample_bias *bias;
    int n = 0;

    for (uint32_t id = 0; q->ignore_eos && id < count; id++)
        eog += tok_is_eog(r->c.tok, id);
    bias = malloc(((size_t)q->sampling.nbias + (size_t)r->nnever + eog + 1) *
                  sizeof *bias);
    if (!bias)
        return err_nomem(e);
    for (int i = 0; i < q->sampling.nbias; i++)
        bias[n++] = q->sampling.bias[i];
    for (int i = 0; i < r->nnever; i++)
        bias[n++] = r->never[i];
    for (uint32_t id = 0; eog && id < count; id++)
        if (tok_is_eog(r->c.tok, id))
            bias[n++] = (struct sample_bias){id, -INFINITY};
    o.bias = bias;
    o.nbias = n;
    l->sampler = sampler_new(&o, model_n_vocab(r->c.model), e);
    free(bias);
    return l->sampler ? 0 : -1;
}

static int check(const struct run *r, const struct run_request *q,
                 struct err *e)
{
    if (q->nprompt < 1)
        return err_set(e, ERR_FORMAT, "there are no tokens to continue");
    return step_check(r->c.model, q->prompt, q->nprompt,
                      r->c.overflow == RUN_OVERFLOW_SHIFT ? 0 : r->c.context,
                      e);
}

int run_add(struct run *r, const struct run_request *q, struct err *e)
{
    struct live *l = calloc(1, sizeof *l), **end;

    if (!l) {
        kv_seq_free(q->state);
        return err_nomem(e);
    }
    l->q = *q;
    l->q.stop = (struct stop_set){0};
    l->kv = q->state;
    if (check(r, q, e) || stop_copy(&l->q.stop, &q->stop, e) ||
        make_sampler(l, r, q, e))
        goto fail;
    for (int i = 0; i < q->nprompt; i++)
        if (push(&l->tokens, &l->ntokens, &l->cap, q->prompt[i], e))
            goto fail;
    l->starts = tok_starts_text(r->c.tok, (uint32_t)q->prompt[q->nprompt - 1]);
    for (end = &r->waiting; *end; end = &(*end)->next)
        ;
    *end = l;
    r->nwaiting++;
    return 0;
fail:
    live_free(l);
    return -1;
}

int run_busy(const struct run *r)
{
    return r->nactive + r->nwaiting;
}

int run_room(const struct run *r)
{
    return r->c.batch - run_busy(r);
}

static double since(const struct timespec *t0)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - t0->tv_sec) +
           (double)(t.tv_nsec - t0->tv_nsec) * 1e-9;
}

static const int32_t *history(const struct live *l, int *n)
{
    *n = l->history ? l->nhistory : l->ntokens;
    return l->history ? l->history : l->tokens;
}

/* Take L out of the active ones and tell the caller why; frees it. */
static int finish(struct run *r, struct live *l, const char *why,
                  const struct stop_string *stop, const struct err *failed,
                  run_event_fn *fn, void *arg, struct err *e)
{
    struct run_event ev = {.kind = RUN_END,
                           .seq = l->q.seq,
                           .data = l->q.data,
                           .why = why,
                           .error = failed,
                           .stop = stop ? stop->p : NULL,
                           .nstop = stop ? stop->n : 0,
                           .ntokens = l->made,
                           .nprompt = l->q.nprompt,
                           .nreused = l->reused,
                           .first_s = l->first,
                           .total_s = l->begun ? since(&l->t0) : 0,
                           .state = failed ? NULL : l->kv};
    struct live **p = &r->active;
    int rc;

    while (*p && *p != l)
        p = &(*p)->next;
    if (*p)
        r->nactive--;
    else
        for (p = &r->waiting, r->nwaiting--; *p != l; p = &(*p)->next)
            ;
    *p = l->next;
    rc = fn(arg, &ev, e);
    live_free(l);
    return rc;
}

/* ---- a new token ---- */

static int hold(struct live *l, const struct sample_result *s,
                const struct buf *text, struct err *e)
{
    struct held *h;

    if (l->nheld == l->held_cap) {
        int cap = l->held_cap * 2 + 8;

        h = realloc(l->held, (size_t)cap * sizeof *h);
        if (!h)
            return err_nomem(e);
        l->held = h;
        l->held_cap = cap;
    }
    buf_put(&l->held_text, text->p, text->n);
    h = &l->held[l->nheld];
    *h = (struct held){s->id, s->lp, l->held_text.n, NULL, s->ntop};
    if (s->ntop) {
        h->top = malloc((size_t)s->ntop * sizeof *h->top);
        if (!h->top)
            return err_nomem(e);
        memcpy(h->top, s->top, (size_t)s->ntop * sizeof *h->top);
    }
    l->nheld++;
    return buf_ok(&l->held_text, e);
}

/* Show the held tokens whose text ends within SHOW bytes, or, CUT, begins
 * before them. */
static int show(struct live *l, size_t shown, bool cut, run_event_fn *fn,
                void *arg, struct err *e)
{
    size_t from = 0;
    int n = 0;

    for (; n < l->nheld; n++) {
        struct held *h = &l->held[n];
        size_t to = h->end > shown ? shown : h->end;
        struct run_event ev = {.kind = RUN_TOKEN,
                               .seq = l->q.seq,
                               .data = l->q.data,
                               .id = h->id,
                               .text = (char *)l->held_text.p + from,
                               .ntext = to - from,
                               .has_lp = l->q.logprobs >= 0,
                               .lp = h->lp,
                               .top = h->top,
                               .ntop = h->ntop};

        if (h->end > shown && !(cut && from < shown))
            break;
        if (fn(arg, &ev, e))
            return -1;
        from = h->end;
    }
    if (!n)
        return 0;
    for (int i = 0; i < n; i++)
        free(l->held[i].top);
    memmove(l->held, l->held + n, (size_t)(l->nheld - n) * sizeof *l->held);
    l->nheld -= n;
    if (from > l->held_text.n)
        from = l->held_text.n;
    memmove(l->held_text.p, l->held_text.p + from, l->held_text.n - from);
    l->held_text.n -= from;
    for (int i = 0; i < l->nheld; i++)
        l->held[i].end -= from;
    return 0;
}

/* Everything that is held will not become a stop string any more, unless one
 * stands in it whole: then that is why L ends, and not what FAILED. */
static int conclude(struct run *r, struct live *l, const char *why,
                    const struct err *failed, run_event_fn *fn, void *arg,
                    struct err *e)
{
    int hit;
    size_t n = stop_scan(&l->q.stop, (char *)l->held_text.p, l->held_text.n,
                         false, &hit);

    if (show(l, n, hit >= 0, fn, arg, e))
        return -1;
    if (hit >= 0)
        return finish(r, l, "stop", &l->q.stop.v[hit], NULL, fn, arg, e);
    return finish(r, l, why, NULL, failed, fn, arg, e);
}

/* Read again, from position 0: the first KEEP tokens and the newer half of the
 * others, so that a token more has room. */
static int shift(struct run *r, struct live *l, struct err *e)
{
    int context = r->c.context;
    int keep = r->c.keep < context / 2 ? r->c.keep : context / 2;
    int half = (context - keep) / 2;

    if (half < 1)
        half = 1;
    if (!l->history) {
        l->history_cap = l->nhistory = l->ntokens;
        l->history = malloc((size_t)l->ntokens * sizeof *l->history);
        if (!l->history)
            return err_nomem(e);
        memcpy(l->history, l->tokens, (size_t)l->ntokens * sizeof *l->history);
    }
    memmove(l->tokens + keep, l->tokens + l->ntokens - half,
            (size_t)half * sizeof *l->tokens);
    l->ntokens = keep + half;
    kv_seq_free(l->kv);
    l->kv = kv_seq_new(r->c.kv);
    return l->kv ? 0 : err_nomem(e);
}

static int full(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                struct err *e)
{
    struct err failed = {0};

    if (r->c.overflow == RUN_OVERFLOW_SHIFT)
        return shift(r, l, e);
    if (r->c.overflow == RUN_OVERFLOW_STOP)
        return conclude(r, l, "context", NULL, fn, arg, e);
    err_set(&failed, ERR_CONTEXT, "the context of %d tokens is full",
            r->c.context);
    return conclude(r, l, "error", &failed, fn, arg, e);
}

/* LOGITS have come for the last of L's tokens. */
static int next_token(struct run *r, struct live *l, const float *logits,
                      run_event_fn *fn, void *arg, struct err *e)
{
    const struct run_request *q = &l->q;
    struct sample_result s = {0};
    struct sample_top *top = NULL;
    struct err failed = {0};
    const int32_t *past;
    int npast, hit, rc;
    size_t n;

    if (!q->n)
        return conclude(r, l, "length", NULL, fn, arg, e);
    if (q->logprobs > 0) {
        top = malloc((size_t)q->logprobs * sizeof *top);
        if (!top)
            return err_nomem(e);
        s.top = top;
        s.ntop = q->logprobs;
    }
    past = history(l, &npast);
    if (sampler_pick(l->sampler, &s, logits, q->key, (uint64_t)npast - 1, past,
                     npast, NULL, q->logprobs >= 0, &failed)) {
        free(top);
        return conclude(r, l, "error", &failed, fn, arg, e);
    }
    if (!l->made)
        l->first = since(&l->t0);
    if (tok_is_eog(r->c.tok, s.id)) {
        free(top);
        return conclude(r, l, "eos", NULL, fn, arg, e);
    }
    r->text.n = 0;
    rc = tok_decode(&r->text, r->c.tok, &s.id, 1, l->starts ? TOK_AT_START : 0,
                    e) ||
         hold(l, &s, &r->text, e);
    free(top);
    if (rc || push(&l->tokens, &l->ntokens, &l->cap, (int32_t)s.id, e) ||
        (l->history &&
         push(&l->history, &l->nhistory, &l->history_cap, (int32_t)s.id, e)))
        return -1;
    l->starts = tok_starts_text(r->c.tok, s.id);
    l->made++;
    n = stop_scan(&l->q.stop, (char *)l->held_text.p, l->held_text.n, true,
                  &hit);
    if (show(l, n, hit >= 0, fn, arg, e))
        return -1;
    if (hit >= 0)
        return finish(r, l, "stop", &l->q.stop.v[hit], NULL, fn, arg, e);
    if (q->n >= 0 && l->made >= q->n)
        return conclude(r, l, "length", NULL, fn, arg, e);
    if (l->ntokens > r->c.context)
        return full(r, l, fn, arg, e);
    return 0;
}

/* ---- steps ---- */

/* L's turn has come: what of its prompt is known already? */
static int begin(struct run *r, struct live *l, struct err *e)
{
    clock_gettime(CLOCK_MONOTONIC, &l->t0);
    if (l->ntokens > r->c.context && shift(r, l, e))
        return -1;
    if (step_begin(r->c.kv, &l->kv, l->tokens, l->ntokens, e))
        return -1;
    if (r->c.before &&
        r->c.before(r->c.cache_arg, r->c.kv, &l->kv, l->tokens, l->ntokens, e))
        return -1;
    l->reused = kv_seq_n(l->kv);
    l->begun = true;
    return 0;
}

/* Choose what runs: every sequence that has one token left to read, and the
 * oldest that has more, a chunk of it. */
static int choose(struct run *r, struct err *e)
{
    int n = 0, room = r->c.chunk, least = room < 32 ? room : 32;
    bool reading = false;

    while (r->waiting && r->nactive < r->c.batch) {
        struct live *l = r->waiting, **end = &r->active;

        r->waiting = l->next;
        r->nwaiting--;
        l->next = NULL;
        while (*end)
            end = &(*end)->next;
        *end = l;
        r->nactive++;
    }
    for (struct live *l = r->active; l; l = l->next) {
        int at = l->kv ? kv_seq_n(l->kv) : 0, left = l->ntokens - at;

        if (left > 1 || l->made == 0) {
            if (reading)
                continue;
            reading = true;
            if (!l->begun) {
                if (begin(r, l, e))
                    return -1;
                at = kv_seq_n(l->kv);
                left = l->ntokens - at;
            }
        }
        r->who[n] = l;
        r->part[n] = (struct step_part){l->kv, l->tokens + at, left, STEP_LAST};
        n++;
    }
    /* The chunk has room beside those that decode, but always for some. */
    for (int i = 0; i < n; i++)
        if (r->part[i].n == 1)
            room--;
    if (room < least)
        room = least;
    for (int i = 0; i < n; i++)
        if (r->part[i].n > room) {
            r->part[i].n = room;
            r->part[i].want = STEP_NONE;
        }
    return n;
}

static int told(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                struct err *e)
{
    struct run_event ev = {.kind = RUN_PROMPT,
                           .seq = l->q.seq,
                           .data = l->q.data,
                           .done = kv_seq_n(l->kv),
                           .of = l->ntokens};

    if (r->c.after && r->c.after(r->c.cache_arg, l->kv, e))
        return -1;
    return fn(arg, &ev, e);
}

int run_step(struct run *r, run_event_fn *fn, void *arg, struct err *e)
{
    int nv = model_n_vocab(r->c.model), n = choose(r, e);
    const float *logits;
    struct err failed = {0};

    if (n <= 0)
        return n;
    while (step_run(r->step, r->part, n, &logits, &failed)) {
        /* No room for all of them: the youngest goes, if there is another. */
        if (failed.code != ERR_NOMEM || n == 1) {
            *e = failed;
            return -1;
        }
        if (conclude(r, r->who[--n], "error", &failed, fn, arg, e))
            return -1;
        failed = (struct err){0};
    }
    for (int i = 0, row = 0; i < n; i++) {
        struct live *l = r->who[i];

        if ((r->part[i].n > 1 || !l->made) && told(r, l, fn, arg, e))
            return -1;
        if (r->part[i].want == STEP_LAST &&
            next_token(r, l, logits + (size_t)nv * (size_t)row++, fn, arg, e))
            return -1;
    }
    return 0;
}

int run_interrupt(struct run *r, run_event_fn *fn, void *arg, struct err *e)
{
    while (r->active || r->waiting) {
        struct live *l = r->active ? r->active : r->waiting;

        if (conclude(r, l, "interrupted", NULL, fn, arg, e))
            return -1;
    }
    return 0;
}
