/* SPDX-License-Identifier: MIT
 * sequence.c - sequences of tokens: windows over them, and what is said of
 * each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/quote.h"
#include "cmd/score/score.h"

enum { PIECE = 512 }; /* tokens of a record */

/* What comes with a sequence. */
struct given {
    struct kept_list kept;
    struct lora_choice lora;
};

struct window {
    struct score_job job;
    struct place place;
    int32_t *own; /* its tokens, where BOS stands before them */
};

struct sequence {
    struct item item; /* first */
    struct prompt *prompt;
    struct kept_list kept;
    struct score_kept from;
    struct windows w;
    struct window *window;
    int nwindow;
    struct scored scored;
};

static struct sequence *of(struct item *it)
{
    return (struct sequence *)(void *)it;
}

static void sequence_free(struct item *it)
{
    struct sequence *s = of(it);

    for (int i = 0; i < s->nwindow; i++)
        free(s->window[i].own);
    free(s->window);
    scored_free(&s->scored);
    score_kept_free(&s->from);
    prompt_free(s->prompt);
    free(s);
}

/* ---- windows ---- */

/* Window I has the tokens START to END, BOS before them unless it begins with
 * the sequence, of which those from SEEN on have not been scored before. */
static int fill(struct sequence *s, struct window *w, int start, int end,
                int seen, bool bos, struct err *e)
{
    const struct given *given = s->prompt->data;
    int add = start && bos;

    w->place = (struct place){&s->item, &s->scored, start - add, NULL};
    w->job = (struct score_job){.tok = s->prompt->ids + start,
                                .n = end - start + add,
                                .from = seen - start + add,
                                .adapt = lora_chosen(&given->lora),
                                .data = &w->place};
    if (w->job.from < s->w.skip)
        w->job.from = s->w.skip;
    if (w->job.from < 1)
        w->job.from = 1;
    if (w->job.from > w->job.n)
        w->job.from = w->job.n;
    if (!add)
        return 0;
    w->own = malloc((size_t)w->job.n * sizeof *w->own);
    if (!w->own)
        return err_nomem(e);
    w->own[0] = s->prompt->ids[0];
    memcpy(w->own + 1, s->prompt->ids + start,
           (size_t)(end - start) * sizeof *w->own);
    w->job.tok = w->own;
    return 0;
}

static int make_windows(struct sequence *s, const struct tok *tok,
                        struct err *e)
{
    int n = s->prompt->n, c = s->w.context, step = s->w.stride, end, count;
    bool bos = tok_adds_bos(tok) && s->prompt->ids[0] == tok_role(tok, TOK_BOS);

    if (bos && step > c - 1)
        step = c - 1;
    if (step < 1)
        return err_set(e, ERR_CONTEXT, "a context of %d tokens leaves no room",
                       c);
    end = n < c ? n : c;
    count = 1 + (n - end + step - 1) / step;
    s->window = calloc((size_t)count, sizeof *s->window);
    if (!s->window)
        return err_nomem(e);
    if (fill(s, &s->window[s->nwindow++], 0, end, 0, bos, e))
        return -1;
    while (end < n) {
        int seen = end, start;

        end = n - end < step ? n : end + step;
        start = seen - c + bos + step;
        if (fill(s, &s->window[s->nwindow++], start, end, seen, bos, e))
            return -1;
    }
    return 0;
}

static int prepare(struct program *p, struct sequence *s, struct err *e)
{
    const struct model *m = p->load.model;
    struct prompt *q = s->prompt;

    if (q->failed.code) {
        *e = q->failed;
        return -1;
    }
    if (!q->n)
        return err_set(e, ERR_FORMAT, "there are no tokens to score");
    if (step_check(m, q->ids, q->n, 0, e))
        return -1;
    s->w = p->windows;
    if (p->base) {
        if (kept_all(&s->from, &s->kept, q->n, (size_t)model_n_vocab(m), e))
            return -1;
        if (s->kept.windows.context > p->windows.context)
            return err_set(e, ERR_CONTEXT,
                           "the run has windows of %d tokens, which are more "
                           "than the context of %d",
                           s->kept.windows.context, p->windows.context);
        s->w = s->kept.windows;
    }
    if (scored_new(&s->scored, p, q->n, p->base ? &s->from : NULL, e))
        return -1;
    return make_windows(s, p->load.tok, e);
}

