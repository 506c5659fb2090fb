/* SPDX-License-Identifier: MIT
 * call.c - a call by its pattern: literals and names. */
#include "base/utf8.h"
#include "chat/chat_impl.h"

enum { AGAIN = 2 }; /* how often, on average, bytes may be read again */

static const char cut_off[] = "cut off";

bool chat_name_valid(const struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] < 0x20 || b->p[i] == 0x7f)
            return false;
    return b->n && b->n <= CHAT_MAX_NAME && utf8_all(b->p, b->n);
}

/* Where no quotes stand around a name it is narrower. */
static bool field_takes(char op, unsigned char b)
{
    if (op == *NAME)
        return b > ' ' && b != 0x7f && !strchr("<>{}\"'\\`", b);
    return b >= ' ' && b != '<';
}

static void forget(struct chat *c)
{
    c->committed = c->has_args = false;
    c->name.n = c->id.n = c->key.n = c->value.n = c->args.n = 0;
    c->nparams = 0;
    c->told = -1;
    c->nspace = 0;
}

/* ---- it is a call, it is whole, it is none ---- */

void call_commit(struct chat *c)
{
    if (c->committed)
        return;
    parse_space(c, c->d->gap);
    emit_tool(&c->m, &c->name, &c->id);
    c->committed = true;
    c->logging = false;
}

static void done(struct chat *c)
{
    call_commit(c);
    if (!c->has_args)
        emit_puts(&c->m, CHAT_ARGUMENTS, c->nparams ? "}" : "{}");
    emit_end(&c->m, NULL);
    forget(c);
    /* What comes now is the next call, or no call at all. */
    c->opener = 0;
    c->from = c->at;
    c->logging = true;
}

/* What may follow: it is logged, as it may be something else. */
static void expect_next(struct chat *c)
{
    c->state = ST_NEXT;
    c->nspace = 0;
    match_init(&c->match);
    match_pattern(&c->match, c->d->pattern[c->pattern].text, c->pc);
    if (c->committed)
        c->from = c->at;
    c->logging = true;
    if (!c->match.n)
        parse_text(c);
}

static void code_begin(struct chat *c)
{
    buf_puts(&c->name, "code_interpreter");
    call_commit(c);
    c->has_args = true;
    emit_puts(&c->m, CHAT_ARGUMENTS, "{\"code\": \"");
    c->state = ST_CODE;
}

static bool is_field(char op)
{
    return op == *NAME || op == *ID || op == *KEY || op == *TYPE;
}

void call_go_on(struct chat *c, const char *pc)
{
    if (*pc == *DONE) {
        done(c);
        pc++;
    }
    /* White space before a field is passed over there. */
    if (*pc == *SPACE("") && is_field(*(strchr(pc + 1, *pc) + 1)))
        pc = strchr(pc + 1, *pc) + 1;
    c->pc = pc;
    if (*pc == *PARAMS || *pc == *KEY)
        call_commit(c);
    if (is_field(*pc)) {
        struct buf *b = *pc == *NAME ? &c->name : *pc == *ID ? &c->id : &c->key;

        /* What has begun may still not be a parameter. */
        if (c->committed && !c->logging)
            c->from = c->at;
        c->logging = true;
        if (*pc == *TYPE)
            b = &c->value;
        b->n = 0;
        c->state = ST_FIELD;
        match_init(&c->match);
        match_pattern(&c->match, c->d->pattern[c->pattern].text, pc + 1);
    } else if (*pc == *VALUE || *pc == *LINES || *pc == *QUOTED) {
        value_begin(c);
    } else if (*pc == *ARGS) {
        value_args(c);
    } else if (*pc == *OBJECT) {
        value_object(c);
    } else if (*pc == *CODE) {
        code_begin(c);
    } else {
        expect_next(c);
    }
}

void call_begin(struct chat *c, int pattern)
{
    const char *text = c->d->pattern[pattern].text;

    c->pattern = pattern;
    forget(c);
    call_go_on(c, text + match_literal(text));
}

/* What begins as an object is no code. */
static bool may_be(const struct chat *c, const char *pc)
{
    size_t i = c->from + c->opener;

    while (i < c->at && scan_space(c->log.p[i]))
        i++;
    return *pc != *CODE || i == c->at || c->log.p[i] != '{';
}

/* Another pattern that begins as this one does. */
static bool try_next(struct chat *c)
{
    const struct pattern *p = c->d->pattern;

    for (int i = c->pattern + 1; i < MAX_PATTERNS && p[i].text; i++) {
        if (match_literal(p[i].text) != c->opener ||
            memcmp(p[i].text, c->log.p + c->from, c->opener) ||
            !may_be(c, p[i].text + c->opener))
            continue;
        c->again += c->at - c->from - c->opener;
        c->at = c->from + c->opener;
        call_begin(c, i);
        return true;
    }
    return false;
}

