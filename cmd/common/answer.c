/* SPDX-License-Identifier: MIT
 * answer.c - one record for each token, in the order of the prompts.
 *
 * The first answer that has not ended is written as it is made; those behind
 * it wait, as events in memory.  So the output is the same bytes however many
 * sequences run together.
 */
#include "cmd/common/answer.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct wire_top) == sizeof(struct sample_top) &&
                   offsetof(struct wire_top, lp) ==
                       offsetof(struct sample_top, lp),
               "one and the same");

/* An event that waits; its text, and then its TOP, follow it. */
struct waiting {
    struct run_event ev;
    size_t bytes;
};

struct answer {
    struct prompt *p;
    bool begun; /* what comes before its tokens is written */
    bool runs;  /* it did not fail before */
    bool over;
    struct buf wait;
    struct answer *next;
};

struct answer *answer_new(struct answers *a, struct prompt *p, struct err *e)
{
    struct answer *x = calloc(1, sizeof *x);

    if (!x) {
        err_nomem(e);
        return NULL;
    }
    x->p = p;
    if (a->last)
        a->last->next = x;
    else
        a->first = x;
    a->last = x;
    return x;
}

bool answer_open(const struct answers *a, uint64_t seq)
{
    const struct answer *x = a->first;

    while (x && x->p->seq != seq)
        x = x->next;
    return x;
}

static int put_ids(struct answers *a, const struct prompt *p, struct err *e)
{
    struct wire_tokens t = {
        .seq = p->seq, .ids = (const uint32_t *)p->ids, .n = (size_t)p->n};
    struct buf text = {0};
    int rc = tok_decode(&text, a->tok, t.ids, t.n, TOK_AT_START, e);

    t.text = text.p ? text.p : (const void *)"";
    t.ntext = text.n;
    if (!rc && a->out)
        rc = wire_put_tokens(a->out, &t, e);
    else if (!rc)
        text_add(&a->text, p->seq, t.text, t.ntext, t.n);
    buf_free(&text);
    return rc;
}

static int begin(struct answers *a, struct answer *x, struct err *e)
{
    const struct asked *asked = x->p->data;

    x->begun = true;
    if (a->out && (prompt_pass(a->out, x->p, e) ||
                   (x->p->data && sampling_put_seed(a->out, x->p->seq,
                                                    &asked->w.sampling, e))))
        return -1;
    /* With log-probabilities it comes token by token. */
    if (!a->echo || !x->p->n || (asked && asked->w.logprobs >= 0 && x->runs))
        return 0;
    return put_ids(a, x->p, e);
}

static int put_token(struct answers *a, const struct run_event *ev,
                     struct err *e)
{
    struct wire_tokens t = {.seq = ev->seq,
                            .ids = &ev->id,
                            .n = 1,
                            .text = ev->text,
                            .ntext = ev->ntext};

    if (!a->out) {
        text_add(&a->text, ev->seq, ev->text, ev->ntext, 1);
        text_flush();
        return 0;
    }
    if (ev->has_lp)
        t.lp = &ev->lp;
    if (ev->ntop) {
        t.top = (const struct wire_top *)(const void *)ev->top;
        t.ntop = (size_t)ev->ntop;
    }
    return wire_put_tokens(a->out, &t, e);
}

static int put_end(struct answers *a, const struct run_event *ev, struct err *e)
{
    struct wire_end end = {.seq = ev->seq,
                           .why = ev->why,
                           .ntokens = (uint64_t)ev->ntokens,
                           .nprompt = (uint64_t)ev->nprompt,
                           .stop = ev->stop,
                           .nstop = ev->nstop};

    if (a->times) {
        end.nreused = (uint64_t)ev->nreused;
        end.first = ev->first_s;
        end.total = ev->total_s;
    }
    if (!a->out) {
        text_end(&a->text, ev->seq, ev->why);
        text_flush();
        return 0;
    }
    return wire_put_end(a->out, &end, e);
}

static int put_error(struct answers *a, const struct run_event *ev,
                     struct err *e)
{
    struct wire_error r = {.seq = ev->seq,
                           .code = err_word(ev->error->code),
                           .msg = ev->error->msg};

