/* SPDX-License-Identifier: MIT
 * items.c - what is being scored, and in which order it is told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/progress.h"
#include "cmd/score/score.h"

enum { MOST_ITEMS = 64 }; /* that wait for the first, for each that runs */

bool item_room(const struct program *p)
{
    return score_free_slots(p->score) > 0 && p->queue.n < MOST_ITEMS * p->batch;
}

bool item_busy(const struct program *p)
{
    return p->queue.n > 0;
}

int item_step(struct program *p, struct err *e)
{
    if (score_busy(p->score) && score_step(p->score, e))
        return -1;
    load_note(&p->load);
    progress_show(p->ended, p->ended + score_busy(p->score));
    return queue_tell(&p->queue, p, e);
}

int item_ended(void *arg, struct score_job *job, const struct err *why,
               struct err *e)
{
    struct program *p = arg;
    struct place *at = job->data;
    struct item *it = at->item;

    if (why && !it->failed.code)
        it->failed = *why;
    it->left--;
    p->ended++;
    return at->ended ? at->ended(p, it, job, e) : 0;
}

/* ---- a token ---- */

int scored_new(struct scored *s, const struct program *p, int n,
               const struct score_kept *from, struct err *e)
{
    size_t room = (size_t)n + 1;

    *s = (struct scored){.n = n, .from = from};
    s->ntop = p->logprobs > 0 ? p->logprobs : 0;
    if (s->ntop > model_n_vocab(p->load.model))
        s->ntop = model_n_vocab(p->load.model);
    s->lp = malloc(room * sizeof *s->lp);
    s->top = calloc((size_t)s->ntop * room + 1, sizeof *s->top);
    if (p->two || from) {
        s->base = calloc(room, sizeof *s->base);
        s->kl = calloc(room, sizeof *s->kl);
        s->estimate = calloc(room, sizeof *s->estimate);
        s->agree = calloc(room, 1);
    }
    if (!s->lp || !s->top || (s->ntop && room > INT32_MAX / (size_t)s->ntop) ||
        ((p->two || from) && (!s->base || !s->kl || !s->estimate || !s->agree)))
        return err_nomem(e);
    for (int i = 0; i < n; i++)
        s->lp[i] = NAN;
    if (p->saving)
        return score_kept_new(&s->save, (size_t)n, (size_t)p->keep,
                              SCORE_KEPT_DRAWN, e);
    return 0;
}

void scored_free(struct scored *s)
{
    free(s->lp);
    free(s->base);
    free(s->kl);
    free(s->estimate);
    free(s->agree);
    free(s->top);
    score_kept_free(&s->save);
}

static int compare_kept(struct scored *s, size_t at, const struct score_dist *a,
                        struct err *e)
{
    const struct score_kept *b = s->from;
    const struct sample_top *top = b->top + at * b->k;

    if (isnan(b->lp[at]))
        return err_set(e, ERR_FORMAT,
                       "nothing is kept of its token %zu, counted from 0", at);
    s->base[at] = b->lp[at];
    s->kl[at] = (float)score_kl_kept(top, b->k, (double)b->tail[at], a);
    s->estimate[at] = (float)score_kl_drawn(top, b->k, (double)b->tail[at],
                                            b->drawn + at * b->m, b->m, a);
    s->agree[at] = top->id == score_first(a);
    return 0;
}

/* Numbers of 0 to 1, one for each place, that leave no gaps between them. */
static double turn(size_t at)
{
    double x = 0.5 + (double)at * 0.61803398874989484820;

    return x - floor(x);
}

int item_token(void *arg, struct score_job *job, int i,
               const struct score_dist *a, const struct score_dist *b,
               int worker, struct err *e)
{
    const struct place *p = job->data;
    struct scored *s = p->scored;
    size_t at = (size_t)(i + p->shift);
    uint32_t id = (uint32_t)job->tok[i];

    (void)arg;
    (void)worker;
    s->lp[at] = score_lp(a, id);
    if (s->ntop)
        score_top(s->top + at * (size_t)s->ntop, (size_t)s->ntop, a);
    if (s->save.k) {
        struct sample_top *top = s->save.top + at * s->save.k;

        s->save.lp[at] = s->lp[at];
        score_top(top, s->save.k, a);
        s->save.tail[at] = (float)score_tail(a, top, s->save.k);
        if (!score_draw(s->save.drawn + at * s->save.m, s->save.m, a, top,
                        s->save.k, turn(at)))
            s->save.tail[at] = -INFINITY;
    }
    if (s->from)
        return compare_kept(s, at, a, e);
    if (b->v && s->base) {
        s->base[at] = score_lp(b, id);
        s->kl[at] = (float)score_kl(b, a);
        s->agree[at] = score_first(a) == score_first(b);
    }
    return 0;
}
