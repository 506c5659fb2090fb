/* SPDX-License-Identifier: MIT
 * write.c - a message in a dialect, by the same patterns that are read.
 *
 * What was written is read again before it is given out: no dialect can say
 * everything, and what would be read as something else is refused. */
#include <stdlib.h>

#include "chat/chat_impl.h"

/* A member of an object's JSON text. */
struct member {
    const char *key, *value; /* as they stand there */
    size_t nkey, nvalue;
};

struct writer {
    struct buf *out;
    const struct chat_dialect *d;
    const struct chat_opts *o;
    const struct chat_message *m;
    size_t call;
    bool plain;         /* without patterns for some tools */
    struct buf members; /* of its arguments */
    size_t at;
    struct buf text; /* of the value, where it is a string */
};

/* ---- arguments, member by member ---- */

/* The members of the object P[N], which scan_all() has passed. */
static void split(struct buf *to, const char *p, size_t n)
{
    struct scan_json s = {0};
    struct member m = {0};

    to->n = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t was = s.state;
        int depth = s.depth;

        scan_byte(&s, (unsigned char)p[i]);
        if (depth == 1 && (was == SCAN_KEY || was == SCAN_FIRST_KEY) &&
            p[i] == '"')
            m = (struct member){.key = p + i};
        else if (depth == 1 && was == SCAN_STRING && s.state == SCAN_COLON)
            m.nkey = (size_t)(p + i + 1 - m.key);
        else if (depth == 1 && was == SCAN_VALUE &&
                 !scan_space((unsigned char)p[i]))
            m.value = p + i;
        if (!m.value || (p[i] != ',' && p[i] != '}') || depth != 1 ||
            was == SCAN_STRING)
            continue;
        if (s.depth == 0 || s.state == SCAN_KEY) {
            m.nvalue = (size_t)(p + i - m.value);
            while (scan_space((unsigned char)m.value[m.nvalue - 1]))
                m.nvalue--;
            buf_put(to, &m, sizeof m);
            m.value = NULL;
        }
    }
}

static bool member(struct member *m, const struct writer *w)
{
    if (w->at >= w->members.n)
        return false;
    memcpy(m, w->members.p + w->at, sizeof *m);
    return true;
}

/* The string P[N] of JSON, decoded; false when it is none. */
static bool decode(struct buf *to, const char *p, size_t n)
{
    json_t *s = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool good = json_is_string(s);

    to->n = 0;
    buf_put(to, json_string_value(s), json_string_length(s));
    json_decref(s);
    return good;
}

/* ---- values ---- */

static bool holds(const void *p, size_t n, const char *stop, size_t nstop)
{
    const char *s = p;

    for (size_t i = 0; i + nstop <= n; i++)
        if (!memcmp(s + i, stop, nstop))
            return true;
    return false;
}

/* JSON, in which no tag may be seen. */
static void put_json(struct buf *out, const struct member *m, const char *stop,
                     size_t nstop)
{
    bool hide = holds(m->value, m->nvalue, stop, nstop);

    for (size_t i = 0; i < m->nvalue; i++) {
        if (hide && m->value[i] == '<')
            buf_puts(out, "\\u003c");
        else
            buf_putc(out, m->value[i]);
    }
}

static bool told(const char *text, const char *pc)
{
    while (pc > text && *pc != *KEY && *pc != *TYPE)
        pc--;
    return *pc == *TYPE;
}

static void put_value(struct writer *w, const char *text, const char *pc)
{
    const struct chat_call *c = &w->m->call[w->call];
    const char *stop = pc + 1;
    size_t nstop = match_literal(stop);
    struct buf key = {0};
    struct member m;
    bool bare;

    if (!member(&m, w))
        return;
    decode(&key, m.key, m.nkey);
    bare = *m.value == '"' && decode(&w->text, m.value, m.nvalue);
    if (bare && *pc != *QUOTED && !told(text, pc)) {
        unsigned types = tools_types(w->o->tools, &c->name, &key);

        bare = tools_say_text(types) ||
               (!tools_say_json(types, w->text.p, w->text.n) &&
                !holds(w->text.p, w->text.n, stop, nstop));
    }
    if (*pc == *LINES)
        buf_puts(w->out, "\n");
    if (bare)
        buf_put(w->out, w->text.p, w->text.n);
    else
        put_json(w->out, &m, stop, nstop);
    if (*pc == *LINES)
        buf_puts(w->out, "\n");
    buf_free(&key);
    w->at += sizeof m;
}

/* ---- calls ---- */

static void begin_call(struct writer *w)
{
    const struct chat_call *c = &w->m->call[w->call];

    w->at = w->members.n = 0;
    if (w->call < w->m->ncall)
        split(&w->members, (const char *)c->arguments.p, c->arguments.n);
}

