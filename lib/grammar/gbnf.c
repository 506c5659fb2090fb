/* SPDX-License-Identifier: MIT
 * gbnf.c - grammars as llama.cpp's users write them.
 *
 *     root ::= "a" [b-d]{1,3} (item | "\n")* .   # and so on
 *     item ::= <think> !<[7]>
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/build_impl.h"

enum { MAX_GROUPS = 200, MAX_TIMES = 1 << 24, MAX_TEXT = 8 << 20 };

struct name {
    uint32_t node, line;
    size_t at; /* where it is first used */
    bool defined;
};

struct gbnf {
    struct build *b;
    const unsigned char *text;
    size_t n, i;
    uint32_t line;
    int depth;
    struct intern names; /* of rules: their bytes as words */
    struct buf name;     /* struct name, by number */
    struct buf key;
    struct buf item;         /* uint32_t: nodes of what is open, as a stack */
    uint32_t *token, ntoken; /* ids of the vocabulary by hash, plus 1 */
    struct err *e;
};

/* ---- where we are ---- */

/* Of the character at AT, from 1. */
static unsigned long column(const struct gbnf *p, size_t at)
{
    unsigned long n = 1;

    while (at > 0 && p->text[at - 1] != '\n')
        n += (p->text[--at] & 0xc0) != 0x80;
    return n;
}

static bool wrong(struct gbnf *p, const char *what)
{
    err_set(p->e, ERR_FORMAT, "line %lu, column %lu: %s",
            (unsigned long)p->line, column(p, p->i), what);
    return false;
}

static int peek(const struct gbnf *p)
{
    return p->i < p->n ? p->text[p->i] : -1;
}

static bool take(struct gbnf *p, const char *word)
{
    size_t n = strlen(word);

    if (p->n - p->i < n || memcmp(p->text + p->i, word, n))
        return false;
    p->i += n;
    return true;
}

