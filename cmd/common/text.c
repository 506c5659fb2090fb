/* SPDX-License-Identifier: MIT */
#include "cmd/common/text.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/common/cli.h"
#include "wire/wire.h"

struct text_seq {
    uint64_t s, ntokens;
    struct buf text; /* until it is first; to the end for JSON */
    struct buf id, why, error;
    unsigned char held[4]; /* the start of a character */
    size_t nheld;
    bool ended, started;
    struct text_seq *next;
};

static int by_number(const void *x, const void *y)
{
    const struct text_seq *a = x, *b = y;

    return (a->s > b->s) - (a->s < b->s);
}

static void check(const struct buf *b)
{
    struct err e = {0};

    if (buf_ok(b, &e))
        die(&e);
}

static void put(const struct text *t, const unsigned char *p, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; t->escape && i < n; i++) {
        if (p[i] != '\n' && p[i] != '\\')
            continue;
        fwrite(p + from, 1, i - from, stdout);
        fputs(p[i] == '\n' ? "\\n" : "\\\\", stdout);
        from = i + 1;
    }
    if (n > from) /* P may be NULL */
        fwrite(p + from, 1, n - from, stdout);
}

/* Write all whole characters of what is held and P[N], and hold the rest. */
static void put_whole(const struct text *t, struct text_seq *q,
                      const unsigned char *p, size_t n)
{
    size_t tail;

    while (q->nheld && n) {
        q->held[q->nheld++] = *p++;
        n--;
        tail = utf8_tail(q->held, q->nheld);
        put(t, q->held, q->nheld - tail);
        memmove(q->held, q->held + q->nheld - tail, tail);
        q->nheld = tail;
    }
    if (!n)
        return;
    tail = t->raw ? 0 : utf8_tail(p, n);
    put(t, p, n - tail);
    memcpy(q->held, p + n - tail, tail);
    q->nheld = tail;
}

/* {"s", "id", "text", "tokens", "why", "error"} */
static void put_json(struct text_seq *q)
{
    struct buf b = {0};

    buf_printf(&b, "{\"s\":%llu,", (unsigned long long)q->s);
    if (q->id.n)
        buf_printf(&b, "\"id\":%s,", buf_str(&q->id));
    wire_json_bytes(&b, "text", q->text.p, q->text.n);
    buf_printf(&b, ",\"tokens\":%llu,\"why\":", (unsigned long long)q->ntokens);
    if (q->why.n)
        wire_json_string(&b, q->why.p, q->why.n);
    else
        buf_puts(&b, "null");
    if (q->error.n) {
        buf_puts(&b, ",\"error\":");
        wire_json_string(&b, q->error.p, q->error.n);
    }
    buf_puts(&b, "}\n");
    check(&b);
    fwrite(b.p, 1, b.n, stdout);
    buf_free(&b);
}

static void finish(const struct text *t, struct text_seq *q)
{
    if (t->json)
        put_json(q);
    else
        put(t, q->held, q->nheld);
    if (!t->json && (t->newline || t->nul))
        putchar(t->nul ? 0 : '\n');
    buf_free(&q->text);
    buf_free(&q->id);
    buf_free(&q->why);
    buf_free(&q->error);
    free(q);
}

static struct text_seq *get(struct text *t, uint64_t s)
{
    struct text_seq key = {.s = s}, *q, **found;
    struct err e = {0};

    found = tfind(&key, &t->open, by_number);
    if (found)
        return *found;
    q = calloc(1, sizeof *q);
    if (q)
        q->s = s;
    if (!q || !tsearch(q, &t->open, by_number)) {
        err_nomem(&e);
        die(&e);
    }
    if (t->first)
        t->last->next = q;
    else
        t->first = q;
    t->last = q;
    return q;
}

/* Q has ended: write it and those that waited for it, if it is their turn. */
static void end(struct text *t, struct text_seq *q)
{
    tdelete(q, &t->open, by_number);
    q->ended = true;
    while ((q = t->first) && q->ended) {
        t->first = q->next;
        finish(t, q);
        q = t->first;
        if (q && !t->json) {
            put_whole(t, q, q->text.p, q->text.n);
            buf_free(&q->text);
        }
    }
}

bool text_starts(struct text *t, uint64_t s)
{
    return !get(t, s)->started;
}

void text_set_starts(struct text *t, uint64_t s, bool starts)
{
    get(t, s)->started = !starts;
}

void text_add(struct text *t, uint64_t s, const void *p, size_t len, size_t n)
{
    struct text_seq *q = get(t, s);

    q->ntokens += n;
    if (q == t->first && !t->json)
        put_whole(t, q, p, len);
    else
        buf_put(&q->text, p, len);
    check(&q->text);
}

void text_id(struct text *t, uint64_t s, const void *json, size_t n)
{
    struct text_seq *q = get(t, s);

    q->id.n = 0;
    buf_put(&q->id, json, n);
    check(&q->id);
}

void text_error(struct text *t, uint64_t s, const char *msg)
{
    struct text_seq *q = get(t, s);

    q->error.n = 0;
    buf_puts(&q->error, msg);
    check(&q->error);
}

void text_end(struct text *t, uint64_t s, const char *why)
{
    struct text_seq *q = get(t, s);

    buf_puts(&q->why, why);
    check(&q->why);
    end(t, q);
}

void text_end_all(struct text *t)
{
    while (t->first)
        end(t, t->first);
}

void text_flush(void)
{
    if (fflush(stdout))
        exit(cli_finish(1));
}