static void put_string(struct buf *out, const struct buf *s)
{
    json_t *j = json_stringn((const char *)s->p, s->n);
    char *text = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;

    if (text)
        buf_puts(out, text);
    else
        out->bad = true;
    free(text);
    json_decref(j);
}

/* The rest of {"name": ..., "arguments": ...}. */
static void put_object(struct writer *w)
{
    const struct chat_call *c = &w->m->call[w->call];
    struct buf *out = w->out;

    buf_puts(out, "\"name\": ");
    put_string(out, &c->name);
    buf_puts(out, w->d->layout == LAYOUT_PARAMETERS ? ", \"parameters\": "
                                                    : ", \"arguments\": ");
    buf_put(out, c->arguments.p, c->arguments.n);
    if (w->d->layout == LAYOUT_ID_LAST && c->id.n) {
        buf_puts(out, ", \"id\": ");
        put_string(out, &c->id);
    }
    buf_putc(out, '}');
}

/* Where ids tell names, one that does not is no id. */
static bool tells_name(const struct chat_call *c)
{
    size_t n = c->name.n + 11;

    if (c->id.n <= n || memcmp(c->id.p, "functions.", 10) ||
        memcmp(c->id.p + 10, c->name.p, c->name.n) || c->id.p[n - 1] != ':')
        return false;
    for (; n < c->id.n; n++)
        if (c->id.p[n] < '0' || c->id.p[n] > '9')
            return false;
    return true;
}

static void put_id(struct writer *w)
{
    const struct chat_call *c = &w->m->call[w->call];

    if (!w->d->functions || tells_name(c)) {
        buf_put(w->out, c->id.p, c->id.n);
        return;
    }
    buf_puts(w->out, "functions.");
    buf_put(w->out, c->name.p, c->name.n);
    buf_printf(w->out, ":%zu", w->call);
}

static bool is_blank(const struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (!scan_space(b->p[i]))
            return false;
    return true;
}

/* Is the name among the words of ONLY? */
static bool is_for(const char *only, const struct buf *name)
{
    for (size_t n; only && *only; only += n + 1) {
        n = strcspn(only, " ");
        if (n == name->n && !memcmp(only, name->p, n))
            return true;
    }
    return false;
}

/* The pattern for the next call, after one that was written as NOW: one for its
 * tool, or else one that is for all. */
static const char *pattern_for(const struct writer *w, const char *now)
{
    const struct pattern *p = w->d->pattern;
    bool begun = w->call || !is_blank(&w->m->content);

    for (int i = 0; i < MAX_PATTERNS && p[i].text; i++)
        if (!w->plain && is_for(p[i].only, &w->m->call[w->call].name))
            return p[i].text;
    for (int i = 0; i < MAX_PATTERNS && p[i].text; i++)
        if (now == p[i].text && (!p[i].only || !*p[i].only))
            return now;
    return p[0].start && begun ? p[1].text : p[0].text;
}

/* Is the group at PC, of kind PC[-1], to be written now? */
static bool enter(const struct writer *w, const char *text, const char *pc)
{
    const struct chat_call *c = &w->m->call[w->call];

    if (pc[-1] == *PARAMS)
        return w->at < w->members.n;
    if (w->call == w->m->ncall)
        return false;
    return pc[-1] == *CALLS ? pattern_for(w, text) == text : c->id.n > 0;
}

static void put_field(struct writer *w, char op)
{
    const struct chat_call *c = &w->m->call[w->call];
    struct member m = {.key = "\"\"", .nkey = 2, .value = "\"", .nvalue = 1};

    if (op == *NAME) {
        buf_put(w->out, c->name.p, c->name.n);
    } else if (op == *ID) {
        put_id(w);
    } else if (op == *ARGS) {
        buf_put(w->out, c->arguments.p + 1, c->arguments.n - 1);
    } else if (op == *OBJECT) {
        put_object(w);
    } else {
        member(&m, w);
        if (op == *TYPE) {
            buf_puts(w->out, *m.value == '"' ? "true" : "false");
        } else {
            decode(&w->text, op == *KEY ? m.key : m.value,
                   op == *KEY ? m.nkey : m.nvalue);
            buf_put(w->out, w->text.p, w->text.n);
        }
    }
}

static void put_pattern(struct writer *w, const char *text)
{
    const char *pc = text;

    begin_call(w);
    while (*pc) {
        size_t n = match_literal(pc);

        if (n) {
            buf_put(w->out, pc, n);
            pc += n;
        } else if (*pc == *SPACE("")) {
            n = strcspn(pc + 1, SPACE(""));
            buf_put(w->out, pc + 1, n);
            pc += n + 2;
        } else if (*pc == *PARAMS || *pc == *CALLS || *pc == *MAYBE) {
            pc = enter(w, text, pc + 1) ? pc + 1 : match_after(pc + 1);
        } else if (*pc == *FIN) {
            const char *group = match_group(text, pc);

            pc = group[-1] != *MAYBE && enter(w, text, group) ? group : pc + 1;
        } else if (*pc == *DONE) {
            w->call++;
            begin_call(w);
            pc++;
        } else if (*pc == *VALUE || *pc == *LINES || *pc == *QUOTED) {
            put_value(w, text, pc++);
        } else {
            put_field(w, *pc == *CODE ? *QUOTED : *pc);
            w->call += *pc++ == *CODE;
        }
    }
}

