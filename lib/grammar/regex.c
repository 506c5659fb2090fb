/* SPDX-License-Identifier: MIT
 * regex.c - regular expressions as ECMA-262 has them with the u flag.
 *
 * A pattern becomes a tree, and the tree, from its end backwards, an automaton.
 * What follows a look-ahead is then known already: an automaton of its own,
 * which is cut with that of the look-ahead.  Greedy or lazy makes no language.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/nfa.h"

enum { MAX_DEPTH = 200, MAX_TIMES = 1 << 24 };

enum kind { EMPTY, SET, CAT, ALT, REPEAT, BEGIN, LAST, LOOK };

struct node {
    enum kind kind;
    bool negated;      /* of LOOK */
    int min, max;      /* of REPEAT; -1: no limit */
    uint32_t set;      /* of SET */
    uint32_t last;     /* the last child; 0: none */
    uint32_t previous; /* sibling */
    size_t at;         /* offset in the pattern */
};

struct parser {
    const unsigned char *text;
    size_t n, i;
    int depth;
    bool part;          /* of a text that is not known */
    struct buf node;    /* struct node; 0 is none */
    struct intern sets; /* as nfa_set() wants them */
    struct err *e;
};

static uint32_t alternatives(struct parser *p);

/* ---- nodes ---- */

static struct node *node(const struct parser *p, uint32_t i)
{
    return (struct node *)(void *)p->node.p + i;
}

/* 0 when memory ran out. */
static uint32_t add(struct parser *p, struct node n)
{
    n.at = p->i;
    buf_put(&p->node, &n, sizeof n);
    if (buf_ok(&p->node, p->e))
        return 0;
    return (uint32_t)(p->node.n / sizeof n) - 1;
}

static void append(struct parser *p, uint32_t parent, uint32_t child)
{
    node(p, child)->previous = node(p, parent)->last;
    node(p, parent)->last = child;
}

static uint32_t fail(struct parser *p, enum err_code code, const char *what)
{
    err_set(p->e, code, "offset %zu: %s", p->i, what);
    return 0;
}

static uint32_t wrong(struct parser *p, const char *what)
{
    return fail(p, ERR_FORMAT, what);
}

/* ---- the pattern ---- */

static bool is(const struct parser *p, char c)
{
    return p->i < p->n && p->text[p->i] == (unsigned char)c;
}

static bool take(struct parser *p, const char *word)
{
    size_t n = strlen(word);

    if (p->n - p->i < n || memcmp(p->text + p->i, word, n))
        return false;
    p->i += n;
    return true;
}

/* ---- sets of symbols ---- */

/* SET is freed. */
static uint32_t set_node(struct parser *p, struct buf *set)
{
    uint32_t id = INTERN_NONE;

    if (!buf_ok(set, p->e)) {
        id = intern_put(&p->sets, (const uint32_t *)(const void *)set->p,
                        set->n / 4, NULL);
        if (id == INTERN_NONE)
            err_nomem(p->e);
    }
    buf_free(set);
    return id == INTERN_NONE ? 0 : add(p, (struct node){SET, .set = id});
}

static const struct {
    char letter;
    uint16_t range[24]; /* pairs, first and last */
} named[] = {
    {'d', {'0', '9'}},
    {'w', {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}},
    {'s', {0x9,    0xd,    0x20,   0x20,   0xa0,   0xa0,   0x1680,
           0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f,
           0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff}},
    {'.', {'\n', '\n', '\r', '\r', 0x2028, 0x2029}}, /* what it is not */
};

