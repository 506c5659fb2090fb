/* SPDX-License-Identifier: MIT
 * parse.c - the machine that reads an answer: its loop, text, and reasoning.
 *
 * It goes byte by byte, so that no cut matters.  1. In text it waits for the
 * literals that may begin something; what has begun as one is held back.  2. A
 * call that has begun is logged until its name is known for certain: till then
 * it may be text after all, and is read again as such.  3. So is what follows
 * where a call breaks off.  How much is read again is bounded by what came.
 */
#include <stdlib.h>

#include "chat/chat_impl.h"

/* ---- the log ---- */

void parse_unread(struct chat *c, unsigned char b)
{
    if (c->at) {
        c->at--;
        return;
    }
    c->log.n = c->from = 0;
    buf_putc(&c->log, b);
}

/* An opener of N bytes at P has been read: the log begins with it. */
static void log_begin(struct chat *c, const char *p, size_t n)
{
    if (c->at < c->log.n) {
        c->from = c->at - n; /* all of it was read from there */
    } else {
        c->log.n = c->from = 0;
        buf_put(&c->log, p, n);
        c->at = c->log.n;
    }
    c->logging = true;
    c->opener = n;
}

/* What is read for the first time. */
static void log_new(struct chat *c, unsigned char b)
{
    c->read++;
    if (!c->logging) {
        c->log.n = c->from = c->at = 0;
        return;
    }
    if (c->from > CHAT_KEEP) {
        c->log.n -= c->from;
        memmove(c->log.p, c->log.p + c->from, c->log.n);
        c->from = 0;
    }
    buf_putc(&c->log, b);
    c->at = c->log.n;
}

/* ---- text ---- */

/* A tag without the white space around it, which *LEAD and *TAIL get. */
static size_t core(const char **p, const char **lead, const char **tail)
{
    const char *s = *p;
    size_t n;

    *lead = s;
    s += strspn(s, "\n");
    n = strcspn(s, "\n");
    *p = s;
    *tail = s + n;
    return n;
}

static void match_text(struct chat *c)
{
    const char *p = c->style->open, *lead, *tail;
    const struct pattern *pat = c->d->pattern;
    size_t n = core(&p, &lead, &tail);

    c->match.n = 0;
    c->match.space = c->match.end = false;
    if (n)
        match_add(&c->match, p, n, NULL);
    for (int i = 0; i < MAX_PATTERNS && pat[i].text; i++)
        if (!pat[i].start || !c->said)
            match_add(&c->match, pat[i].text, match_literal(pat[i].text),
                      pat[i].text);
}

static void set_first(struct chat *c)
{
    memset(c->first, 0, sizeof c->first);
    for (int i = 0; i < c->match.n; i++)
        c->first[(unsigned char)*c->match.lit[i].p] = true;
    c->first[' '] = c->first['\n'] = c->first['\r'] = c->first['\t'] = true;
}

void parse_text(struct chat *c)
{
    c->state = ST_TEXT;
    c->logging = false;
    c->match.nhold = 0;
    match_text(c);
    set_first(c);
}

void parse_again(struct chat *c)
{
    c->again += c->at - c->from;
    c->at = c->from;
    parse_text(c);
}

static void say(struct chat *c, const void *p, size_t n)
{
    emit_text(&c->m, CHAT_TEXT, p, n);
    if (c->said)
        return;
    c->said = true;
    match_text(c);
    set_first(c);
}

static void say_space(struct chat *c)
{
    say(c, c->space.p, c->space.n);
    c->space.n = 0;
}

void parse_space(struct chat *c, const char *gap)
{
    size_t n = strlen(gap), have = c->space.n;

    if (c->blank)
        n = have;
    for (; !c->blank && n; n--)
        if (n <= have &&
            !memcmp(c->space.p + have - n, gap + strlen(gap) - n, n))
            break;
    c->space.n -= n;
    if (c->space.n)
        say_space(c);
    c->space.n = 0;
    c->said = c->blank = true;
}

static void text_char(struct chat *c, char b)
{
    if (scan_space((unsigned char)b)) {
        buf_putc(&c->space, b);
        if (c->space.n < CHAT_MAX_SPACE)
            return;
        c->blank = false;
        say_space(c);
        return;
    }
    c->blank = false;
    if (c->space.n)
        say_space(c);
    say(c, &b, 1);
}

/* What was skipped so far turns out to be all there was of it. */
static bool skipped(struct chat *c, unsigned char b)
{
    if (c->skip && *c->skip && (unsigned char)*c->skip == b) {
        c->skip++;
        return true;
    }
    c->skip = NULL;
    return false;
}

static const char *tag_tail(const char *tag)
{
    const char *lead, *tail;

    core(&tag, &lead, &tail);
    return tail;
}

static void to_reasoning(struct chat *c)
{
    const char *close = c->style->close, *lead, *tail, *p = c->style->open;
    size_t n = core(&close, &lead, &tail);

    c->state = ST_REASONING;
    match_init(&c->match);
    if (close > lead)
        match_add(&c->match, lead, (size_t)(tail - lead), close + n);
    match_add(&c->match, close, n, close + n);
    if (c->opening) {
        n = core(&p, &lead, &tail);
        match_add(&c->match, p, n, NULL);
    }
    set_first(c);
    c->skip = tag_tail(c->style->open);
}

