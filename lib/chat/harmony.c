/* SPDX-License-Identifier: MIT
 * harmony.c - gpt-oss: an answer is several messages, each with a header.
 *
 *   <|channel|>analysis<|message|>reasoning<|end|>
 *   <|start|>assistant<|channel|>commentary to=functions.NAME
 *       <|constrain|>json<|message|>{...}<|call|>
 *   <|start|>assistant<|channel|>final<|message|>text<|return|>
 *
 * The first header begins where the prompt ends, behind "<|start|>assistant".
 */
#include "chat/chat_impl.h"

enum { MAX_HEADER = 512 };

static const char message[] = "<|message|>";
static const char *const ends[] = {"<|end|>", "<|call|>", "<|return|>"};
enum { NENDS = sizeof ends / sizeof *ends };

/* ---- headers ---- */

static void header_begin(struct chat *c)
{
    c->state = ST_HEADER;
    c->header.n = 0;
    match_init(&c->match);
    match_add(&c->match, message, strlen(message), NULL);
}

void harmony_begin(struct chat *c)
{
    header_begin(c);
    c->from = c->at;
    c->opener = 0;
    c->logging = true;
}

void harmony_open(struct chat *c)
{
    header_begin(c);
    buf_put(&c->header, c->log.p + c->from, c->opener);
}

/* Can a header begin as this does? */
static bool plausible(const struct buf *b)
{
    static const char *const words[] = {
        "<|channel|>", "<|start|>",  "to=",        "<|end|>",
        "<|call|>",    "<|return|>", "<|message|>"};
    const unsigned char *p = b->p;
    size_t n = b->n;

    while (n && scan_space(*p))
        p++, n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);

        if (!memcmp(words[i], p, n < len ? n : len))
            return true;
    }
    return !n;
}

/* The word behind MARK in the header, N bytes of it; NULL: there is none. */
static const char *behind(struct buf *header, const char *mark, size_t *n)
{
    const char *s = buf_str(header), *p = strstr(s, mark);

    *n = 0;
    if (!p)
        return NULL;
    p += strlen(mark);
    *n = strcspn(p, " \t\r\n<");
    return p;
}

static bool is(const char *p, size_t n, const char *word)
{
    return p && n == strlen(word) && !memcmp(p, word, n);
}

/* The header is whole: what is the body? */
static void header_ends(struct chat *c)
{
    size_t nto, nchannel;
    const char *to = behind(&c->header, "to=", &nto);
    const char *channel = behind(&c->header, "<|channel|>", &nchannel);
    bool own = !to || nto <= 10 || memcmp(to, "functions.", 10);

    c->name.n = c->id.n = 0;
    if (to && !own)
        to += 10, nto -= 10;
    buf_put(&c->name, to, nto);
    if (to && !chat_name_valid(&c->name)) {
        call_fail(c, NULL);
        return;
    }
    c->logging = false;
    c->state = ST_BODY;
    c->body = to                                  ? CHAT_TOOL
              : is(channel, nchannel, "analysis") ? CHAT_REASONING
                                                  : CHAT_TEXT;
    c->any = false;
    c->code = own;
    c->said = true;
    match_init(&c->match);
    for (int i = 0; i < NENDS; i++)
        match_add(&c->match, ends[i], strlen(ends[i]), NULL);
    match_add(&c->match, "<|start|>", 9, ends[0]);
}

static void header_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    size_t n, k;
    int i = match_byte(&c->match, b, out, &n);

    buf_put(&c->header, out, n);
    if (i >= 0) {
        header_ends(c);
        return;
    }
    k = c->header.n;
    buf_put(&c->header, c->match.hold, c->match.nhold);
    if (!plausible(&c->header) || c->header.n > MAX_HEADER) {
        call_fail(c, NULL);
        return;
    }
    for (i = 0; i < NENDS; i++)
        if (is((const char *)c->header.p, c->header.n, ends[i])) {
            harmony_begin(c);
            return;
        }
    c->header.n = k;
}

/* ---- bodies ---- */

static void args_start(struct chat *c, unsigned char b)
{
    c->any = true;
    c->code = c->code && b != '{';
    c->json = (struct scan_json){0};
    emit_tool(&c->m, &c->name, &c->id);
    if (c->code)
        emit_puts(&c->m, CHAT_ARGUMENTS, "{\"code\": \"");
}

static void body_ends(struct chat *c, const char *error)
{
    if (c->body == CHAT_TOOL) {
        if (!c->any) {
            args_start(c, '{');
            emit_puts(&c->m, CHAT_ARGUMENTS, error ? "" : "{}");
        } else if (c->code) {
            emit_puts(&c->m, CHAT_ARGUMENTS, "\"}");
        }
        emit_end(&c->m, error);
    } else if (c->any) {
        c->more[c->body] = true;
    }
    c->blank = true;
}