/* ---- what is said ---- */

static bool is_scored(const struct sequence *s, int i)
{
    return !isnan(s->scored.lp[i]);
}

/* Tokens I to END, whose text begins as FLAGS say; all of them are scored, or
 * none is. */
static int put_piece(struct program *p, struct sequence *s, int i, int end,
                     unsigned flags, struct err *e)
{
    const struct scored *c = &s->scored;
    struct wire_tokens t = {.seq = s->prompt->seq,
                            .ids = (const uint32_t *)s->prompt->ids + i,
                            .n = (size_t)(end - i)};
    struct buf text = {0};
    int rc = tok_decode(&text, p->load.tok, t.ids, t.n, flags, e);

    t.text = text.p ? text.p : (const void *)"";
    t.ntext = text.n;
    if (is_scored(s, i)) {
        t.lp = c->lp + i;
        t.ntop = (size_t)c->ntop;
        if (c->ntop)
            t.top = (const struct wire_top *)(const void *)(c->top +
                                                            (size_t)i * t.ntop);
    }
    rc = rc || wire_put_tokens(p->out, &t, e);
    buf_free(&text);
    return rc ? -1 : 0;
}

/* A line for people. */
static int show_token(const struct program *p, const struct sequence *s, int i,
                      unsigned flags, struct err *e)
{
    uint32_t id = (uint32_t)s->prompt->ids[i];
    struct buf text = {0}, quoted = {0};
    const struct scored *c = &s->scored;
    int rc =
        tok_decode(&text, p->load.tok, &id, 1, flags | TOK_SHOW_SPECIAL, e);

    quote_put(&quoted, text.p ? text.p : (const void *)"", text.n);
    rc = rc || buf_ok(&quoted, e);
    if (!rc) {
        printf("%llu\t%d\t%lu\t", (unsigned long long)s->prompt->seq, i,
               (unsigned long)id);
        if (is_scored(s, i))
            printf("%.4f", (double)c->lp[i]);
        else
            putchar('-');
        printf("\t%.*s", (int)quoted.n, (const char *)quoted.p);
        for (int k = 0; is_scored(s, i) && k < c->ntop; k++)
            printf("\t%lu:%.4f", (unsigned long)c->top[i * c->ntop + k].id,
                   (double)c->top[i * c->ntop + k].lp);
        putchar('\n');
    }
    buf_free(&text);
    buf_free(&quoted);
    return rc ? -1 : 0;
}

static int put_tokens(struct program *p, struct sequence *s, struct err *e)
{
    const int32_t *ids = s->prompt->ids;
    int n = s->prompt->n, next;

    for (int i = 0; i < n; i = next) {
        unsigned flags =
            !i || tok_starts_text(p->load.tok, (uint32_t)ids[i - 1])
                ? TOK_AT_START
                : 0;

        next = i + 1;
        if (!p->out) {
            if (show_token(p, s, i, flags, e))
                return -1;
            continue;
        }
        while (next < n && next - i < PIECE &&
               is_scored(s, next) == is_scored(s, i))
            next++;
        if (put_piece(p, s, i, next, flags, e))
            return -1;
    }
    return 0;
}

