/* SPDX-License-Identifier: MIT
 * guess.c - speculation: guesses are run behind the tokens that are sure.
 *
 * The sampler picks at each place what it would pick without them, as its
 * draws depend on place and logits alone, and these do not depend on what runs
 * beside them; as long as it picks what was guessed, the next logits are there
 * already.  Then what the model has read too much is cut off.
 */
#include <limits.h>
#include <string.h>

#include "run/run_impl.h"

/* Guesses that can be run and used, at most N. */
static int usable(const struct run *r, struct live *l, int n)
{
    const int32_t *g = l->guess;
    int i = 0;

    while (i < n && g[i] >= 0 && g[i] < model_n_vocab(r->c.model) &&
           !tok_is_eog(r->c.tok, (uint32_t)g[i]) &&
           !(l->match && match_accept(l->match, (uint32_t)g[i], NULL)))
        i++;
    if (l->match)
        match_back(l->match, (size_t)i);
    return i;
}

/* Tokens that may come. */
static int room(const struct run *r, const struct live *l)
{
    int64_t n = r->c.context - l->tokens.n;

    if (l->q.n >= 0 && n > l->q.n - l->made - 1)
        n = l->q.n - l->made - 1;
    return n < 0 ? 0 : n < INT_MAX ? (int)n : INT_MAX;
}

static int guess(struct run *r, struct live *l, struct step_part *p,
                 struct err *e)
{
    int n, got;
    const int32_t *past = live_history(l, &n);

    got = draft_guess(l->draft, past, n, l->same < n ? l->same : n, room(r, l),
                      l->guess);
    l->same = n;
    l->nguess = usable(r, l, got);
    for (int i = 0; i < l->nguess; i++)
        if (ids_push(&l->tokens, l->guess[i], e))
            return -1;
    l->tokens.n -= l->nguess;
    /* It may have moved. */
    p->tok = l->tokens.p + l->tokens.n - 1;
    p->n = 1 + l->nguess;
    p->want = STEP_ALL;
    return 0;
}

int guess_all(struct run *r, int n, struct err *e)
{
    if (!r->c.draft)
        return 0;
    for (int i = 0; i < n; i++)
        if (r->part[i].n > 1 || r->part[i].want != STEP_LAST ||
            !r->who[i]->made) {
            /* A prompt is being read: its chunk has room for all. */
            draft_step(r->c.draft, 0);
            return 0;
        }
    draft_step(r->c.draft, n);
    for (int i = 0; i < n; i++)
        if (guess(r, r->who[i], &r->part[i], e))
            return -1;
    return 0;
}

bool guess_none(struct run *r, int n)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        struct live *l = r->who[i];

        if (!l->nguess)
            continue;
        l->nguess = 0;
        r->part[i].n = 1;
        any = true;
    }
    return any;
}

void guess_done(struct run *r, int n, int tokens, double seconds)
{
    int columns = 0;

    for (int i = 0; i < n; i++)
        columns += r->part[i].n;
    if (r->c.draft)
        draft_done(r->c.draft, columns, tokens, seconds);
}