static void json_byte(struct chat *c, unsigned char b)
{
    bool in = c->json.state == SCAN_STRING;

    if ((!c->json.depth && b != '{' && !scan_space(b)) ||
        !scan_byte(&c->json, b)) {
        emit_end(&c->m, "the arguments are not JSON");
        parse_unread(c, b);
        c->blank = true;
        parse_text(c);
        return;
    }
    if (in && b < 0x20)
        emit_escaped(&c->m, &b, 1);
    else
        emit_text(&c->m, CHAT_ARGUMENTS, &b, 1);
    if (!scan_whole(&c->json))
        return;
    body_ends(c, NULL);
    harmony_begin(c);
}

static void body_put(struct chat *c, const char *p, size_t n)
{
    if (!n)
        return;
    if (c->body == CHAT_TOOL) {
        emit_escaped(&c->m, p, n);
        return;
    }
    if (!c->any && c->more[c->body])
        emit_puts(&c->m, c->body, "\n\n");
    c->any = true;
    emit_text(&c->m, c->body, p, n);
}

static void body_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    size_t n;
    int i;

    if (c->body == CHAT_TOOL && !c->any && !c->match.nhold && scan_space(b))
        return;
    if (c->body == CHAT_TOOL && !c->any && !c->match.nhold && b != '<')
        args_start(c, b);
    if (c->body == CHAT_TOOL && c->any && !c->code) {
        json_byte(c, b);
        return;
    }
    i = match_byte(&c->match, b, out, &n);
    if (n && c->body == CHAT_TOOL && !c->any)
        args_start(c, (unsigned char)out[0]);
    if (n && c->body == CHAT_TOOL && !c->code) {
        emit_end(&c->m, "the arguments are not JSON");
        emit_text(&c->m, CHAT_TEXT, out, n);
        c->blank = false;
        parse_text(c);
        return;
    }
    body_put(c, out, n);
    if (i < 0)
        return;
    body_ends(c, NULL);
    n = c->match.lit[i].next ? c->match.lit[i].n : 0;
    harmony_begin(c);
    buf_put(&c->header, "<|start|>", n);
}

void harmony_byte(struct chat *c, unsigned char b)
{
    if (c->state == ST_HEADER)
        header_byte(c, b);
    else
        body_byte(c, b);
}

void harmony_finish(struct chat *c)
{
    if (c->state == ST_HEADER) {
        call_fail(c, NULL);
        return;
    }
    if (c->body != CHAT_TOOL || c->code)
        body_put(c, c->match.hold, c->match.nhold);
    if (c->body != CHAT_TOOL)
        body_ends(c, NULL);
    else if (c->any && c->code)
        body_ends(c, NULL);
    else
        body_ends(c, "cut off");
    parse_text(c);
}

/* ---- writing ---- */

static void next(struct buf *out, const char *end, bool *begun)
{
    if (*begun) {
        buf_puts(out, end);
        buf_puts(out, "<|start|>assistant");
    }
    *begun = true;
    buf_puts(out, "<|channel|>");
}

/* The only member of {"code": "..."}, or NULL. */
static json_t *code_of(const struct chat_call *call)
{
    json_t *args =
        json_loadb((const char *)call->arguments.p, call->arguments.n, 0, NULL);
    json_t *code = json_object_get(args, "code");

    code = json_is_string(code) && json_object_size(args) == 1
               ? json_incref(code)
               : NULL;
    json_decref(args);
    return code;
}

static void put_call(struct buf *out, const struct chat_call *call)
{
    bool python = call->name.n == 6 && !memcmp(call->name.p, "python", 6);
    json_t *code = python ? code_of(call) : NULL;

    if (code) {
        buf_puts(out, "analysis to=python code<|message|>");
        buf_put(out, json_string_value(code), json_string_length(code));
    } else {
        buf_puts(out, "commentary to=functions.");
        buf_put(out, call->name.p, call->name.n);
        buf_puts(out, " <|constrain|>json<|message|>");
        buf_put(out, call->arguments.p, call->arguments.n);
    }
    json_decref(code);
}

int harmony_write(struct buf *out, const struct chat_message *m, struct err *e)
{
    bool begun = false;

    if (m->reasoning.n) {
        next(out, "", &begun);
        buf_puts(out, "analysis<|message|>");
        buf_put(out, m->reasoning.p, m->reasoning.n);
    }
    if (m->content.n) {
        next(out, ends[0], &begun);
        buf_puts(out, m->ncall ? "commentary<|message|>" : "final<|message|>");
        buf_put(out, m->content.p, m->content.n);
    }
    for (size_t i = 0; i < m->ncall; i++) {
        next(out, ends[i > 0], &begun);
        put_call(out, &m->call[i]);
    }
    return buf_ok(out, e);
}