static int put_results(struct program *p, struct sequence *s, struct err *e)
{
    struct tally t = {0};
    int rc;

    if (p->logprobs >= 0 && put_tokens(p, s, e))
        return -1;
    t.sequences = 1;
    /* All of them are no bound, but the divergence. */
    if (p->base && s->from.k < (size_t)model_n_vocab(p->load.model))
        t.kept = s->from.k;
    rc = tally_add(&t, &s->scored, p->load.tok, s->prompt->ids, e) ||
         tally_put(p, &t, &s->prompt->seq, e) || tally_join(&p->all, &t, e);
    tally_free(&t);
    if (!rc && p->saving)
        rc = saving_put(p->saving, s->prompt->seq, &s->w, &s->scored,
                        p->load.tok, s->prompt->ids, e);
    return rc ? -1 : 0;
}

static int sequence_tell(struct program *p, struct item *it, struct err *e)
{
    struct sequence *s = of(it);
    bool bad = it->failed.code != ERR_NONE;
    struct wire_end end = {.seq = s->prompt->seq,
                           .why = bad ? "error" : "input",
                           .ntokens = (uint64_t)s->prompt->n};

    if (p->out && prompt_pass(p->out, s->prompt, e))
        return -1;
    if (bad ? queue_failure(p->out, &p->worst, s->prompt->seq, &it->failed, e)
            : put_results(p, s, e))
        return -1;
    return p->out ? wire_put_end(p->out, &end, e) : 0;
}

/* ---- the input ---- */

static void given_free(void *data)
{
    struct given *g = data;

    buf_free(&g->kept.blocks);
    lora_choice_fini(&g->lora);
    free(g);
}

static int on_open(void *arg, struct prompt *q, struct err *e)
{
    (void)arg;
    q->data = calloc(1, sizeof(struct given));
    q->free_data = given_free;
    return q->data ? 0 : err_nomem(e);
}

static int on_set(void *arg, struct prompt *q, const struct wire_rec *r,
                  struct err *e)
{
    struct program *p = arg;
    struct given *g = q->data;

    return lora_set(&g->lora, &p->load.loras, p->load.model, r, e);
}

static int on_other(void *arg, struct prompt *q, const struct wire_rec *r,
                    struct err *e)
{
    struct given *g = q->data;

    (void)arg;
    return kept_add(&g->kept, r, e);
}

static int add(struct program *p, struct prompt *q, struct err *e)
{
    struct sequence *s = calloc(1, sizeof *s);

    if (!s) {
        prompt_free(q);
        return err_nomem(e);
    }
    s->item.tell = sequence_tell;
    s->item.free = sequence_free;
    s->prompt = q;
    s->kept = ((struct given *)q->data)->kept;
    queue_add(&p->queue, &s->item);
    if (prepare(p, s, &s->item.failed)) {
        if (s->item.failed.code != ERR_NOMEM)
            return 0;
        *e = s->item.failed;
        return -1;
    }
    s->item.left = s->nwindow;
    for (int i = 0; i < s->nwindow; i++)
        score_add(p->score, &s->window[i].job);
    return 0;
}

int sequence_input(void *program, int fd, const char *name, struct err *e)
{
    struct program *p = program;
    struct prompts_use use = {.open = on_open,
                              .set = on_set,
                              .arg = p,
                              .other = p->base ? on_other : NULL,
                              .vocab = p->load.vocab};
    struct err failed = {0};
    struct prompts *in;
    struct prompt *q;
    int got = 1, rc = 0;

    if (prompts_open(&in, fd, name, &use, e))
        return -1;
    while (!rc && (got > 0 || item_busy(p))) {
        while (!rc && got > 0 && item_room(p) &&
               prompts_wait(in, item_busy(p) ? 0 : -1)) {
            got = prompts_next(&q, in, &failed);
            if (got == 1)
                rc = add(p, q, e);
        }
        if (!rc && item_busy(p))
            rc = item_step(p, e);
    }
    if (!rc)
        rc = prompts_pass(p->out, in, e);
    if (!rc && got < 0) {
        *e = failed;
        rc = -1;
    }
    prompts_close(in);
    return rc;
}
