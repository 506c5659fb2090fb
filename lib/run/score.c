/* SPDX-License-Identifier: MIT
 * score.c - log-probabilities of prompts: what the model thought of each token
 * before it read it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_impl.h"

/* Logits that are there at once. */
enum { MOST_BYTES = 64 << 20 };

bool score_wanted(const struct live *l)
{
    return l->q.score && l->scored < l->q.nprompt;
}

int score_room(const struct run *r, const struct live *l, int n)
{
    int most = MOST_BYTES / 4 / model_n_vocab(r->c.model);

    if (!score_wanted(l))
        return n;
    return n < most ? n : most > 1 ? most : 1;
}

/* A sampler without options, that picks what it is told to. */
static int open_scores(struct run *r, struct err *e)
{
    struct sample_opts o;

    if (r->scores)
        return 0;
    sample_defaults(&o);
    o.temp = 0;
    r->scores = sampler_new(&o, model_n_vocab(r->c.model), e);
    return r->scores ? 0 : -1;
}

/* Prompt token I; LOGITS are what it was expected by, NULL for the first. */
static int tell(struct run *r, struct live *l, const float *logits, int i,
                run_event_fn *fn, void *arg, struct err *e)
{
    uint32_t id = (uint32_t)l->tokens.p[i];
    size_t words = ((size_t)model_n_vocab(r->c.model) + 63) / 64;
    struct sample_result s = {.id = id};
    struct sample_top *top = NULL;
    struct run_event ev = {.kind = RUN_PROMPT_TOKEN,
                           .seq = l->q.seq,
                           .data = l->q.data,
                           .id = id,
                           .has_lp = logits != NULL};
    bool starts = !i || tok_starts_text(r->c.tok, (uint32_t)l->tokens.p[i - 1]);
    int rc = 0;

    if (logits) {
        bool never = logits[id] == -INFINITY;

        s.ntop = l->q.logprobs;
        s.top = top = malloc(((size_t)s.ntop + 1) * sizeof *top);
        if (!top)
            return err_nomem(e);
        memset(r->mask, 0, words * sizeof *r->mask);
        r->mask[id / 64] |= (uint64_t)1 << id % 64;
        rc = sampler_pick(r->scores, &s, logits, 0, (uint64_t)i, l->tokens.p, i,
                          never ? NULL : r->mask, true, e);
        ev.lp = never ? -INFINITY : s.lp;
        ev.top = s.top;
        ev.ntop = s.ntop;
    }
    r->text.n = 0;
    rc = rc ||
         tok_decode(&r->text, r->c.tok, &id, 1, starts ? TOK_AT_START : 0, e);
    ev.text = r->text.n ? (char *)r->text.p : "";
    ev.ntext = r->text.n;
    rc = rc || fn(arg, &ev, e);
    free(top);
    return rc ? -1 : 0;
}

int score_tell(struct run *r, struct live *l, const float *logits, int at,
               int n, run_event_fn *fn, void *arg, struct err *e)
{
    size_t nv = (size_t)model_n_vocab(r->c.model);

    if (open_scores(r, e))
        return -1;
    if (!l->scored) {
        if (tell(r, l, NULL, 0, fn, arg, e))
            return -1;
        l->scored = 1;
    }
    for (int i = 0; i < n && at + i + 1 < l->q.nprompt; i++) {
        if (at + i + 1 < l->scored)
            continue;
        if (tell(r, l, logits + nv * (size_t)i, at + i + 1, fn, arg, e))
            return -1;
        l->scored++;
    }
    return 0;
}