/* After "\\p" or "\\P": the property is added to SET, or all others. */
static bool property(struct parser *p, struct buf *set, bool negated)
{
    const unsigned char *name;
    struct buf one = {0};
    size_t n;

    if (!take(p, "{"))
        return wrong(p, "{ is missing");
    if (!take(p, "gc="))
        take(p, "General_Category=");
    name = p->text + p->i;
    while (p->i < p->n && !is(p, '}'))
        p->i++;
    n = (size_t)(p->text + p->i - name);
    if (!take(p, "}"))
        return wrong(p, "} is missing");
    nfa_property(&one, name, n);
    if (!one.n && !one.bad) {
        err_set(p->e, ERR_UNSUPPORTED,
                "offset %zu: property '%.*s' is not supported", p->i,
                n < 64 ? (int)n : 64, name);
        return false;
    }
    nfa_normalize(&one, negated);
    buf_put(set, one.p, one.n);
    set->bad |= one.bad;
    buf_free(&one);
    return true;
}

/* Add to SET what LETTER stands for, upper case being all others; false where
 * it stands for none. */
static bool add_named(struct buf *set, int letter)
{
    bool negated = letter == '.' || (letter >= 'A' && letter <= 'Z');
    struct buf one = {0};

    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].letter != (letter == '.' ? '.' : letter | 0x20))
            continue;
        for (const uint16_t *r = named[i].range; r[1]; r += 2)
            nfa_range(&one, r[0], r[1]);
        nfa_normalize(&one, negated);
        buf_put(set, one.p, one.n);
        set->bad |= one.bad;
        buf_free(&one);
        return true;
    }
    return false;
}

/* ---- characters ---- */

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* N digits, or, with N 0, all that follow. */
static bool hex(struct parser *p, int n, uint32_t *v)
{
    int k = 0;

    for (*v = 0; p->i < p->n && (!n || k < n); k++, p->i++) {
        int d = hex_digit(p->text[p->i]);

        if (d < 0)
            break;
        *v = *v << 4 | (uint32_t)d;
        if (*v > 0x10ffff)
            return false;
    }
    return n ? k == n : k > 0;
}

/* After "\u". */
static bool unicode_escape(struct parser *p, uint32_t *cp)
{
    uint32_t low;
    size_t back;

    if (take(p, "{"))
        return hex(p, 0, cp) && take(p, "}");
    if (!hex(p, 4, cp))
        return false;
    back = p->i;
    if (*cp >= 0xd800 && *cp < 0xdc00 && take(p, "\\u") && hex(p, 4, &low) &&
        low >= 0xdc00 && low < 0xe000)
        *cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
    else
        p->i = back;
    return true;
}

/* After the backslash: one character; false after wrong(). */
static bool escape(struct parser *p, bool in_class, uint32_t *cp)
{
    static const char plain[] = "^$\\.*+?()[]{}|/-", from[] = "tnvfrb",
                      to[] = "\t\n\v\f\r\b";
    int c = p->i < p->n ? p->text[p->i] : 0;
    const char *at;

    if (c && strchr(plain, c)) {
        *cp = p->text[p->i++];
        return true;
    }
    if (c && (at = strchr(from, c)) && (c != 'b' || in_class)) {
        *cp = (unsigned char)to[at - from];
        p->i++;
        return true;
    }
    if (c == '0' && (p->i + 1 >= p->n || p->text[p->i + 1] < '0' ||
                     p->text[p->i + 1] > '9')) {
        *cp = 0;
        p->i++;
        return true;
    }
    if (c == 'c' && p->i + 1 < p->n && (p->text[p->i + 1] | 0x20) >= 'a' &&
        (p->text[p->i + 1] | 0x20) <= 'z') {
        *cp = p->text[p->i + 1] & 31;
        p->i += 2;
        return true;
    }
    if (c == 'x' || c == 'u') {
        p->i++;
        if (!(c == 'x' ? hex(p, 2, cp) : unicode_escape(p, cp)))
            return wrong(p, "malformed escape");
        if (*cp >= 0xd800 && *cp < 0xe000)
            return wrong(p, "a surrogate is no character");
        return true;
    }
    if ((c >= '1' && c <= '9') || c == 'k')
        return fail(p, ERR_UNSUPPORTED, "back references are not supported");
    if (c == 'b' || c == 'B')
        return fail(p, ERR_UNSUPPORTED, "\\b and \\B are not supported");
    return wrong(p, "an escape that is not known");
}

