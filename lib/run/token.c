/* SPDX-License-Identifier: MIT
 * token.c - from logits to a token, and what it does to its sequence. */
#include <stdlib.h>
#include <string.h>

#include "run/run_impl.h"

/* A sequence that goes back so often without anything to show for it is in a
 * place from which every way on is banned. */
enum { MOST_BACKS = 1000 };

/* Take L out of its list and tell the caller why; frees it. */
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
                           .total_s = l->begun ? run_since(&l->t0) : 0};
    struct live **p = &r->active;
    int rc;

    live_settle(l);
    ev.state = failed ? NULL : l->kv;
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

static int fail(struct run *r, struct live *l, const struct err *failed,
                run_event_fn *fn, void *arg, struct err *e)
{
    return finish(r, l, "error", NULL, failed, fn, arg, e) ? -1 : TOKEN_ELSE;
}

/* ---- going back ---- */

/* Token ID may not be drawn after AT tokens; what was said of later places has
 * no more meaning. */
static int ban(struct live *l, int at, uint32_t id, struct err *e)
{
    while (l->nbanned && l->banned[l->nbanned - 1].at > at)
        l->nbanned--;
    if (l->nbanned == l->banned_cap) {
        int cap = l->banned_cap * 2 + 16;
        struct banned *b = realloc(l->banned, (size_t)cap * sizeof *b);

        if (!b)
            return err_nomem(e);
        l->banned = b;
        l->banned_cap = cap;
    }
    l->banned[l->nbanned++] = (struct banned){at, id};
    return 0;
}

/* A text that is banned begins in the first token that is held: go back to
 * before it, and forbid it there.  Where that has left no way on, take back
 * only the last token: so every way is tried. */
static int go_back(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                   struct err *e)
{
    int n = l->nheld, len;
    struct err failed = {0};
    const int32_t *past = live_history(l, &len);

    if (len - n <= l->late)
        n = 1;
    l->starts = tok_starts_text(r->c.tok, (uint32_t)past[len - n - 1]);
    if (ban(l, len - n, l->held[l->nheld - n].id, e) || live_back(r, l, n, e))
        return -1;
    held_drop(l, n);
    held_revive(l);
    if (++l->backs <= MOST_BACKS)
        return TOKEN_ELSE;
    err_set(&failed, ERR_UNSUPPORTED,
            "after %d attempts every way on is a text that is banned",
            MOST_BACKS);
    return fail(r, l, &failed, fn, arg, e);
}

static bool some_banned(const struct live *l, int at)
{
    return l->nbanned && l->banned[l->nbanned - 1].at == at;
}

/* No token is left after AT: begin again there, and take back less. */
static bool go_late(struct live *l, int at)
{
    if (at <= l->late || !some_banned(l, at))
        return false;
    l->late = at;
    while (some_banned(l, at))
        l->nbanned--;
    return true;
}

/* Bits of the tokens that may come after the N of L's history: *MASK is NULL
 * where all may. */
static int allowed(const uint64_t **mask, struct run *r, struct live *l, int n,
                   struct err *e)
{
    size_t words = ((size_t)model_n_vocab(r->c.model) + 63) / 64, have;
    const uint64_t *grammar = NULL;
    int i = l->nbanned;

    if (l->match && match_mask(&grammar, l->match, e))
        return -1;
    while (i && l->banned[i - 1].at > n)
        i--;
    if (!grammar && (!i || l->banned[i - 1].at != n)) {
        *mask = NULL;
        return 0;
    }
    memset(r->mask, grammar ? 0 : 0xff, words * sizeof *r->mask);
    if (grammar) {
        have = ((size_t)l->q.vocab->n + 63) / 64;
        memcpy(r->mask, grammar,
               (have < words ? have : words) * sizeof *r->mask);
    }
    for (; i && l->banned[i - 1].at == n; i--)
        r->mask[l->banned[i - 1].id / 64] &=
            ~((uint64_t)1 << l->banned[i - 1].id % 64);
    *mask = r->mask;
    return 0;
}

/* ---- ends ---- */

/* As token_end(), but where a text that is banned stands in what was held, and
 * the end is one that a token made, there is no end yet: TOKEN_ELSE. */
static int conclude(struct run *r, struct live *l, const char *why,
                    const struct err *failed, bool may_go_back,
                    run_event_fn *fn, void *arg, struct err *e)
{
    int hit, rc;
    size_t n;
    bool back;

    if (held_scan(r, l, false, &n, &hit, e))
        return -1;
    back = hit >= l->nstop && may_go_back;
    if (held_show(l, n, hit >= 0 && !back, fn, arg, e))
        return -1;
    if (back)
        return go_back(r, l, fn, arg, e);
    if (hit >= 0 && hit < l->nstop)
        rc = finish(r, l, "stop", &l->ends.v[hit], NULL, fn, arg, e);
    else
        rc = finish(r, l, why, NULL, failed, fn, arg, e);
    return rc ? -1 : TOKEN_ELSE;
}

