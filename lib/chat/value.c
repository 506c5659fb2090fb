/* SPDX-License-Identifier: MIT
 * value.c - what calls hold: values of parameters, arguments that are JSON
 * already, and objects with all of a call in them. */
#include "chat/chat_impl.h"

/* ---- values between tags ---- */

/* What cannot begin JSON begins text. */
static bool begins_json(unsigned char b)
{
    return strchr("{[\"-0123456789tfn", b) && b;
}

static void stream(struct chat *c)
{
    c->streaming = true;
    emit_puts(&c->m, CHAT_ARGUMENTS, "\"");
    emit_escaped(&c->m, c->value.p, c->value.n);
    c->value.n = 0;
}

void value_begin(struct chat *c)
{
    const char *stop = c->pc + 1;
    size_t n = match_literal(stop);

    c->state = ST_VALUE;
    c->logging = false;
    match_init(&c->match);
    match_add(&c->match, stop, n, stop + n);
    if (*c->pc == *LINES) {
        c->lines[0] = '\n';
        memcpy(c->lines + 1, stop, n);
        match_add(&c->match, c->lines, n + 1, stop + n);
    }
    emit_puts(&c->m, CHAT_ARGUMENTS, c->nparams++ ? ", \"" : "{\"");
    emit_escaped(&c->m, c->key.p, c->key.n);
    emit_puts(&c->m, CHAT_ARGUMENTS, "\": ");
    c->types = tools_types(c->o.tools, &c->name, &c->key);
    c->value.n = 0;
    c->streaming = c->any = false;
    if (*c->pc == *QUOTED || c->told == 1 ||
        (c->told < 0 && tools_say_text(c->types)))
        stream(c);
}

static void value_put(struct chat *c, const char *p, size_t n)
{
    if (c->streaming) {
        emit_escaped(&c->m, p, n);
        return;
    }
    buf_put(&c->value, p, n);
    if (c->value.n > CHAT_KEEP ||
        (c->told < 0 && !c->types && c->value.n && !begins_json(c->value.p[0])))
        stream(c);
}

static void value_end(struct chat *c)
{
    const void *p = c->value.p;
    size_t n = c->value.n;

    if (c->streaming)
        emit_puts(&c->m, CHAT_ARGUMENTS, "\"");
    else if (c->told == 0 ? scan_all(p, n) : tools_say_json(c->types, p, n))
        emit_json(&c->m, p, n);
    else {
        stream(c);
        emit_puts(&c->m, CHAT_ARGUMENTS, "\"");
    }
    c->told = -1;
    c->value.n = 0;
}

void value_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    bool first = !c->any;
    size_t n;
    int i;

    c->any = true;
    if (first && *c->pc == *LINES && b == '\n')
        return;
    i = match_byte(&c->match, b, out, &n);
    if (n)
        value_put(c, out, n);
    if (i < 0)
        return;
    value_end(c);
    call_go_on(c, c->match.lit[i].next);
}

/* What was held back of a value that is cut off. */
void value_finish(struct chat *c)
{
    struct scan_json s = {0};
    bool json = true;

    value_put(c, c->match.hold, c->match.nhold);
    c->match.nhold = 0;
    for (size_t i = 0; i < c->value.n && json; i++)
        json = scan_byte(&s, c->value.p[i]);
    if (!c->streaming && !json)
        stream(c);
    else if (!c->streaming)
        emit_json(&c->m, c->value.p, c->value.n);
}

/* ---- arguments as JSON ---- */

static const struct scan_json in_object = {
    .state = SCAN_FIRST_KEY, .depth = 1, .object = {1}};

/* A byte of arguments, which Was before it; models forget to escape. */
static void args_put(struct chat *c, uint8_t was, unsigned char b)
{
    bool escape = was == SCAN_STRING && b < 0x20;

    if (!c->committed)
        buf_putc(&c->args, b);
    else if (escape)
        emit_escaped(&c->m, &b, 1);
    else
        emit_text(&c->m, CHAT_ARGUMENTS, &b, 1);
}

void value_args(struct chat *c)
{
    call_commit(c);
    c->has_args = true;
    c->json = in_object;
    c->state = ST_ARGS;
    emit_puts(&c->m, CHAT_ARGUMENTS, "{");
}

void value_args_byte(struct chat *c, unsigned char b)
{
    uint8_t was = c->json.state;

    if (!scan_byte(&c->json, b)) {
        parse_unread(c, b);
        call_fail(c, "the arguments are not JSON");
        return;
    }
    args_put(c, was, b);
    if (scan_whole(&c->json))
        call_go_on(c, c->pc + 1);
}

