/* SPDX-License-Identifier: MIT
 * emit.c - events out: texts of one kind are put together until they are asked
 * for, and given out in whole characters. */
#include <stdio.h>

#include "base/utf8.h"
#include "chat/chat_impl.h"

enum { TOGETHER = 64 << 10 };

static void give(struct emitter *m, const struct chat_event *ev)
{
    if (m->bad)
        return;
    m->bad = m->text.bad;
    if (m->bad)
        err_nomem(m->e);
    else
        m->bad = m->fn(m->arg, ev, m->e) != 0;
}

/* Arguments are UTF-8, whatever the model said. */
static void mend(struct buf *to, const unsigned char *p, size_t n)
{
    size_t len;
    uint32_t cp;

    for (; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD)
            buf_put(to, "\xef\xbf\xbd", 3);
        else
            buf_put(to, p, len);
    }
}

void emit_flush(struct emitter *m, bool all)
{
    struct chat_event ev = {.kind = m->kind};
    size_t tail = all || !m->text.n ? 0 : utf8_tail(m->text.p, m->text.n);
    size_t n = m->text.n - tail;
    struct buf mended = {0};

    if (!n)
        return;
    ev.text = (const char *)m->text.p;
    ev.n = n;
    if (m->kind == CHAT_ARGUMENTS) {
        mend(&mended, m->text.p, n);
        ev.text = (const char *)mended.p;
        ev.n = mended.n;
        ev.call = m->ncall - 1;
        m->text.bad |= mended.bad;
    }
    give(m, &ev);
    buf_free(&mended);
    memmove(m->text.p, m->text.p + n, tail);
    m->text.n = tail;
}

void emit_text(struct emitter *m, enum chat_kind kind, const void *p, size_t n)
{
    if (!n || m->bad)
        return;
    if (kind != m->kind)
        emit_flush(m, true);
    m->kind = kind;
    buf_put(&m->text, p, n);
    if (m->text.n >= TOGETHER || m->text.bad)
        emit_flush(m, m->text.bad);
}

void emit_puts(struct emitter *m, enum chat_kind kind, const char *s)
{
    emit_text(m, kind, s, strlen(s));
}

static void control(struct emitter *m, unsigned char b)
{
    char s[8];

    snprintf(s, sizeof s, b == '\n' ? "\\n" : b == '\t' ? "\\t" : "\\u%04x", b);
    emit_puts(m, CHAT_ARGUMENTS, s);
}

void emit_escaped(struct emitter *m, const void *p, size_t n)
{
    const unsigned char *b = p;
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (b[i] >= 0x20 && b[i] != '"' && b[i] != '\\')
            continue;
        emit_text(m, CHAT_ARGUMENTS, b + from, i - from);
        if (b[i] < 0x20)
            control(m, b[i]);
        else
            emit_puts(m, CHAT_ARGUMENTS, b[i] == '"' ? "\\\"" : "\\\\");
        from = i + 1;
    }
    if (n > from) /* P may be NULL */
        emit_text(m, CHAT_ARGUMENTS, b + from, n - from);
}

void emit_json(struct emitter *m, const void *p, size_t n)
{
    const unsigned char *b = p;
    struct scan_json s = {0};

    for (size_t i = 0; i < n; i++) {
        bool in = s.state == SCAN_STRING;

        scan_byte(&s, b[i]);
        if (in && b[i] < 0x20)
            control(m, b[i]);
        else
            emit_text(m, CHAT_ARGUMENTS, b + i, 1);
    }
}

void emit_tool(struct emitter *m, struct buf *name, struct buf *id)
{
    struct chat_event ev = {.kind = CHAT_TOOL};
    char made[32];

    emit_flush(m, true);
    ev.call = m->ncall++;
    snprintf(made, sizeof made, "call%05zu", ev.call);
    ev.name = buf_str(name);
    ev.id = id->n ? buf_str(id) : made;
    m->text.bad |= name->bad || id->bad;
    give(m, &ev);
}

void emit_end(struct emitter *m, const char *error)
{
    struct chat_event ev = {.kind = CHAT_END, .error = error};

    emit_flush(m, true);
    ev.call = m->ncall - 1;
    give(m, &ev);
}
