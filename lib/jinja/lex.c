/* SPDX-License-Identifier: MIT
 * lex.c - a template's source as tokens, one at a time.
 *
 * Whitespace around tags goes as trim_blocks and lstrip_blocks have it: a
 * newline after a tag goes, and blanks before a tag that begins its line; "-"
 * takes all whitespace on its side, "+" keeps what would go.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "jinja/jinja_impl.h"

static bool at_lit(const struct parser *p, size_t at, const char *lit)
{
    size_t n = strlen(lit);

    return p->n - at >= n && !memcmp(p->p + at, lit, n);
}

static void count_lines(struct parser *p, size_t from, size_t to)
{
    for (; from < to; from++)
        p->line += p->p[from] == '\n';
}

static size_t skip_space(const struct parser *p, size_t at)
{
    uint32_t cp;
    size_t len;

    while (at < p->n) {
        len = utf8_get((const unsigned char *)p->p + at, p->n - at, &cp);
        if (!str_is_space(cp))
            break;
        at += len;
    }
    return at;
}

/* The end of the text FROM..TO before a tag whose sign is SIGN. */
static size_t strip_before(struct parser *p, size_t from, size_t to, int sign,
                           bool variable)
{
    size_t line = to;
    struct str s = {.p = (const unsigned char *)p->p + from, .n = to - from};

    if (sign == '-')
        return from + str_strip(p->c, &s, NULL, 2).s->n;
    if (sign == '+' || variable)
        return to;
    while (line > from && p->p[line - 1] != '\n')
        line--;
    if (line == from && !p->line_start)
        return to;
    return skip_space(p, line) >= to ? line : to;
}

/* Behind the "}" of a tag that ended at AT: what trimming takes. */
static size_t after_tag(const struct parser *p, size_t at, int sign, bool block)
{
    if (sign == '-')
        return skip_space(p, at);
    return block && sign != '+' && at < p->n && p->p[at] == '\n' ? at + 1 : at;
}

static int sign_at(const struct parser *p, size_t at)
{
    return at < p->n && (p->p[at] == '-' || p->p[at] == '+') ? p->p[at] : 0;
}

/* {%- raw -%} or, NAME "endraw", its end at AT: the byte behind it; 0. */
static size_t raw_tag(const struct parser *p, size_t at, const char *name)
{
    int sign;

    if (!at_lit(p, at, "{%"))
        return 0;
    at += 2;
    at = skip_space(p, at + (sign_at(p, at) != 0));
    if (!at_lit(p, at, name))
        return 0;
    at = skip_space(p, at + strlen(name));
    sign = sign_at(p, at);
    if (!at_lit(p, at + (sign != 0), "%}"))
        return 0;
    at += 2 + (sign != 0);
    return name[0] == 'e' ? after_tag(p, at, sign, true)
           : sign == '+'  ? 0
                          : after_tag(p, at, sign, false);
}

static void text_token(struct parser *p, size_t from, size_t to)
{
    p->tok = (struct lexed){.kind = T_TEXT, .line = p->line};
    p->tok.s = str_new(p->c, p->p + from, to - from, false).s;
}

/* A whole raw block: its text. */
static bool lex_raw(struct parser *p, size_t inside)
{
    size_t at = inside, end = 0;

    while (at < p->n && !(p->p[at] == '{' && (end = raw_tag(p, at, "endraw"))))
        at++;
    if (!end) {
        parse_fail(p, "Missing end of raw directive");
        return false;
    }
    p->line_start = p->p[inside - 1] == '\n';
    text_token(p, inside,
               strip_before(p, inside, at, sign_at(p, at + 2), false));
    count_lines(p, inside, end);
    p->at = end;
    p->line_start = p->p[end - 1] == '\n';
    return true;
}

static bool lex_comment(struct parser *p, size_t at)
{
    size_t end = at + 2;
    int sign;

    while (end < p->n && !at_lit(p, end, "#}"))
        end++;
    if (end >= p->n) {
        parse_fail(p, "Missing end of comment tag");
        return false;
    }
    sign = sign_at(p, end - 1);
    if (end - 1 < at + 2)
        sign = 0;
    end = after_tag(p, end + 2, sign, true);
    count_lines(p, at, end);
    p->at = end;
    p->line_start = p->p[end - 1] == '\n';
    return true;
}

/* Text, up to the next tag; T_TEXT of it unless it is empty, else what the tag
 * is.  1: a token; 0: none yet; -1. */