/* ---- a call that is an object ---- */

void value_object(struct chat *c)
{
    c->json = in_object;
    c->state = ST_OBJECT;
    c->want = WANT_NOTHING;
}

static enum want wanted(const struct buf *key)
{
    static const struct {
        const char *key;
        enum want want;
    } keys[] = {{"name", WANT_NAME},      {"tool_name", WANT_NAME},
                {"arguments", WANT_ARGS}, {"parameters", WANT_ARGS},
                {"id", WANT_ID},          {"tool_call_id", WANT_ID}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (key->n == strlen(keys[i].key) &&
            !memcmp(keys[i].key, key->p, key->n))
            return keys[i].want;
    return WANT_NOTHING;
}

/* The name is known, and so is the id or that none will come. */
static bool ready(const struct chat *c)
{
    return c->name.n && (c->d->layout != LAYOUT_ID_LAST || c->id.n);
}

static void object_commit(struct chat *c)
{
    call_commit(c);
    emit_json(&c->m, c->args.p, c->args.n);
    c->args.n = 0;
}

/* The string in VALUE becomes NAME or ID; false when it can be neither. */
static bool take_string(struct chat *c)
{
    struct buf *to = c->want == WANT_NAME ? &c->name : &c->id;
    json_t *s =
        json_loadb((const char *)c->value.p, c->value.n, JSON_DECODE_ANY, NULL);
    bool good;

    if (to->n)
        to->n = 0;
    buf_put(to, json_string_value(s), json_string_length(s));
    json_decref(s);
    good = chat_name_valid(to);
    if (!good)
        to->n = 0;
    return good || c->want == WANT_ID;
}

/* The value of a key that counts begins; false when it cannot be meant so. */
static bool value_starts(struct chat *c, unsigned char b)
{
    c->value.n = 0;
    if (c->want == WANT_ID && b != '"')
        c->want = WANT_NOTHING;
    if (c->want == WANT_NAME && (b != '"' || c->committed))
        return false;
    if (c->want != WANT_ARGS)
        return true;
    if (b != '{' || c->has_args)
        return false;
    c->has_args = true;
    if (ready(c))
        object_commit(c);
    return true;
}

/* A byte of the value that c->want is about; OVER: its last. */
static bool value_goes_on(struct chat *c, uint8_t was, unsigned char b,
                          bool over)
{
    bool good = true;

    if (c->want == WANT_ARGS) {
        args_put(c, was, b);
    } else {
        buf_putc(&c->value, b);
        if (over)
            good = take_string(c);
        else if (c->value.n > 8 * CHAT_MAX_NAME)
            good = false;
    }
    if (!over)
        return good;
    c->want = WANT_NOTHING;
    if (good && !c->committed && c->has_args && ready(c))
        object_commit(c);
    return good;
}

static bool object_ends(struct chat *c)
{
    if (!c->name.n)
        return false;
    if (c->has_args && !c->committed)
        object_commit(c);
    if (c->has_args)
        return true;
    /* Without marks around it, it is an object as any other. */
    if (c->d->pattern[c->pattern].start)
        return false;
    call_commit(c);
    return true;
}

void value_object_byte(struct chat *c, unsigned char b)
{
    const struct scan_json was = c->json;
    bool good = scan_byte(&c->json, b), top = was.depth == 1;

    if (!good) {
        if (c->committed)
            parse_unread(c, b);
        call_fail(c, "it is not JSON");
        return;
    }
    if (c->want == WANT_KEY) {
        if (c->json.state == SCAN_COLON)
            c->want = wanted(&c->key);
        else if (c->key.n < 64)
            buf_putc(&c->key, b);
    } else if (top && c->json.state == SCAN_STRING && c->json.key &&
               was.state != SCAN_STRING && was.state != SCAN_ESCAPE &&
               was.state != SCAN_HEX) {
        c->want = WANT_KEY;
        c->key.n = 0;
    } else if (c->want && top && was.state == SCAN_VALUE) {
        if (!scan_space(b))
            good = value_starts(c, b);
        if (good && !scan_space(b) && c->want)
            good = value_goes_on(c, was.state, b, false);
    } else if (c->want && !(top && was.state == SCAN_COLON)) {
        bool over = c->json.depth == 1 && c->json.state == SCAN_AFTER;

        good = value_goes_on(c, was.state, b, over);
    }
    if (good && scan_whole(&c->json))
        good = object_ends(c);
    if (!good && c->committed)
        parse_unread(c, b);
    if (!good)
        call_fail(c, "it is not an object of a call");
    else if (scan_whole(&c->json))
        call_go_on(c, c->pc + 1);
}