static bool literal(struct parser *p, uint32_t *cp)
{
    p->i += utf8_get(p->text + p->i, p->n - p->i, cp);
    return *cp != UTF8_BAD || wrong(p, "not UTF-8");
}

/* Behind a backslash: add to SET what is no single character; 1, 0 where it is
 * one, or -1. */
static int escaped_set(struct parser *p, struct buf *set)
{
    int c = p->i < p->n ? p->text[p->i] : '.';

    if (c == 'p' || c == 'P') {
        p->i++;
        return property(p, set, c == 'P') ? 1 : -1;
    }
    if (c == '.' || !add_named(set, c))
        return 0;
    p->i++;
    return 1;
}

/* One character of a class into *CP, or a named one into SET: *IS_SET. */
static bool class_item(struct parser *p, struct buf *set, uint32_t *cp,
                       bool *is_set)
{
    int got;

    *is_set = false;
    if (p->i >= p->n)
        return wrong(p, "a class without its end");
    if (!is(p, '\\'))
        return literal(p, cp);
    p->i++;
    got = escaped_set(p, set);
    *is_set = got > 0;
    return got ? got > 0 : escape(p, true, cp);
}

/* After "[". */
static uint32_t class(struct parser *p)
{
    struct buf set = {0};
    bool negated = take(p, "^"), named_set;
    uint32_t first, last;

    while (!take(p, "]")) {
        if (!class_item(p, &set, &first, &named_set))
            goto bad;
        if (named_set)
            continue;
        last = first;
        if (is(p, '-') && p->i + 1 < p->n && p->text[p->i + 1] != ']') {
            p->i++;
            if (!class_item(p, &set, &last, &named_set))
                goto bad;
            if (named_set) {
                nfa_range(&set, '-', '-');
                last = first;
            }
        }
        if (last < first) {
            wrong(p, "a range that ends before it begins");
            goto bad;
        }
        nfa_range(&set, first, last);
    }
    nfa_normalize(&set, negated);
    return set_node(p, &set);
bad:
    buf_free(&set);
    return 0;
}

/* ---- terms ---- */

static const char around[] =
    "^, $ and look-ahead are not supported where the text goes on";

/* After "(". */
static uint32_t group(struct parser *p)
{
    struct node look = {.kind = LOOK};
    bool is_look = false;
    uint32_t inner, n;

    if (take(p, "?<=") || take(p, "?<!"))
        return fail(p, ERR_UNSUPPORTED, "look-behind is not supported");
    if (take(p, "?=") || take(p, "?!")) {
        if (p->part)
            return fail(p, ERR_UNSUPPORTED, around);
        is_look = true;
        look.negated = p->text[p->i - 1] == '!';
    } else if (take(p, "?<")) {
        while (p->i < p->n && !is(p, '>'))
            p->i++;
        if (!take(p, ">"))
            return wrong(p, "a group's name without its end");
    } else if (is(p, '?') && !take(p, "?:")) {
        return fail(p, ERR_UNSUPPORTED, "this kind of group is not supported");
    }
    if (++p->depth > MAX_DEPTH)
        return fail(p, ERR_UNSUPPORTED, "groups are nested too deep");
    inner = alternatives(p);
    p->depth--;
    if (!inner)
        return 0;
    if (!take(p, ")"))
        return wrong(p, "a group without its end");
    if (!is_look)
        return inner;
    n = add(p, look);
    if (n)
        append(p, n, inner);
    return n;
}

