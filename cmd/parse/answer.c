/* SPDX-License-Identifier: MIT
 * answer.c - one answer: its tokens to text, its text to events, these out. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/parse/parse.h"
#include "tok/tok.h"

struct seq {
    uint64_t number;
    struct parse *p;
    struct chat *chat;
    struct chat_message message; /* where whole messages are wanted */
    bool midst;                  /* its next token does not begin a text */
    bool over;
    struct seq *next;
};

/* In order of appearance: as whole messages they are written in that order. */
static struct seq *first, *last;
static void *by_number;

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct seq *)a)->number;
    uint64_t y = ((const struct seq *)b)->number;

    return x < y ? -1 : x > y;
}

static void put_text(const struct seq *q, const struct chat_event *ev)
{
    struct buf b = {0};

    buf_printf(&b, "%llu\t%s", (unsigned long long)q->number,
               chat_kind_words[ev->kind]);
    if (ev->kind >= CHAT_TOOL)
        buf_printf(&b, "\t%zu", ev->call);
    if (ev->kind == CHAT_TOOL)
        buf_printf(&b, "\t%s\t%s", ev->id, ev->name);
    if (ev->error)
        buf_printf(&b, "\t%s", ev->error);
    if (ev->text) {
        buf_puts(&b, "\t");
        wire_json_string(&b, ev->text, ev->n);
    }
    puts(buf_str(&b));
    buf_free(&b);
}

static int put_event(void *arg, const struct chat_event *ev, struct err *e)
{
    struct seq *q = arg;
    struct wire_delta r = {.seq = q->number,
                           .kind = chat_kind_words[ev->kind],
                           .call = ev->call,
                           .has_call = ev->kind >= CHAT_TOOL,
                           .id = ev->id,
                           .name = ev->name,
                           .text = ev->text,
                           .ntext = ev->n,
                           .error = ev->error};

    if (q->p->message)
        return chat_collect(&q->message, ev, e);
    if (q->p->out)
        return wire_put_delta(q->p->out, &r, e);
    put_text(q, ev);
    return 0;
}

static struct seq *find(struct parse *p, uint64_t number, struct err *e)
{
    struct seq probe = {.number = number}, *q;
    struct seq **at = tfind(&probe, &by_number, compare);
    struct chat_opts o = p->o;

    if (at)
        return *at;
    q = calloc(1, sizeof *q);
    if (!q) {
        err_nomem(e);
        return NULL;
    }
    q->number = number;
    q->p = p;
    o.fn = put_event;
    o.arg = q;
    if (chat_new(&q->chat, &o, e) || !tsearch(q, &by_number, compare)) {
        if (q->chat)
            err_nomem(e);
        chat_free(q->chat);
        free(q);
        return NULL;
    }
    if (first)
        last->next = q;
    else
        first = q;
    last = q;
    return q;
}

int answer_feed(struct parse *p, uint64_t number, const void *text, size_t n,
                struct err *e)
{
    struct seq *q = find(p, number, e);

    return q ? chat_feed(q->chat, text, n, e) : -1;
}

int answer_tokens(struct parse *p, const struct wire_tokens *r, struct err *e)
{
    struct seq *q = find(p, r->seq, e);
    unsigned flags = TOK_SHOW_SPECIAL;

    if (!q)
        return -1;
    if (!p->tok && !r->text && r->n)
        return err_set(e, ERR_FORMAT,
                       "tokens without text: name their model with -m");
    if (!p->tok || !r->n)
        return chat_feed(q->chat, r->text, r->ntext, e);
    p->text.n = 0;
    if (!q->midst)
        flags |= TOK_AT_START;
    if (tok_decode(&p->text, p->tok, r->ids, r->n, flags, e))
        return -1;
    q->midst = !tok_starts_text(p->tok, r->ids[r->n - 1]);
    return chat_feed(q->chat, p->text.p, p->text.n, e);
}

/* The first are written that are complete, and forgotten. */
static int shift(struct err *e)
{
    struct buf b = {0};
    struct seq *q;
    int r = 0;

    while (!r && (q = first) && q->over) {
        if (q->p->message) {
            b.n = 0;
            chat_message_json(&b, &q->message);
            buf_putc(&b, '\n');
            r = buf_ok(&b, e);
            fwrite(b.p, 1, b.n, stdout);
        }
        first = q->next;
        chat_message_free(&q->message);
        free(q);
    }
    buf_free(&b);
    return r;
}

static int finish(struct seq *q, struct err *e)
{
    int r = chat_finish(q->chat, e);

    tdelete(q, &by_number, compare);
    chat_free(q->chat);
    q->chat = NULL;
    q->over = true;
    return r;
}

int answer_inside(struct parse *p, uint64_t number, struct err *e)
{
    const struct chat_style *style =
        p->o.style ? p->o.style : chat_dialect_style(p->o.dialect);
    bool inside = p->o.inside;
    const struct seq *q;

    if (style == chat_style("none"))
        return 0;
    p->o.inside = true;
    q = find(p, number, e);
    p->o.inside = inside;
    return q ? 0 : -1;
}

int answer_end(struct parse *p, uint64_t number, struct err *e)
{
    struct seq *q = find(p, number, e);
    int r = q ? finish(q, e) : -1;

    return shift(e) ? -1 : r;
}

int answer_end_all(struct parse *p, struct err *e)
{
    int r = 0;

    (void)p;
    for (struct seq *q = first; q; q = q->next)
        if (!q->over && finish(q, e))
            r = -1;
    return shift(e) ? -1 : r;
}