void call_fail(struct chat *c, const char *why)
{
    size_t n = c->opener;

    if (c->committed) {
        emit_end(&c->m, why);
        forget(c);
        if (c->logging)
            parse_again(c);
        else
            parse_text(c);
        return;
    }
    if (n && try_next(c))
        return;
    if (c->again > AGAIN * (c->read + 4096))
        n = c->at - c->from;
    if (!n) {
        parse_again(c);
        return;
    }
    c->blank = false;
    emit_text(&c->m, CHAT_TEXT, c->space.p, c->space.n);
    c->space.n = 0;
    emit_text(&c->m, CHAT_TEXT, c->log.p + c->from, n);
    c->said = true;
    c->from += n;
    parse_again(c);
}

/* ---- byte by byte ---- */

static void next_byte(struct chat *c, unsigned char b)
{
    char out[sizeof c->match.hold];
    size_t n;
    int i;

    if (!c->match.nhold && c->match.space && scan_space(b) &&
        c->nspace++ < CHAT_MAX_SPACE)
        return;
    i = match_byte(&c->match, b, out, &n);
    if (n)
        call_fail(c, "not as a call is written");
    else if (i >= 0)
        call_go_on(c, c->match.lit[i].next);
}

/* "functions.NAME:N" */
static bool name_of_id(struct chat *c)
{
    const char *p = buf_str(&c->id);
    size_t n = c->id.n, k = n;

    if (!strncmp(p, "functions.", 10))
        p += 10, k = n -= 10;
    while (k && p[k - 1] >= '0' && p[k - 1] <= '9')
        k--;
    if (k && k < n && p[k - 1] == ':')
        n = k - 1;
    buf_put(&c->name, p, n);
    return chat_name_valid(&c->name);
}

/* What TYPE says: 1 text, 0 JSON, -1 neither. */
static int told(const struct buf *b)
{
    if (b->n == 4 && !memcmp(b->p, "true", 4))
        return 1;
    return b->n == 5 && !memcmp(b->p, "false", 5) ? 0 : -1;
}

static bool field_whole(struct chat *c)
{
    if (*c->pc == *NAME)
        return chat_name_valid(&c->name);
    if (*c->pc == *ID)
        return chat_name_valid(&c->id) && (!c->d->functions || name_of_id(c));
    if (*c->pc == *KEY)
        return c->key.n > 0;
    c->told = told(&c->value);
    return true;
}

static void field_byte(struct chat *c, unsigned char b)
{
    struct buf *to = *c->pc == *NAME  ? &c->name
                     : *c->pc == *ID  ? &c->id
                     : *c->pc == *KEY ? &c->key
                                      : &c->value;
    char out[sizeof c->match.hold];
    size_t n;
    int i;

    if (!to->n && !c->match.nhold && scan_space(b) &&
        c->nspace++ < CHAT_MAX_SPACE)
        return;
    if (*c->pc == *NAME && !c->match.nhold && scan_space(b)) {
        /* The name is over, or this is none. */
        if (!c->match.space || !chat_name_valid(&c->name)) {
            call_fail(c, NULL);
            return;
        }
        c->state = ST_NEXT;
        next_byte(c, b);
        return;
    }
    i = match_byte(&c->match, b, out, &n);
    buf_put(to, out, n);
    for (size_t k = 0; k < n; k++)
        if (!field_takes(*c->pc, (unsigned char)out[k])) {
            call_fail(c, "a name is wrong");
            return;
        }
    if (to->n > CHAT_MAX_NAME)
        call_fail(c, "a name is too long");
    else if (i >= 0 && field_whole(c))
        call_go_on(c, c->match.lit[i].next);
    else if (i >= 0)
        call_fail(c, "a name is missing");
}

void call_byte(struct chat *c, unsigned char b)
{
    switch (c->state) {
    case ST_NEXT:
        next_byte(c, b);
        break;
    case ST_FIELD:
        field_byte(c, b);
        break;
    case ST_VALUE:
        value_byte(c, b);
        break;
    case ST_ARGS:
        value_args_byte(c, b);
        break;
    case ST_OBJECT:
        value_object_byte(c, b);
        break;
    default: /* ST_CODE */
        emit_escaped(&c->m, &b, 1);
    }
}

void call_finish(struct chat *c)
{
    if (c->state == ST_CODE) {
        emit_puts(&c->m, CHAT_ARGUMENTS, "\"}");
        done(c);
        parse_text(c);
        return;
    }
    if (c->state == ST_VALUE)
        value_finish(c);
    /* Of what has not begun yet nothing is lost. */
    call_fail(c, cut_off);
}