static uint32_t atom(struct parser *p)
{
    struct buf set = {0};
    uint32_t cp;
    int c = p->text[p->i];

    if (c == '^' || c == '$') {
        if (p->part)
            return fail(p, ERR_UNSUPPORTED, around);
        p->i++;
        return add(p, (struct node){.kind = c == '^' ? BEGIN : LAST});
    }
    if (take(p, "("))
        return group(p);
    if (take(p, "["))
        return class(p);
    if (c == '*' || c == '+' || c == '?' || c == '{')
        return wrong(p, "nothing to repeat");
    if (c == '.') {
        p->i++;
        add_named(&set, '.');
        return set_node(p, &set);
    }
    if (take(p, "\\")) {
        c = escaped_set(p, &set);
        if (c > 0) {
            nfa_normalize(&set, false);
            return set_node(p, &set);
        }
        if (c < 0 || !escape(p, false, &cp)) {
            buf_free(&set);
            return 0;
        }
    } else if (!literal(p, &cp)) {
        return 0;
    }
    nfa_range(&set, cp, cp);
    return set_node(p, &set);
}

static bool number(struct parser *p, int *v)
{
    size_t from = p->i;

    for (*v = 0; p->i < p->n; p->i++) {
        int c = p->text[p->i];

        if (c < '0' || c > '9')
            break;
        if (*v < MAX_TIMES)
            *v = *v * 10 + (c - '0');
    }
    return p->i > from;
}

/* The quantifier that follows, if any; false after wrong(). */
static bool quantifier(struct parser *p, int *min, int *max)
{
    *min = *max = 1;
    if (take(p, "*")) {
        *min = 0;
        *max = -1;
    } else if (take(p, "+")) {
        *max = -1;
    } else if (take(p, "?")) {
        *min = 0;
    } else if (take(p, "{")) {
        if (!number(p, min))
            return wrong(p, "a number of times is missing");
        *max = *min;
        if (take(p, ",") && !number(p, max))
            *max = -1;
        if (!take(p, "}"))
            return wrong(p, "a number of times without its }");
        if (*max >= 0 && *max < *min)
            return wrong(p, "numbers of times out of order");
    } else {
        return true;
    }
    take(p, "?");
    return true;
}

static uint32_t sequence(struct parser *p)
{
    uint32_t cat = add(p, (struct node){.kind = CAT});

    while (cat && p->i < p->n && !is(p, '|') && !is(p, ')')) {
        uint32_t a = atom(p), r;
        int min, max;

        if (!a || !quantifier(p, &min, &max))
            return 0;
        if (min != 1 || max != 1) {
            if (node(p, a)->kind >= BEGIN)
                return wrong(p, "nothing to repeat");
            r = add(p, (struct node){REPEAT, .min = min, .max = max});
            if (!r)
                return 0;
            append(p, r, a);
            a = r;
        }
        append(p, cat, a);
    }
    return cat;
}

static uint32_t alternatives(struct parser *p)
{
    uint32_t first = sequence(p), alt, next;

    if (!first || !is(p, '|'))
        return first;
    alt = add(p, (struct node){.kind = ALT});
    if (!alt)
        return 0;
    append(p, alt, first);
    while (take(p, "|")) {
        next = sequence(p);
        if (!next)
            return 0;
        append(p, alt, next);
    }
    return alt;
}

/* ---- the automaton ---- */

struct emitter {
    struct parser *p;
    struct nfa m;
    int loops; /* that surround what is emitted, without limit */
};

static uint32_t emit(struct emitter *x, uint32_t i, uint32_t next);

/* Any text before NEXT. */
static uint32_t any_text(struct emitter *x, uint32_t next)
{
    uint32_t loop = nfa_loop(&x->m, next);

    nfa_join(&x->m, loop,
             nfa_set(&x->m, (uint32_t[]){0, DFA_SYMBOLS}, 1, loop));
    return loop;
}