int token_end(struct run *r, struct live *l, const char *why,
              const struct err *failed, run_event_fn *fn, void *arg,
              struct err *e)
{
    return conclude(r, l, why, failed, false, fn, arg, e) < 0 ? -1 : 0;
}

static int full(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                struct err *e)
{
    struct err failed = {0};

    if (r->c.overflow == RUN_OVERFLOW_SHIFT)
        return live_shift(r, l, e) ? -1 : TOKEN_ELSE;
    if (r->c.overflow == RUN_OVERFLOW_STOP)
        return conclude(r, l, "context", NULL, true, fn, arg, e);
    err_set(&failed, ERR_CONTEXT, "the context of %d tokens is full",
            r->c.context);
    return conclude(r, l, "error", &failed, true, fn, arg, e);
}

/* ---- a token ---- */

static bool exact(void *step, uint32_t id)
{
    return step_exact(step, id);
}

static int pick(struct run *r, struct live *l, struct sample_result *s,
                const float *logits, struct err *e)
{
    const struct run_request *q = &l->q;
    const uint64_t *mask;
    int n, rc;
    const int32_t *past = live_history(l, &n);

    do {
        if (allowed(&mask, r, l, n, e))
            return -1;
        sampler_peaks(l->sampler, step_peaks(r->step, logits));
        sampler_exact(l->sampler, exact, r->step);
        rc = sampler_pick(l->sampler, s, logits, q->key, (uint64_t)n - 1, past,
                          n, mask, q->logprobs >= 0, e);
    } while (rc && s->none && go_late(l, n));
    return rc;
}

/* pick() failed.  Another token before may have left something. */
static int no_token(struct run *r, struct live *l, bool none,
                    const struct err *failed, run_event_fn *fn, void *arg,
                    struct err *e)
{
    int n;

    live_history(l, &n);
    if (none && l->nheld && some_banned(l, n))
        return go_back(r, l, fn, arg, e);
    return conclude(r, l, "error", failed, false, fn, arg, e);
}

/* The token S is L's next. */
static int take(struct run *r, struct live *l, const struct sample_result *s,
                struct err *e)
{
    r->text.n = 0;
    if (tok_decode(&r->text, r->c.tok, &s->id, 1, l->starts ? TOK_AT_START : 0,
                   e) ||
        held_add(l, s, &r->text, e) || live_push(l, s->id, e) ||
        (l->match && match_accept(l->match, s->id, e)))
        return -1;
    l->starts = tok_starts_text(r->c.tok, s->id);
    l->made++;
    return 0;
}

/* What is known of its text now is shown; is it an end? */
static int look(struct run *r, struct live *l, run_event_fn *fn, void *arg,
                struct err *e)
{
    int hit;
    size_t n;
    bool back;

    if (held_scan(r, l, true, &n, &hit, e))
        return -1;
    back = hit >= l->nstop;
    if (held_show(l, n, hit >= 0 && !back, fn, arg, e))
        return -1;
    if (hit < 0)
        return TOKEN_MORE;
    if (back)
        return go_back(r, l, fn, arg, e);
    return finish(r, l, "stop", &l->ends.v[hit], NULL, fn, arg, e) ? -1
                                                                   : TOKEN_ELSE;
}

int token_next(struct run *r, struct live *l, const float *logits,
               run_event_fn *fn, void *arg, struct err *e)
{
    const struct run_request *q = &l->q;
    struct sample_result s = {0};
    struct sample_top *top = NULL;
    struct err failed = {0};
    int rc;

    if (!q->n)
        return conclude(r, l, "length", NULL, false, fn, arg, e);
    if (q->logprobs > 0) {
        top = malloc((size_t)q->logprobs * sizeof *top);
        if (!top)
            return err_nomem(e);
        s.top = top;
        s.ntop = q->logprobs;
    }
    if (pick(r, l, &s, logits, &failed)) {
        free(top);
        return no_token(r, l, s.none, &failed, fn, arg, e);
    }
    if (l->first <= 0)
        l->first = run_since(&l->t0);
    if (tok_is_eog(r->c.tok, s.id)) {
        free(top);
        return conclude(r, l, "eos", NULL, true, fn, arg, e);
    }
    rc = take(r, l, &s, e);
    free(top);
    if (rc)
        return -1;
    rc = look(r, l, fn, arg, e);
    if (rc)
        return rc;
    if (l->match && match_done(l->match))
        return conclude(r, l, "eos", NULL, true, fn, arg, e);
    if (q->n >= 0 && l->made >= q->n)
        return conclude(r, l, "length", NULL, true, fn, arg, e);
    if (l->tokens.n > r->c.context)
        return full(r, l, fn, arg, e);
    return TOKEN_MORE;
}