static int lex_text(struct parser *p)
{
    size_t at = p->at, end, raw;
    int sign;

    if (p->raw_end) {
        raw = p->raw_end;
        p->raw_end = 0;
        return lex_raw(p, raw) ? 1 : -1;
    }
    while (at < p->n && !(p->p[at] == '{' && at + 1 < p->n &&
                          strchr("{%#", p->p[at + 1]) && p->p[at + 1]))
        at++;
    if (at > p->at) {
        sign = sign_at(p, at + 2);
        end = at < p->n ? strip_before(p, p->at, at, sign, p->p[at + 1] == '{')
                        : at;
        text_token(p, p->at, end);
        count_lines(p, p->at, at);
        p->line_start = false;
        p->at = at;
        return end > (size_t)0 && p->tok.s->n ? 1 : 0;
    }
    if (at >= p->n) {
        p->tok = (struct lexed){.kind = T_EOF, .line = p->line};
        return 1;
    }
    if (p->p[at + 1] == '#')
        return lex_comment(p, at) ? 0 : -1;
    raw = p->p[at + 1] == '%' ? raw_tag(p, at, "raw") : 0;
    if (raw) {
        count_lines(p, at, raw);
        p->raw_end = raw;
        return 0;
    }
    p->state = p->p[at + 1];
    p->tok = (struct lexed){.kind = p->state == '%' ? T_BLOCK : T_VAR,
                            .line = p->line};
    p->at = at + 2 + (sign_at(p, at + 2) != 0);
    p->line_start = false;
    return 1;
}

/* ---- inside a tag ---- */

static int hex(const char *p, size_t n, uint32_t *out)
{
    char *stop, s[9] = "";

    if (n > 8)
        return -1;
    memcpy(s, p, n);
    for (size_t i = 0; i < n; i++)
        if (!strchr("0123456789abcdefABCDEF", s[i]) || !s[i])
            return -1;
    *out = (uint32_t)strtoul(s, &stop, 16);
    return 0;
}

/* The escape at P[N], behind its backslash: how many bytes it has; 0. */
static size_t escape(struct parser *p, const char *s, size_t n)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *known = strchr(from, s[0]);
    size_t len = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : s[0] == 'U' ? 8 : 0;
    uint32_t cp = 0;

    if (known && *known) {
        ctx_put(p->c, &to[known - from], 1, false);
        return 1;
    }
    if (s[0] == '\n')
        return 1;
    if (s[0] >= '0' && s[0] <= '7') {
        for (len = 0; len < 3 && len < n && s[len] >= '0' && s[len] <= '7';)
            cp = cp * 8 + (uint32_t)(s[len++] - '0');
        ctx_put_cp(p->c, cp, false);
        return len;
    }
    if (s[0] == 'N')
        return 0;
    if (!len) { /* none: both stay */
        ctx_put(p->c, "\\", 1, false);
        ctx_put(p->c, s, 1, false);
        return 1;
    }
    if (n <= len || hex(s + 1, len, &cp) || cp > 0x10ffff ||
        (cp >= 0xd800 && cp < 0xe000))
        return 0;
    ctx_put_cp(p->c, cp, false);
    return len + 1;
}

static bool lex_string(struct parser *p)
{
    size_t at = p->at + 1, from = p->c->out.n, len;
    char quote = p->p[p->at];

    for (; at < p->n && p->p[at] != quote; at++) {
        if (p->p[at] != '\\') {
            ctx_put(p->c, p->p + at, 1, false);
            continue;
        }
        at++;
        len = at < p->n ? escape(p, p->p + at, p->n - at) : 1;
        if (!len) {
            parse_fail(p, "an escape in a string is malformed");
            return false;
        }
        at += len - 1;
    }
    if (at >= p->n) {
        parse_fail(p, "unexpected char \"%c\" at %zu", quote, p->at);
        return false;
    }
    p->tok.kind = T_STRING;
    p->tok.s = ctx_take(p->c, from).s;
    count_lines(p, p->at, at);
    p->at = at + 1;
    return !failed(p->c);
}

static size_t digits(const struct parser *p, size_t at)
{
    size_t from = at;

    while (at < p->n && ((p->p[at] >= '0' && p->p[at] <= '9') ||
                         (p->p[at] == '_' && at > from && at + 1 < p->n &&
                          p->p[at + 1] >= '0' && p->p[at + 1] <= '9')))
        at++;
    return at;
}

