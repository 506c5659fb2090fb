/* SPDX-License-Identifier: MIT
 * message.c - a whole answer: from events, from JSON and to it. */
#include <stdlib.h>

#include "base/utf8.h"
#include "chat/chat_impl.h"
#include "wire/wire.h"

static struct chat_call *add_call(struct chat_message *m)
{
    if (m->ncall == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 4;
        struct chat_call *p = realloc(m->call, cap * sizeof *p);

        if (!p)
            return NULL;
        m->call = p;
        m->cap = cap;
    }
    m->call[m->ncall] = (struct chat_call){0};
    return &m->call[m->ncall++];
}

int chat_collect(void *arg, const struct chat_event *ev, struct err *e)
{
    struct chat_message *m = arg;
    struct chat_call *call = m->ncall ? &m->call[m->ncall - 1] : NULL;
    struct buf *to = ev->kind == CHAT_TEXT ? &m->content : &m->reasoning;

    switch (ev->kind) {
    case CHAT_TOOL:
        call = add_call(m);
        if (!call)
            return err_nomem(e);
        buf_puts(&call->name, ev->name);
        buf_puts(&call->id, ev->id);
        return buf_ok(&call->name, e) || buf_ok(&call->id, e) ? -1 : 0;
    case CHAT_END:
        if (ev->error)
            buf_puts(&call->error, ev->error);
        return buf_ok(&call->error, e);
    case CHAT_ARGUMENTS:
        buf_put(&call->arguments, ev->text, ev->n);
        return buf_ok(&call->arguments, e);
    default:
        buf_put(to, ev->text, ev->n);
        return buf_ok(to, e);
    }
}

void chat_message_free(struct chat_message *m)
{
    for (size_t i = 0; i < m->ncall; i++) {
        buf_free(&m->call[i].id);
        buf_free(&m->call[i].name);
        buf_free(&m->call[i].arguments);
        buf_free(&m->call[i].error);
    }
    free(m->call);
    buf_free(&m->content);
    buf_free(&m->reasoning);
    *m = (struct chat_message){0};
}

/* ---- to JSON ---- */

/* A string must be UTF-8, and models may say anything. */
static void put_string(struct buf *out, const struct buf *s)
{
    struct buf mended = {0};
    size_t len;
    uint32_t cp;

    for (size_t i = 0; i < s->n; i += len) {
        len = utf8_get(s->p + i, s->n - i, &cp);
        if (cp == UTF8_BAD)
            buf_put(&mended, "\xef\xbf\xbd", 3);
        else
            buf_put(&mended, s->p + i, len);
    }
    wire_json_string(out, mended.p, mended.n);
    out->bad |= mended.bad;
    buf_free(&mended);
}

static void put_calls(struct buf *out, const struct chat_message *m,
                      const char *key, bool whole)
{
    const char *sep = "";

    for (size_t i = 0; i < m->ncall; i++) {
        const struct chat_call *c = &m->call[i];

        if (!c->error.n != whole)
            continue;
        if (!*sep)
            buf_printf(out, ",\"%s\":[", key);
        buf_printf(out, "%s{\"id\":", sep);
        put_string(out, &c->id);
        buf_puts(out, ",\"type\":\"function\",\"function\":{\"name\":");
        put_string(out, &c->name);
        buf_puts(out, ",\"arguments\":");
        put_string(out, &c->arguments);
        buf_puts(out, "}");
        if (!whole) {
            buf_puts(out, ",\"error\":");
            put_string(out, &c->error);
        }
        buf_puts(out, "}");
        sep = ",";
    }
    if (*sep)
        buf_puts(out, "]");
}

void chat_message_json(struct buf *out, const struct chat_message *m)
{
    buf_puts(out, "{\"role\":\"assistant\",\"content\":");
    put_string(out, &m->content);
    if (m->reasoning.n) {
        buf_puts(out, ",\"reasoning_content\":");
        put_string(out, &m->reasoning);
    }
    put_calls(out, m, "tool_calls", true);
    put_calls(out, m, "invalid_tool_calls", false);
    buf_puts(out, "}");
}

/* ---- from JSON ---- */

static bool take(struct buf *to, const json_t *s)
{
    if (!json_is_string(s))
        return false;
    buf_put(to, json_string_value(s), json_string_length(s));
    return true;
}

static int load_content(struct buf *to, const json_t *v, struct err *e)
{
    const json_t *part;
    size_t i;

    if (!v || json_is_null(v) || take(to, v))
        return 0;
    if (!json_is_array(v))
        return err_set(e, ERR_FORMAT, "content is neither text nor parts");
    json_array_foreach(v, i, part) if (
        !take(to,
              json_object_get(
                  part,
                  "text"))) return err_set(e, ERR_FORMAT,
                                           "part %zu of content has no text",
                                           i);
    return 0;
}

static int load_call(struct chat_message *m, const json_t *v, struct err *e)
{
    const json_t *f = json_object_get(v, "function"), *args, *id;
    struct chat_call *c = add_call(m);
    char *text;

    if (!c)
        return err_nomem(e);
    if (!json_is_object(f))
        f = v;
    if (!take(&c->name, json_object_get(f, "name")) ||
        !chat_name_valid(&c->name))
        return err_set(e, ERR_FORMAT, "call %zu has no name", m->ncall - 1);
    id = json_object_get(v, "id");
    take(&c->id, id);
    args = json_object_get(f, "arguments");
    if (!args || json_is_null(args)) {
        buf_puts(&c->arguments, "{}");
    } else if (json_is_object(args)) {
        text = json_dumps(args, 0);
        if (!text)
            return err_nomem(e);
        buf_puts(&c->arguments, text);
        free(text);
    } else {
        take(&c->arguments, args);
    }
    if (!c->arguments.n || *c->arguments.p != '{' ||
        !scan_all(c->arguments.p, c->arguments.n))
        return err_set(e, ERR_FORMAT,
                       "the arguments of call %zu are no JSON object",
                       m->ncall - 1);
    return buf_ok(&c->name, e) || buf_ok(&c->id, e) || buf_ok(&c->arguments, e)
               ? -1
               : 0;
}

int chat_message_load(struct chat_message *m, const json_t *json, struct err *e)
{
    static const char *const keys[] = {"reasoning_content", "reasoning",
                                       "thinking"};
    const json_t *calls = json_object_get(json, "tool_calls"), *v = NULL;
    size_t i;

    if (!json_is_object(json))
        return err_set(e, ERR_FORMAT, "a message is not an object");
    v = json_object_get(json, "role");
    if (v && (!json_is_string(v) || strcmp(json_string_value(v), "assistant")))
        return err_set(e, ERR_FORMAT, "the message is not an assistant's");
    if (load_content(&m->content, json_object_get(json, "content"), e))
        return -1;
    for (i = 0; i < sizeof keys / sizeof *keys && !m->reasoning.n; i++)
        take(&m->reasoning, json_object_get(json, keys[i]));
    if (calls && !json_is_null(calls) && !json_is_array(calls))
        return err_set(e, ERR_FORMAT, "tool_calls are not an array");
    json_array_foreach(calls, i, v) if (load_call(m, v, e)) return -1;
    return buf_ok(&m->content, e) || buf_ok(&m->reasoning, e) ? -1 : 0;
}
