/* SPDX-License-Identifier: MIT
 * live.c - one sequence: its tokens, and what of them is in the KV cache. */
#include <stdlib.h>
#include <string.h>

#include "run/picker.h"
#include "run/run_impl.h"

void live_free(struct live *l)
{
    if (!l)
        return;
    held_drop(l, l->nheld);
    draft_close(l->draft);
    kv_seq_free(l->kv);
    sampler_free(l->sampler);
    match_free(l->match);
    stop_free(&l->ends);
    free(l->tokens.p);
    free(l->history.p);
    free(l->held);
    free(l->banned);
    buf_free(&l->held_text);
    buf_free(&l->past);
    free(l);
}

static int check(const struct run *r, const struct run_request *q,
                 struct err *e)
{
    bool any = r->c.overflow == RUN_OVERFLOW_SHIFT && !q->score;

    if (q->nprompt < 1)
        return err_set(e, ERR_FORMAT, "there are no tokens to continue");
    return step_check(r->c.model, q->prompt, q->nprompt, any ? 0 : r->c.context,
                      e);
}

struct live *live_new(const struct run *r, const struct run_request *q,
                      struct err *e)
{
    struct live *l = calloc(1, sizeof *l);
    bool good;

    if (!l) {
        kv_seq_free(q->state);
        err_nomem(e);
        return NULL;
    }
    l->q = *q;
    l->q.stop = l->q.ban = (struct stop_set){0};
    l->kv = q->state;
    good = !check(r, q, e) && !(l->kv && kv_seq_adapt(l->kv, q->adapt, e)) &&
           !stop_copy(&l->ends, &q->stop, e) &&
           !stop_copy(&l->ends, &q->ban, e) &&
           !picker_new(&l->sampler, q, r->c.tok, model_n_vocab(r->c.model), e);
    l->nstop = q->stop.n;
    good = good && !(q->grammar && match_new(&l->match, q->grammar, q->trigger,
                                             q->ntrigger, q->vocab, e));
    for (int i = 0; good && i < q->nprompt; i++)
        good = !ids_push(&l->tokens, q->prompt[i], e);
    good = good &&
           !(r->c.draft && draft_open(&l->draft, r->c.draft, q->seq, q, e));
    if (!good) {
        live_free(l);
        return NULL;
    }
    l->starts = tok_starts_text(r->c.tok, (uint32_t)q->prompt[q->nprompt - 1]);
    return l;
}

const int32_t *live_history(const struct live *l, int *n)
{
    const struct ids *v = l->history.n ? &l->history : &l->tokens;

    *n = v->n;
    return v->p;
}

int live_push(struct live *l, uint32_t id, struct err *e)
{
    if (l->history.n && ids_push(&l->history, (int32_t)id, e))
        return -1;
    return ids_push(&l->tokens, (int32_t)id, e);
}

/* From position 0. */
static int read_again(struct live *l, struct err *e)
{
    struct kv_seq *new = kv_seq_like(l->kv);

    if (!new)
        return err_nomem(e);
    kv_seq_free(l->kv);
    l->kv = new;
    l->read = 0;
    return 0;
}

int live_begin(struct run *r, struct live *l, struct err *e)
{
    clock_gettime(CLOCK_MONOTONIC, &l->t0);
    if (!l->kv && (!(l->kv = kv_seq_new(r->c.kv)) ||
                   kv_seq_adapt(l->kv, l->q.adapt, NULL)))
        return err_nomem(e);
    if (l->tokens.n > r->c.context && live_shift(r, l, e))
        return -1;
    l->begun = true;
    /* Logits are wanted of every token. */
    if (l->q.score)
        return read_again(l, e);
    if (step_begin(r->c.kv, &l->kv, l->tokens.p, l->tokens.n, e))
        return -1;
    if (r->c.before && r->c.before(r->c.cache_arg, r->c.kv, &l->kv, l->tokens.p,
                                   l->tokens.n, e))
        return -1;
    l->read = l->reused = kv_seq_n(l->kv);
    return 0;
}

/* TOKENS become the first KEEP of the history and its last ones, of altogether
 * no more than half of what is left of the context. */
static void take_newer(const struct run *r, struct live *l)
{
    int context = r->c.context, n = l->history.n;
    int keep = r->c.keep < context / 2 ? r->c.keep : context / 2;
    int half = (context - keep) / 2;

    if (half < 1)
        half = 1;
    if (keep + half > n) {
        keep = 0;
        half = n;
    }
    memcpy(l->tokens.p, l->history.p, (size_t)keep * sizeof *l->tokens.p);
    memcpy(l->tokens.p + keep, l->history.p + n - half,
           (size_t)half * sizeof *l->tokens.p);
    l->tokens.n = keep + half;
}

int live_shift(struct run *r, struct live *l, struct err *e)
{
    if (!l->history.n)
        for (int i = 0; i < l->tokens.n; i++)
            if (ids_push(&l->history, l->tokens.p[i], e))
                return -1;
    take_newer(r, l);
    return read_again(l, e);
}

void live_settle(struct live *l)
{
    if (l->begun && l->kv && kv_seq_n(l->kv) > l->read)
        kv_seq_cut(l->kv, l->read);
}

/* The last token stays to be read. */
int live_back(struct run *r, struct live *l, int n, struct err *e)
{
    int keep;

    l->made -= n;
    if (l->match)
        match_back(l->match, (size_t)n);
    if (l->history.n) {
        l->history.n -= n;
        if (l->same > l->history.n)
            l->same = l->history.n;
    } else if (l->same > l->tokens.n - n) {
        l->same = l->tokens.n - n;
    }
    /* Back before the context was shifted? */
    keep = r->c.keep < r->c.context / 2 ? r->c.keep : r->c.context / 2;
    if (l->history.n && l->tokens.n - n <= keep) {
        take_newer(r, l);
        return read_again(l, e);
    }
    l->tokens.n -= n;
    if (l->read > l->tokens.n - 1)
        l->read = l->tokens.n - 1;
    if (kv_seq_n(l->kv) > l->read && kv_seq_cut(l->kv, l->read))
        return read_again(l, e);
    return 0;
}