static bool lex_number(struct parser *p)
{
    size_t from = p->at, at = digits(p, from), to;
    bool dot = from && p->p[from - 1] == '.', real = false;
    struct str s = {.p = (const unsigned char *)p->p + from};
    big i;

    if (p->p[from] == '0' && at == from + 1 && at + 1 < p->n &&
        strchr("xXoObB", p->p[at])) {
        for (at++; at < p->n && (strchr("0123456789abcdefABCDEF_", p->p[at]));)
            at++;
    } else if (!dot) {
        if (at + 1 < p->n && p->p[at] == '.' &&
            (to = digits(p, at + 1)) > at + 1)
            at = to, real = true;
        to = at + 1;
        if (at < p->n && (p->p[at] | 32) == 'e') {
            to += to < p->n && (p->p[to] == '+' || p->p[to] == '-');
            if (to < p->n && digits(p, to) > to)
                at = digits(p, to), real = true;
        }
    }
    s.n = p->tok.n = at - from;
    p->tok.kind = real ? T_FLOAT : T_INT;
    p->at = at;
    if (real) {
        p->tok.v = val_float(0);
        if (num_parse_float(&s, &p->tok.v.f))
            return true;
    } else if (num_parse_int(&s, 0, &i)) {
        p->tok.v = val_int(i);
        return true;
    }
    parse_fail(p, "the number %.*s is malformed or too large",
               (int)(s.n < 60 ? s.n : 60), (const char *)s.p);
    return false;
}

static bool name_byte(unsigned char c)
{
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool lex_op(struct parser *p)
{
    static const char two[][3] = {"//", "**", "==", "!=", ">=", "<="};
    char c = p->p[p->at], open;

    p->tok.kind = T_OP;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (at_lit(p, p->at, two[i])) {
            p->tok.op = OP2(two[i][0], two[i][1]);
            p->tok.n = 2;
            p->at += 2;
            return true;
        }
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c)) {
        parse_fail(p, "unexpected char '%c' at %zu", c < 32 ? '?' : c, p->at);
        return false;
    }
    if (strchr("([{", c))
        buf_putc(&p->brackets, c == '(' ? ')' : c + 2);
    if (strchr(")]}", c)) {
        if (!p->brackets.n) {
            parse_fail(p, "unexpected '%c'", c);
            return false;
        }
        open = (char)p->brackets.p[--p->brackets.n];
        if (open != c) {
            parse_fail(p, "unexpected '%c', expected '%c'", c, open);
            return false;
        }
    }
    p->tok.op = c;
    p->tok.n = 1;
    p->at++;
    return true;
}

static bool lex_tag(struct parser *p)
{
    const char *close = p->state == '%' ? "%}" : "}}";
    size_t at = skip_space(p, p->at);
    int sign;
    unsigned char c;

    count_lines(p, p->at, at);
    p->at = at;
    p->tok = (struct lexed){.line = p->line, .p = p->p + at};
    if (at >= p->n) {
        p->tok.kind = T_EOF;
        return true;
    }
    sign = sign_at(p, at);
    if (p->state == '{' && sign == '+')
        sign = 0;
    if (!p->brackets.n && at_lit(p, at + (sign != 0), close)) {
        p->tok.kind = p->state == '%' ? T_BLOCK_END : T_VAR_END;
        at = after_tag(p, at + 2 + (sign != 0), sign, p->state == '%');
        count_lines(p, p->at, at);
        p->at = at;
        p->line_start = p->p[at - 1] == '\n';
        p->state = 0;
        return true;
    }
    c = (unsigned char)p->p[at];
    if (c >= '0' && c <= '9')
        return lex_number(p);
    if (c == '"' || c == '\'')
        return lex_string(p);
    if (!name_byte(c))
        return lex_op(p);
    while (at < p->n && name_byte((unsigned char)p->p[at]))
        at++;
    p->tok.kind = T_NAME;
    p->tok.n = at - p->at;
    p->at = at;
    return true;
}

static bool lex_one(struct parser *p)
{
    int r;

    if (failed(p->c))
        return false;
    if (p->state)
        return lex_tag(p) && !failed(p->c);
    do
        r = lex_text(p);
    while (!r && !failed(p->c));
    return r > 0 && !failed(p->c);
}

bool lex_next(struct parser *p)
{
    if (p->peeked) {
        p->tok = p->peek;
        p->peeked = false;
        return true;
    }
    if (lex_one(p))
        return true;
    p->tok = (struct lexed){.kind = T_EOF, .line = p->line};
    return false;
}

const struct lexed *lex_peek(struct parser *p)
{
    struct lexed now = p->tok;

    if (!p->peeked) {
        lex_one(p);
        p->peek = p->tok;
        p->tok = now;
        p->peeked = true;
    }
    return &p->peek;
}

const char *lex_show(const struct lexed *t, char *to, size_t n)
{
    static const char *const kind[] = {"template data",
                                       "begin of statement block",
                                       "end of statement block",
                                       "begin of print statement",
                                       "end of print statement",
                                       "",
                                       "string",
                                       "integer",
                                       "float",
                                       "",
                                       "end of template"};

    if (t->kind != T_NAME && t->kind != T_OP)
        return kind[t->kind];
    if (n > t->n + 1)
        n = t->n + 1;
    memcpy(to, t->p, n - 1);
    to[n - 1] = 0;
    return to;
}
