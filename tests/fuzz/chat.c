/* SPDX-License-Identifier: MIT
 * chat.c - any bytes as an answer, in any dialect: the first byte says which,
 * the second how the rest is cut.
 *
 * What must hold: every cut gives the same events, but for where their texts
 * are; calls begin, go on and end in order; arguments of whole calls are JSON;
 * what is read can be written, or is refused, and is then read as the same. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(int good)
{
    if (!good)
        abort();
}

struct seen {
    struct buf all, args;
    size_t calls;
    int open, last;
};

static int look(void *arg, const struct chat_event *ev, struct err *e)
{
    struct seen *s = arg;
    int text = ev->kind != CHAT_TOOL && ev->kind != CHAT_END;

    (void)e;
    must(!text || ev->n > 0);
    if (!text || (int)ev->kind != s->last)
        buf_printf(&s->all, "|%d:", ev->kind);
    s->last = text ? (int)ev->kind : -1;
    buf_put(&s->all, ev->text, ev->n);
    if (ev->kind < CHAT_TOOL) {
        must(!s->open);
        return 0;
    }
    s->calls += ev->kind == CHAT_TOOL;
    must(ev->call + 1 == s->calls && s->open == (ev->kind != CHAT_TOOL));
    s->open = ev->kind != CHAT_END;
    if (ev->kind == CHAT_TOOL) {
        must(*ev->id && *ev->name);
        buf_printf(&s->all, "%s %s", ev->id, ev->name);
        s->args.n = 0;
    } else if (ev->kind == CHAT_ARGUMENTS) {
        must(utf8_all(ev->text, ev->n));
        buf_put(&s->args, ev->text, ev->n);
    } else if (ev->error) {
        buf_puts(&s->all, ev->error);
    } else {
        json_error_t why;
        json_t *v = json_loadb((const char *)s->args.p, s->args.n,
                               JSON_ALLOW_NUL, &why);

        /* Halves of surrogate pairs and huge numbers are for the reader. */
        must(json_is_object(v) || strstr(why.text, "surrogate") ||
             strstr(why.text, "Unicode") || strstr(why.text, "too big") ||
             strstr(why.text, "overflow") || strstr(why.text, "NUL byte"));
        json_decref(v);
    }
    return 0;
}

static void parse(struct chat_opts o, chat_event_fn *fn, void *arg,
                  const uint8_t *p, size_t n, unsigned cut)
{
    struct chat *c;

    o.fn = fn;
    o.arg = arg;
    must(!chat_new(&c, &o, NULL));
    for (size_t k; n; p += k, n -= k) {
        k = cut ? 1 + cut % 13 : n;
        cut = cut * 5 + (cut > 0);
        k = k < n ? k : n;
        must(!chat_feed(c, p, k, NULL));
    }
    must(!chat_finish(c, NULL));
    chat_free(c);
}

static void write_again(struct chat_opts o, const uint8_t *p, size_t n)
{
    struct chat_message m = {0};
    struct seen back = {.last = -1};
    struct buf text = {0};
    struct err e = {0};

    parse(o, chat_collect, &m, p, n, 0);
    if (chat_write(&text, &m, &o, &e))
        must(e.code == ERR_UNSUPPORTED && !text.n);
    else
        parse(o, look, &back, text.p, text.n, 3);
    must(!text.n || back.calls == m.ncall);
    chat_message_free(&m);
    buf_free(&text);
    buf_free(&back.all);
    buf_free(&back.args);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct seen whole = {.last = -1}, cut = {.last = -1};
    struct chat_opts o = {0};
    size_t many = 0;

    if (n < 2)
        return 0;
    while (chat_dialect_at(many))
        many++;
    o.dialect = chat_dialect_at(p[0] % many);
    o.inside =
        p[0] / many % 2 && chat_dialect_style(o.dialect) != chat_style("none");
    parse(o, look, &whole, p + 2, n - 2, 0);
    parse(o, look, &cut, p + 2, n - 2, p[1] + 1u);
    must(whole.all.n == cut.all.n && !whole.open);
    must(!whole.all.n || !memcmp(whole.all.p, cut.all.p, cut.all.n));
    write_again(o, p + 2, n - 2);
    buf_free(&whole.all);
    buf_free(&whole.args);
    buf_free(&cut.all);
    buf_free(&cut.args);
    return 0;
}