    return a->out ? wire_put_error(a->out, &r, e) : 0;
}

static int put_event(struct answers *a, struct answer *x,
                     const struct run_event *ev, struct err *e)
{
    if (!x->begun && begin(a, x, e))
        return -1;
    if (ev->kind == RUN_TOKEN || ev->kind == RUN_PROMPT_TOKEN)
        return put_token(a, ev, e);
    if (ev->error && put_error(a, ev, e))
        return -1;
    return put_end(a, ev, e);
}

static size_t whole(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static int keep(struct answer *x, const struct run_event *ev, struct err *e)
{
    size_t text = whole(ev->ntext),
           top = whole((size_t)ev->ntop * sizeof *ev->top),
           error = ev->error ? whole(sizeof *ev->error) : 0,
           stop = whole(ev->nstop);
    struct waiting w = {*ev, sizeof w + text + top + error + stop};
    char *p = buf_add(&x->wait, w.bytes);

    if (!p)
        return err_nomem(e);
    memset(p, 0, w.bytes);
    memcpy(p, &w, sizeof w);
    p += sizeof w;
    if (ev->ntext)
        memcpy(p, ev->text, ev->ntext);
    if (ev->ntop)
        memcpy(p + text, ev->top, (size_t)ev->ntop * sizeof *ev->top);
    if (ev->error)
        memcpy(p + text + top, ev->error, sizeof *ev->error);
    if (ev->nstop)
        memcpy(p + text + top + error, ev->stop, ev->nstop);
    return 0;
}

/* The event at *AT of what X waits with. */
static int replay(struct answers *a, struct answer *x, size_t *at,
                  struct err *e)
{
    char *p = (char *)x->wait.p + *at;
    struct waiting w;
    struct run_event *ev = &w.ev;

    memcpy(&w, p, sizeof w);
    *at += w.bytes;
    p += sizeof w;
    ev->text = p;
    p += whole(ev->ntext);
    ev->top = (const struct sample_top *)(const void *)p;
    p += whole((size_t)ev->ntop * sizeof *ev->top);
    if (ev->error) {
        ev->error = (const struct err *)(const void *)p;
        p += whole(sizeof *ev->error);
    }
    ev->stop = ev->nstop ? p : NULL;
    return put_event(a, x, ev, e);
}

static void answer_free(struct answer *x)
{
    prompt_free(x->p);
    buf_free(&x->wait);
    free(x);
}

/* Write what waits and is in turn, and forget what is over. */
static int advance(struct answers *a, struct err *e)
{
    while (a->first) {
        struct answer *x = a->first;

        for (size_t at = 0; at < x->wait.n;)
            if (replay(a, x, &at, e))
                return -1;
        x->wait.n = 0;
        if (!x->over)
            return 0;
        a->first = x->next;
        if (!a->first)
            a->last = NULL;
        answer_free(x);
    }
    return 0;
}

static void leave(struct answers *a, struct answer *x)
{
    struct answer **p = &a->first, *before = NULL;

    for (; *p != x; p = &(*p)->next)
        before = *p;
    *p = x->next;
    if (a->last == x)
        a->last = before;
    answer_free(x);
}

int answer_event(struct answers *a, struct answer *x,
                 const struct run_event *ev, struct err *e)
{
    x->runs |= ev->kind != RUN_END;
    if (ev->kind == RUN_PROMPT)
        return 0;
    if (ev->kind == RUN_END)
        x->over = true;
    if (a->unordered) {
        int rc = put_event(a, x, ev, e);

        if (x->over)
            leave(a, x);
        return rc;
    }
    if (a->first != x)
        return keep(x, ev, e);
    if (put_event(a, x, ev, e))
        return -1;
    return x->over ? advance(a, e) : 0;
}

bool answer_had_state(const struct answer *x)
{
    return x->p->had_state;
}

int answer_failed(struct answers *a, struct answer *x, const struct err *why,
                  struct err *e)
{
    struct run_event ev = {.kind = RUN_END,
                           .seq = x->p->seq,
                           .why = "error",
                           .error = why,
                           .nprompt = x->p->n};

    return answer_event(a, x, &ev, e);
}