static void text_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    struct literal hit;
    size_t n;
    int i;

    if (skipped(c, b))
        return;
    if (!c->match.nhold && scan_space(b)) {
        text_char(c, (char)b);
        return;
    }
    i = match_byte(&c->match, b, out, &n);
    hit = c->match.lit[i < 0 ? 0 : i];
    for (size_t k = 0; k < n; k++)
        text_char(c, out[k]);
    if (i < 0)
        return;
    if (hit.next) {
        i = 0;
        while (c->d->pattern[i].text != hit.next)
            i++;
        log_begin(c, hit.p, hit.n);
        c->pattern = i;
        if (c->d->harmony)
            harmony_open(c);
        else
            call_begin(c, i);
        return;
    }
    /* White space before reasoning counts where there is text before it. */
    if (!c->blank)
        say_space(c);
    c->space.n = 0;
    to_reasoning(c);
}

/* ---- reasoning ---- */

static void reasoning_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    struct literal hit;
    size_t n;
    int i;

    if (skipped(c, b))
        return;
    i = match_byte(&c->match, b, out, &n);
    if (n) {
        emit_text(&c->m, CHAT_REASONING, out, n);
        c->opening = false;
    }
    if (i < 0)
        return;
    hit = c->match.lit[i];
    if (hit.next) {
        c->skip = hit.next; /* what follows the tag */
        c->blank = true;
        parse_text(c);
    } else if (c->opening) {
        c->opening = false;
        c->skip = tag_tail(c->style->open);
    } else {
        emit_text(&c->m, CHAT_REASONING, hit.p, hit.n);
    }
}

/* ---- the loop ---- */

static void step(struct chat *c, unsigned char b)
{
    if (c->state == ST_TEXT)
        text_byte(c, b);
    else if (c->state == ST_REASONING)
        reasoning_byte(c, b);
    else if (c->d->harmony)
        harmony_byte(c, b);
    else
        call_byte(c, b);
}

/* How many bytes of P[N] are nothing but text, as those before them. */
static size_t plain(struct chat *c, const unsigned char *p, size_t n)
{
    size_t k = 0;

    if (c->match.nhold || c->skip || c->opening ||
        (c->state != ST_TEXT && c->state != ST_REASONING) ||
        (c->state == ST_TEXT && (c->space.n || c->blank || !c->said)))
        return 0;
    while (k < n && !c->first[p[k]])
        k++;
    return k;
}

static bool stuck(const struct chat *c)
{
    return c->m.bad || c->log.bad || c->space.bad || c->value.bad ||
           c->args.bad || c->header.bad || c->name.bad || c->key.bad ||
           c->id.bad;
}

static void feed(struct chat *c, const unsigned char *p, size_t n)
{
    for (size_t i = 0, k; !stuck(c);) {
        if (c->at < c->log.n) {
            step(c, c->log.p[c->at++]);
            continue;
        }
        if (c->logging && c->at - c->from >= CHAT_KEEP)
            call_fail(c, "too long");
        if (c->at < c->log.n)
            continue;
        if (i == n)
            break;
        k = plain(c, p + i, n - i);
        if (k) {
            emit_text(&c->m, c->state == ST_TEXT ? CHAT_TEXT : CHAT_REASONING,
                      p + i, k);
            c->read += k;
            i += k;
            continue;
        }
        log_new(c, p[i]);
        step(c, p[i++]);
    }
}

static int result(struct chat *c, struct err *e)
{
    if (stuck(c) && !c->m.bad)
        err_nomem(e);
    c->m.bad |= stuck(c);
    c->m.e = NULL;
    return c->m.bad ? -1 : 0;
}

int chat_feed(struct chat *c, const void *p, size_t n, struct err *e)
{
    c->m.e = e;
    if (n)
        feed(c, p, n);
    emit_flush(&c->m, false);
    return result(c, e);
}

int chat_finish(struct chat *c, struct err *e)
{
    c->m.e = e;
    /* Each turn ends a call, or reads at least its opener as text. */
    while (!stuck(c) && (c->state > ST_REASONING || c->at < c->log.n)) {
        if (c->at < c->log.n)
            feed(c, NULL, 0);
        else if (c->d->harmony)
            harmony_finish(c);
        else
            call_finish(c);
    }
    if (c->state == ST_REASONING) {
        emit_text(&c->m, CHAT_REASONING, c->match.hold, c->match.nhold);
    } else {
        for (size_t i = 0; i < c->match.nhold; i++)
            text_char(c, c->match.hold[i]);
        /* White space behind a call is not said. */
        if (!c->blank || !c->m.ncall)
            say_space(c);
    }
    c->match.nhold = 0;
    emit_flush(&c->m, true);
    return result(c, e);
}

int chat_new(struct chat **out, const struct chat_opts *o, struct err *e)
{
    const struct chat_style *style =
        o->style ? o->style : chat_dialect_style(o->dialect);
    struct chat *c;

    if (o->inside && !*style->open)
        return err_set(e, ERR_USAGE,
                       "an answer without reasoning cannot begin within it");
    c = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(e);
    c->o = *o;
    c->d = o->dialect;
    c->style = style;
    c->m.fn = o->fn;
    c->m.arg = o->arg;
    c->blank = true;
    if (c->d->harmony) {
        harmony_begin(c);
    } else if (o->inside) {
        c->opening = true;
        to_reasoning(c);
        c->skip = NULL;
    } else {
        parse_text(c);
    }
    *out = c;
    return 0;
}

void chat_free(struct chat *c)
{
    if (!c)
        return;
    buf_free(&c->m.text);
    buf_free(&c->space);
    buf_free(&c->log);
    buf_free(&c->name);
    buf_free(&c->id);
    buf_free(&c->key);
    buf_free(&c->value);
    buf_free(&c->args);
    buf_free(&c->header);
    free(c);
}