/* White space and comments, NEWLINES too where they may be. */
static void space(struct gbnf *p, bool newlines)
{
    for (;; p->i++) {
        int c = peek(p);

        if (c == '#') {
            while (peek(p) >= 0 && peek(p) != '\n')
                p->i++;
            c = peek(p);
        }
        if (c == '\n' && newlines) {
            p->line++;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

/* ---- characters ---- */

static bool hex(struct gbnf *p, int n, uint32_t *v)
{
    for (*v = 0; n; n--, p->i++) {
        int c = peek(p), d;

        d = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (c < 0 || d < 0 || d > 15 || (d >= 10 && (c | 0x20) < 'a'))
            return wrong(p, "a digit of the escape is missing");
        *v = *v << 4 | (uint32_t)d;
    }
    if (*v > 0x10ffff || (*v >= 0xd800 && *v < 0xe000))
        return wrong(p, "the escape is no character");
    return true;
}

/* One character, escaped or not. */
static bool character(struct gbnf *p, uint32_t *cp)
{
    int c = peek(p);

    if (c < 0 || c == '\n')
        return wrong(p, "the line ends too early");
    if (c != '\\') {
        size_t n = utf8_get(p->text + p->i, p->n - p->i, cp);

        if (*cp == UTF8_BAD)
            return wrong(p, "not UTF-8");
        p->i += n;
        return true;
    }
    p->i++;
    c = peek(p);
    switch (c) {
    case 'x':
        return p->i++, hex(p, 2, cp);
    case 'u':
        return p->i++, hex(p, 4, cp);
    case 'U':
        return p->i++, hex(p, 8, cp);
    case 't':
        *cp = '\t';
        break;
    case 'r':
        *cp = '\r';
        break;
    case 'n':
        *cp = '\n';
        break;
    default:
        if (c <= ' ' || c >= 0x7f || (c >= '0' && c <= '9') ||
            ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return wrong(p, "an escape that is not known");
        *cp = (uint32_t)c;
    }
    p->i++;
    return true;
}

/* After the first quote. */
static bool literal(struct gbnf *p, uint32_t *node)
{
    struct buf text = {0};
    bool good = true;

    while (good && !take(p, "\"")) {
        unsigned char byte[4];
        uint32_t cp;

        good = character(p, &cp);
        if (good)
            buf_put(&text, byte, utf8_put(byte, cp));
    }
    if (good && buf_ok(&text, p->e))
        good = false;
    if (good)
        *node = build_bytes(p->b, text.p, text.n);
    buf_free(&text);
    return good;
}

/* After "[". */
static bool class(struct gbnf *p, uint32_t *node)
{
    bool negated = take(p, "^"), good = true;
    struct buf ranges = {0};

    while (good && !take(p, "]")) {
        struct dfa_range r;

        good = character(p, &r.first);
        r.last = r.first;
        if (good && peek(p) == '-' && p->i + 1 < p->n &&
            p->text[p->i + 1] != ']') {
            p->i++;
            good = character(p, &r.last);
            if (good && r.last < r.first)
                good = wrong(p, "a range that ends before it begins");
        }
        buf_put(&ranges, &r, sizeof r);
    }
    if (good && buf_ok(&ranges, p->e))
        good = false;
    if (good)
        *node =
            build_class(p->b, (const struct dfa_range *)(const void *)ranges.p,
                        (int)(ranges.n / sizeof(struct dfa_range)), negated);
    buf_free(&ranges);
    return good;
}

/* ---- tokens ---- */

static uint32_t hash(const unsigned char *s, size_t n)
{
    uint32_t h = 2166136261;

    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 16777619;
    return h ^ h >> 15;
}

/* Where a token with the text S[N] is, or would be. */
static uint32_t *token_slot(const struct gbnf *p, const unsigned char *s,
                            size_t n)
{
    const struct grammar_vocab *v = p->b->v;
    uint32_t i = hash(s, n) & (p->ntoken - 1);

    for (; p->token[i]; i = (i + 1) & (p->ntoken - 1)) {
        uint32_t id = p->token[i] - 1;

        if (v->len[id] == n && !memcmp(v->text[id], s, n))
            break;
    }
    return &p->token[i];
}

static bool index_tokens(struct gbnf *p)
{
    const struct grammar_vocab *v = p->b->v;

    if (p->token)
        return true;
    for (p->ntoken = 16; p->ntoken / 2 < v->n;)
        p->ntoken *= 2;
    p->token = calloc(p->ntoken, sizeof *p->token);
    if (!p->token) {
        err_nomem(p->e);
        return false;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t *slot;

        if (!v->len[i])
            continue;
        slot = token_slot(p, v->text[i], v->len[i]);
        /* Of equal texts a control token goes first. */
        if (!*slot || (v->control[i] && !v->control[*slot - 1]))
            *slot = i + 1;
    }
    return true;
}

static bool number(struct gbnf *p, uint32_t *v)
{
    size_t from = p->i;

    for (*v = 0; peek(p) >= '0' && peek(p) <= '9'; p->i++) {
        *v = *v * 10 + (uint32_t)(peek(p) - '0');
        if (*v > MAX_TIMES)
            return wrong(p, "the number is too large");
    }
    return p->i > from || wrong(p, "a number is missing");
}

/* At "<", after "!" if NEGATED. */
static bool token(struct gbnf *p, uint32_t *node, bool negated)
{
    size_t from = p->i;
    uint32_t id;

    if (!p->b->v)
        return wrong(p, "a token needs a model");
    if (take(p, "<[")) {
        if (!number(p, &id))
            return false;
        if (!take(p, "]>"))
            return wrong(p, "]> is missing");
        if (id >= p->b->v->n)
            return wrong(p, "the model has no token of this number");
    } else {
        while (peek(p) >= 0 && peek(p) != '\n' && peek(p) != '>')
            p->i++;
        if (!take(p, ">"))
            return wrong(p, "> is missing");
        if (!index_tokens(p))
            return false;
        id = *token_slot(p, p->text + from, p->i - from);
        if (!id--) {
            p->i = from;
            return wrong(p, "the model has no token of this name");
        }
    }
    *node = build_token(p->b, id, negated);
    return true;
}

/* ---- rules ---- */

static bool is_name(int c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           c == '-' || c == '_';
}

/* The rule whose name is here; *SLOT is its number. */
static bool name(struct gbnf *p, uint32_t *slot)
{
    size_t from = p->i;
    bool fresh;

    while (is_name(peek(p)))
        p->i++;
    if (p->i == from)
        return wrong(p, "the name of a rule is missing");
    p->key.n = 0;
    buf_put(&p->key, p->text + from, p->i - from);
    while (p->key.n % 4)
        buf_putc(&p->key, 0);
    if (buf_ok(&p->key, p->e))
        return false;
    *slot = intern_put(&p->names, (const uint32_t *)(const void *)p->key.p,
                       p->key.n / 4, &fresh);
    if (*slot != INTERN_NONE && fresh) {
        struct name n = {
            build_rule(p->b, (const char *)p->text + from, p->i - from),
            p->line, from, false};

        buf_put(&p->name, &n, sizeof n);
    }
    if (*slot == INTERN_NONE || buf_ok(&p->name, NULL)) {
        err_nomem(p->e);
        return false;
    }
    return true;
}

static struct name *named(const struct gbnf *p, uint32_t slot)
{
    return (struct name *)(void *)p->name.p + slot;
}

static bool alternatives(struct gbnf *p, uint32_t *node, bool nested);

static bool group(struct gbnf *p, uint32_t *node)
{
    if (++p->depth > MAX_GROUPS)
        return wrong(p, "groups are nested too deep");
    space(p, true);
    if (!alternatives(p, node, true))
        return false;
    if (!take(p, ")"))
        return wrong(p, ") is missing");
    p->depth--;
    return true;
}

/* {m}, {m,}, {m,n}, after the brace. */
static bool times(struct gbnf *p, uint32_t *min, uint32_t *max)
{
    space(p, false);
    if (!number(p, min))
        return false;
    *max = *min;
    space(p, false);
    if (take(p, ",")) {
        space(p, false);
        *max = NODE_NOLIMIT;
        if (peek(p) != '}' && !number(p, max))
            return false;
        space(p, false);
    }
    if (!take(p, "}"))
        return wrong(p, "} is missing");
    if (*max < *min)
        return wrong(p, "numbers of times out of order");
    return true;
}

static bool repetition(struct gbnf *p, uint32_t *node, bool nested)
{
    uint32_t min, max;

    for (;; space(p, nested)) {
        min = 0;
        max = NODE_NOLIMIT;
        if (take(p, "+"))
            min = 1;
        else if (take(p, "?"))
            max = 1;
        else if (take(p, "{")) {
            if (!times(p, &min, &max))
                return false;
        } else if (!take(p, "*"))
            return true;
        *node = build_repeat(p->b, *node, (int)min,
                             max == NODE_NOLIMIT ? -1 : (int)max);
    }
}

static bool dot(struct gbnf *p, uint32_t *node)
{
    static const struct dfa_range all = {0, 0x10ffff};

    *node = build_class(p->b, &all, 1, false);
    return true;
}

/* One symbol; 1, 0 where none begins here, or -1. */
static int symbol(struct gbnf *p, uint32_t *node)
{
    uint32_t slot;
    int c = peek(p);
    bool good;

    if (take(p, "\""))
        good = literal(p, node);
    else if (take(p, "["))
        good = class(p, node);
    else if (take(p, "("))
        good = group(p, node);
    else if (take(p, "."))
        good = dot(p, node);
    else if (c == '<')
        good = token(p, node, false);
    else if (c == '!' && p->i + 1 < p->n && p->text[p->i + 1] == '<')
        good = p->i++, token(p, node, true);
    else if (is_name(c)) {
        good = name(p, &slot);
        if (good)
            *node = named(p, slot)->node;
    } else
        return 0;
    return good ? 1 : -1;
}

/* What was put on the stack of nodes from FROM on. */
static uint32_t *items(struct gbnf *p, size_t from, int *n)
{
    *n = (int)((p->item.n - from) / 4);
    p->item.n = from;
    return (uint32_t *)(void *)(p->item.p + from);
}

static bool sequence(struct gbnf *p, uint32_t *node, bool nested)
{
    size_t from = p->item.n;
    uint32_t one = 0, *all;
    int got, n;

    while ((got = symbol(p, &one)) > 0) {
        space(p, nested);
        if (!repetition(p, &one, nested))
            return false;
        buf_put(&p->item, &one, 4);
    }
    if (got < 0 || buf_ok(&p->item, p->e))
        return false;
    all = items(p, from, &n);
    *node = n == 1 ? all[0] : build_seq(p->b, all, n);
    return true;
}

/* Is the next line, but for empty ones, more of this rule? */
static bool goes_on(struct gbnf *p)
{
    struct gbnf here = *p;

    space(p, true);
    if (peek(p) == '|')
        return true;
    p->i = here.i;
    p->line = here.line;
    return false;
}

static bool alternatives(struct gbnf *p, uint32_t *node, bool nested)
{
    size_t from = p->item.n;
    uint32_t one, *all;
    int n;

    do {
        space(p, true);
        if (!sequence(p, &one, nested))
            return false;
        buf_put(&p->item, &one, 4);
    } while (take(p, "|") || (goes_on(p) && take(p, "|")));
    if (buf_ok(&p->item, p->e))
        return false;
    all = items(p, from, &n);
    *node = n == 1 ? all[0] : build_alt(p->b, all, n);
    return true;
}

static bool rule(struct gbnf *p)
{
    uint32_t slot, body;

    if (!name(p, &slot))
        return false;
    if (named(p, slot)->defined)
        return wrong(p, "the rule is there already");
    named(p, slot)->defined = true;
    space(p, false);
    if (!take(p, "::="))
        return wrong(p, "::= is missing");
    /* Only after "|" and in groups may the body go on in another line; but it
     * may begin in the next. */
    if (!alternatives(p, &body, false))
        return false;
    if (peek(p) >= 0 && peek(p) != '\n')
        return wrong(p, "not a symbol");
    build_define(p->b, named(p, slot)->node, body);
    if (!p->b->err.code)
        return true;
    err_set(p->e, p->b->err.code, "line %lu: %s", (unsigned long)p->line,
            p->b->err.msg);
    return false;
}

static bool rules(struct gbnf *p)
{
    for (space(p, true); peek(p) >= 0; space(p, true))
        if (!rule(p))
            return false;
    for (uint32_t i = 0; i < p->names.n; i++) {
        const struct name *n = named(p, i);
        const uint32_t *w = intern_get(&p->b->m.node, n->node);
        const struct rule *r = machine_rule(&p->b->m, w[1]);

        if (n->defined)
            continue;
        err_set(p->e, ERR_FORMAT,
                "line %lu, column %lu: there is no rule '%.*s'",
                (unsigned long)n->line, column(p, n->at),
                r->n < 100 ? (int)r->n : 100, p->b->m.names.p + r->name);
        return false;
    }
    return true;
}

int grammar_gbnf(struct grammar **out, const char *text, size_t n,
                 const struct grammar_vocab *v, struct err *e)
{
    static const char root[] = "root";
    struct err mine = {0};
    struct gbnf p = {
        .text = (const unsigned char *)text, .n = n, .line = 1, .e = &mine};
    uint32_t slot = INTERN_NONE, word;
    int rc = -1;

    *out = NULL;
    if (n > MAX_TEXT)
        return err_set(e, ERR_UNSUPPORTED, "the grammar is too large");
    p.b = build_new(v, e);
    if (!p.b)
        return -1;
    if (!buf_reserve(&p.item, 64)) {
        build_free(p.b);
        return err_nomem(e);
    }
    if (rules(&p)) {
        memcpy(&word, root, sizeof word);
        slot = intern_find(&p.names, &word, 1);
        if (slot == INTERN_NONE)
            err_set(&mine, ERR_FORMAT, "there is no rule 'root'");
    }
    if (slot != INTERN_NONE) {
        uint32_t node = named(&p, slot)->node;

        rc = build_grammar(out, p.b, node, &mine);
    } else {
        build_free(p.b);
    }
    if (rc)
        err_set(e, mine.code, "%s", mine.msg);
    intern_free(&p.names);
    buf_free(&p.name);
    buf_free(&p.key);
    buf_free(&p.item);
    free(p.token);
    return rc;
}