static int put_message(struct writer *w, const struct chat_style *style,
                       struct err *e)
{
    const struct chat_message *m = w->m;
    bool inside = w->o->inside;
    const char *text, *now = NULL;

    w->call = 0;
    if (w->d->harmony)
        return harmony_write(w->out, m, e);
    if (m->reasoning.n && !inside)
        buf_puts(w->out, style->open);
    buf_put(w->out, m->reasoning.p, m->reasoning.n);
    if (m->reasoning.n || inside)
        buf_puts(w->out, style->close);
    if (!m->ncall || !is_blank(&m->content))
        buf_put(w->out, m->content.p, m->content.n);
    if (m->ncall && !is_blank(&m->content))
        buf_puts(w->out, w->d->gap);
    for (; w->call < m->ncall; now = text) {
        text = pattern_for(w, now);
        if (!text)
            return err_set(e, ERR_UNSUPPORTED, "dialect '%s' has no tool calls",
                           w->d->name);
        if (text == now)
            buf_puts(w->out, w->d->between);
        put_pattern(w, text);
    }
    return buf_ok(w->out, e);
}

/* ---- is it the same when it is read? ---- */

static bool same(const struct buf *a, const struct buf *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

/* Is there an id in the text? */
static bool has_id(const struct chat_dialect *d, const struct chat_call *c)
{
    if (d->functions)
        return tells_name(c);
    return c->id.n && !d->harmony &&
           (d->layout == LAYOUT_ID_LAST || strstr(d->pattern[0].text, ID));
}

/* Objects with the same members in the same order, white space apart. */
static bool same_arguments(const struct buf *a, const struct buf *b)
{
    json_t *x, *y;
    char *s, *t;
    bool equal;

    if (same(a, b))
        return true;
    x = json_loadb((const char *)a->p, a->n, JSON_ALLOW_NUL, NULL);
    y = json_loadb((const char *)b->p, b->n, JSON_ALLOW_NUL, NULL);
    s = x ? json_dumps(x, 0) : NULL;
    t = y ? json_dumps(y, 0) : NULL;
    equal = s && t && !strcmp(s, t);
    free(s);
    free(t);
    json_decref(x);
    json_decref(y);
    return equal;
}

static bool same_message(const struct chat_message *a,
                         const struct chat_message *b,
                         const struct chat_dialect *d)
{
    bool blank = a->ncall && is_blank(&a->content) && is_blank(&b->content);

    if (a->ncall != b->ncall || !same(&a->reasoning, &b->reasoning) ||
        (!blank && !same(&a->content, &b->content)))
        return false;
    for (size_t i = 0; i < a->ncall; i++) {
        const struct chat_call *x = &a->call[i], *y = &b->call[i];

        if (!same(&x->name, &y->name) || y->error.n ||
            !same_arguments(&x->arguments, &y->arguments) ||
            (has_id(d, x) && !same(&x->id, &y->id)))
            return false;
    }
    return true;
}

/* Is it the same? */
static int check(bool *good, const struct writer *w, size_t from, struct err *e)
{
    struct chat_message back = {0};
    struct chat_opts o = *w->o;
    struct chat *c;
    int r;

    o.fn = chat_collect;
    o.arg = &back;
    if (chat_new(&c, &o, e))
        return -1;
    r = w->out->n > from ? chat_feed(c, w->out->p + from, w->out->n - from, e)
                         : 0;
    if (!r)
        r = chat_finish(c, e);
    *good = !r && same_message(w->m, &back, w->d);
    chat_free(c);
    chat_message_free(&back);
    return r;
}

int chat_write(struct buf *out, const struct chat_message *m,
               const struct chat_opts *o, struct err *e)
{
    struct writer w = {.out = out, .d = o->dialect, .o = o, .m = m};
    const struct chat_style *style =
        o->style ? o->style : chat_dialect_style(o->dialect);
    size_t from = out->n;
    bool good = false;
    int r = 0;

    for (int i = 0; i < 2 && !r && !good; i++) {
        out->n = from;
        w.plain = i;
        r = put_message(&w, style, e) || check(&good, &w, from, e) ? -1 : 0;
    }
    if (!r && !good)
        r = err_set(e, ERR_UNSUPPORTED,
                    "dialect '%s' cannot say this so that it is read as the "
                    "same",
                    w.d->name);
    if (r)
        out->n = from;
    buf_free(&w.members);
    buf_free(&w.text);
    return r;
}