/* What comes from NEXT on, as far as the look-ahead lets it. */
static uint32_t emit_look(struct emitter *x, const struct node *n,
                          uint32_t next)
{
    struct dfa *rest = NULL, *look = NULL, *negated = NULL, *both = NULL;
    uint32_t child;
    int rc = 0;

    child = emit(x, n->last, any_text(x, 0));
    if (x->m.err.code)
        return 0;
    if (x->loops || nfa_has(&x->m, next, NFA_BEGIN) ||
        nfa_has(&x->m, child, NFA_BEGIN)) {
        err_set(&x->m.err, ERR_UNSUPPORTED,
                "offset %zu: a look-ahead %s is not supported", n->at,
                x->loops ? "that is repeated" : "before ^");
        return 0;
    }
    rc = nfa_dfa(&rest, &x->m, next, &x->m.err) ||
         nfa_dfa(&look, &x->m, child, &x->m.err) ||
         (n->negated && dfa_not(&negated, look, &x->m.err)) ||
         dfa_and(&both, rest, n->negated ? negated : look, &x->m.err);
    if (!rc)
        next = nfa_dfa_before(&x->m, both, 0);
    dfa_free(rest);
    dfa_free(look);
    dfa_free(negated);
    dfa_free(both);
    return next;
}

static uint32_t emit_repeat(struct emitter *x, const struct node *n,
                            uint32_t next)
{
    uint32_t to = next, loop;
    int more = n->max - n->min, i;

    if (n->max < 0) {
        to = loop = nfa_loop(&x->m, next);
        x->loops++;
        nfa_join(&x->m, loop, emit(x, n->last, loop));
        x->loops--;
    }
    for (i = 0; i < more && !x->m.err.code; i++)
        to = nfa_split(&x->m, emit(x, n->last, to), next);
    for (i = 0; i < n->min && !x->m.err.code; i++) {
        loop = emit(x, n->last, to);
        if (loop == to)
            break; /* it is empty */
        to = loop;
    }
    return to;
}

/* What is before NEXT to match node I of the tree. */
static uint32_t emit(struct emitter *x, uint32_t i, uint32_t next)
{
    const struct node *n = node(x->p, i);
    uint32_t at = 0;

    if (x->m.err.code)
        return 0;
    switch (n->kind) {
    case SET:
        return nfa_set(&x->m, intern_get(&x->p->sets, n->set),
                       intern_len(&x->p->sets, n->set) / 2, next);
    case CAT:
        for (i = n->last; i; i = node(x->p, i)->previous)
            next = emit(x, i, next);
        return next;
    case ALT:
        at = emit(x, n->last, next);
        for (i = node(x->p, n->last)->previous; i; i = node(x->p, i)->previous)
            at = nfa_split(&x->m, at, emit(x, i, next));
        return at;
    case REPEAT:
        return emit_repeat(x, n, next);
    case BEGIN:
        return nfa_anchor(&x->m, NFA_BEGIN, next);
    case LAST:
        return nfa_anchor(&x->m, NFA_LAST, next);
    case LOOK:
        return emit_look(x, n, next);
    case EMPTY:
        break;
    }
    return next;
}

int dfa_regex(struct dfa **out, const char *pattern, size_t n,
              enum dfa_where where, struct err *e)
{
    bool search = where == DFA_ANYWHERE;
    struct err mine = {0};
    struct parser p = {(const unsigned char *)pattern, n,
                       .part = where == DFA_PART, .e = &mine};
    struct emitter x = {.p = &p};
    uint32_t root, start = 0;
    int rc = -1;

    *out = NULL;
    if (nfa_init(&x.m, false, &mine))
        return err_nomem(e);
    add(&p, (struct node){.kind = EMPTY});
    root = mine.code ? 0 : alternatives(&p);
    if (root && p.i < n)
        root = wrong(&p, "a ) without its group");
    if (root) {
        start = emit(&x, root, search ? any_text(&x, 0) : 0);
        if (search)
            start = any_text(&x, start);
        rc = nfa_dfa(out, &x.m, start, &mine);
    }
    if (rc)
        err_set(e, mine.code, "%s", mine.msg);
    nfa_fini(&x.m);
    buf_free(&p.node);
    intern_free(&p.sets);
    return rc;
}
