/* SPDX-License-Identifier: MIT
 * regex_parse.c - a pattern as a tree, and the tree as a program. */
#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"
#include "base/utf8.h"
#include "tok/regex_impl.h"

static int new_node(struct compiler *c, enum node_kind kind, int a, int b)
{
    if (c->nnode == MAX_NODES)
        return wrong(c, "too long");
    c->nodes[c->nnode] = (struct node){kind, a, b, 0, 0};
    return c->nnode++;
}

static int new_set(struct compiler *c)
{
    if (c->nset == MAX_SETS)
        return wrong(c, "too many classes");
    c->sets[c->nset] = (struct set){{0}, c->nrange, 0, false};
    return c->nset++;
}

static bool same_set(const struct compiler *c, const struct set *a,
                     const struct set *b)
{
    return a->n == b->n && a->negated == b->negated &&
           !memcmp(a->bits, b->bits, sizeof a->bits) &&
           !memcmp(c->ranges + a->first, c->ranges + b->first,
                   (size_t)a->n * sizeof *c->ranges);
}

/* A node for set ID, the newest, or for an older one that is the same. */
static int set_node(struct compiler *c, int id)
{
    for (int i = 0; i < id; i++)
        if (same_set(c, &c->sets[i], &c->sets[id])) {
            c->nset--;
            c->nrange -= c->sets[id].n;
            id = i;
            break;
        }
    return new_node(c, N_SET, id, 0);
}

static void add_range(struct compiler *c, struct set *s, uint32_t lo,
                      uint32_t hi)
{
    if (c->nrange == MAX_RANGES) {
        wrong(c, "too many ranges");
        return;
    }
    if (lo > hi)
        wrong(c, "range out of order");
    c->ranges[c->nrange++] = (struct range){lo, hi};
    s->n++;
}

/* One character as the pattern means it: both cases under (?i:).  U+017F and
 * U+212A are the two that fold to ASCII letters. */
static void add_char(struct compiler *c, struct set *s, uint32_t cp)
{
    uint32_t low = cp | 32;

    add_range(c, s, cp, cp);
    if (!c->nocase || low < 'a' || low > 'z')
        return;
    add_range(c, s, cp ^ 32, cp ^ 32);
    if (low == 's')
        add_range(c, s, 0x17f, 0x17f);
    if (low == 'k')
        add_range(c, s, 0x212a, 0x212a);
}

static void add_bits(struct set *s, bool (*has)(uint8_t, const char *),
                     const char *name, bool negated)
{
    for (int u = 0; u < 256; u++)
        if (has((uint8_t)u, name) != negated)
            s->bits[u >> 6] |= 1ull << (u & 63);
}

static bool is_space(uint8_t u, const char *unused)
{
    (void)unused;
    return u & UNI_SPACE;
}

/* NAME is a general category ("Lu"), its first letter, or "Han". */
static bool is_category(uint8_t u, const char *name)
{
    if (!strcmp(name, "Han"))
        return u & UNI_HAN;
    return unicode_category_is(u, name);
}

static uint32_t next_char(struct compiler *c)
{
    uint32_t cp = 0;

    c->p += utf8_get((const unsigned char *)c->p, strlen(c->p), &cp);
    return cp;
}

/* After a backslash: a class is added to S and -1 returned, a plain character
 * is returned. */
static int32_t escape(struct compiler *c, struct set *s)
{
    char name[8] = "", ch = *c->p;

    if (!ch)
        return wrong(c, "nothing after the backslash");
    c->p++;
    switch (ch) {
    case 's':
    case 'S':
        add_bits(s, is_space, NULL, ch == 'S');
        return -1;
    case 'd':
    case 'D':
        add_bits(s, is_category, "Nd", ch == 'D');
        return -1;
    case 'p':
    case 'P': {
        const char *end = *c->p == '{' ? strchr(c->p, '}') : NULL;

        if (!end || end - c->p - 1 >= (int)sizeof name)
            return wrong(c, "property");
        memcpy(name, c->p + 1, (size_t)(end - c->p - 1));
        c->p = end + 1;
        if (strcmp(name, "Han") && !unicode_category_known(name))
            return wrong(c, "property");
        add_bits(s, is_category, name, ch == 'P');
        return -1;
    }
    case 'r':
        return '\r';
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'x': {
        char hex[3] = {c->p[0], c->p[0] ? c->p[1] : 0, 0}, *end;
        long v = strtol(hex, &end, 16);

        if (end != hex + 2)
            return wrong(c, "\\x");
        c->p += 2;
        return (int32_t)v;
    }
    }
    if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
        (ch >= '0' && ch <= '9'))
        return wrong(c, "escape");
    return ch;
}

/* What stands between [ and ]. */
static int bracket(struct compiler *c)
{
    int id = new_set(c);
    struct set *s = &c->sets[id];
    bool first = true;

    if (*c->p == '^') {
        s->negated = true;
        c->p++;
    }
    for (; *c->p && (*c->p != ']' || first); first = false) {
        int32_t lo, hi;

        if (*c->p == '\\') {
            c->p++;
            lo = escape(c, s);
        } else {
            lo = (int32_t)next_char(c);
        }
        if (lo < 0)
            continue;
        if (c->p[0] != '-' || c->p[1] == ']' || !c->p[1]) {
            add_char(c, s, (uint32_t)lo);
            continue;
        }
        c->p++;
        if (*c->p == '\\') {
            c->p++;
            hi = escape(c, s);
        } else {
            hi = (int32_t)next_char(c);
        }
        if (hi < 0)
            return wrong(c, "range");
        add_range(c, s, (uint32_t)lo, (uint32_t)hi);
    }
    if (*c->p != ']')
        return wrong(c, "missing ]");
    c->p++;
    return set_node(c, id);
}

static int alternatives(struct compiler *c);

/* After an opening parenthesis. */
static int group(struct compiler *c)
{
    bool nocase = c->nocase;
    int look = 0, n;

    if (++c->depth > MAX_DEPTH)
        return wrong(c, "nested too deep");
    if (!strncmp(c->p, "?:", 2)) {
        c->p += 2;
    } else if (!strncmp(c->p, "?i:", 3)) {
        c->p += 3;
        c->nocase = true;
    } else if (!strncmp(c->p, "?=", 2) || !strncmp(c->p, "?!", 2)) {
        look = c->p[1];
        c->p += 2;
    } else if (*c->p == '?') {
        return wrong(c, "group");
    }
    n = alternatives(c);
    if (*c->p != ')')
        return wrong(c, "missing )");
    c->p++;
    c->depth--;
    c->nocase = nocase;
    if (!look)
        return n;
    if (c->nodes[n].kind != N_SET)
        return wrong(c, "look-ahead over more than one class");
    n = new_node(c, N_LOOK, c->nodes[n].a, 0);
    c->nodes[n].min = look == '!';
    return n;
}

static int atom(struct compiler *c)
{
    int id;

    switch (*c->p) {
    case '[':
        c->p++;
        return bracket(c);
    case '(':
        c->p++;
        return group(c);
    case '$':
        c->p++;
        return new_node(c, N_END, 0, 0);
    case '?':
    case '*':
    case '+':
    case '{':
        return wrong(c, "repeat of nothing");
    }
    id = new_set(c);
    if (*c->p == '.') {
        c->p++;
        c->sets[id].negated = true;
        add_char(c, &c->sets[id], '\n');
    } else if (*c->p == '\\') {
        int32_t ch;

        c->p++;
        ch = escape(c, &c->sets[id]);
        if (ch >= 0)
            add_char(c, &c->sets[id], (uint32_t)ch);
    } else {
        add_char(c, &c->sets[id], next_char(c));
    }
    return set_node(c, id);
}

/* Read ? * + {m,n} into *MIN and *MAX; false when there is none. */
static bool quantifier(struct compiler *c, int *min, int *max)
{
    char *end;

    *min = 0;
    *max = -1;
    switch (*c->p) {
    case '?':
        *max = 1;
        break;
    case '*':
        break;
    case '+':
        *min = 1;
        break;
    case '{':
        *max = *min = (int)strtol(c->p + 1, &end, 10);
        if (*end == ',')
            *max = end[1] == '}' ? (end++, -1) : (int)strtol(end + 1, &end, 10);
        if (*end != '}' || *min < 0 || *min > MAX_REPEAT || *max > MAX_REPEAT ||
            (*max >= 0 && *max < *min))
            wrong(c, "repeat");
        c->p = *end ? end : end - 1;
        break;
    default:
        return false;
    }
    c->p++;
    if (*c->p == '+')
        c->p++;
    else if (*c->p == '?')
        wrong(c, "lazy repeat");
    return true;
}

static int sequence(struct compiler *c)
{
    int all = -1;

    while (*c->p && *c->p != '|' && *c->p != ')' && !c->wrong) {
        int n = atom(c), min, max;

        while (!c->wrong && quantifier(c, &min, &max)) {
            n = new_node(c, N_REPEAT, n, 0);
            c->nodes[n].min = min;
            c->nodes[n].max = max;
        }
        all = all < 0 ? n : new_node(c, N_CAT, all, n);
    }
    return all < 0 ? new_node(c, N_EMPTY, 0, 0) : all;
}

static int alternatives(struct compiler *c)
{
    int n = sequence(c);

    while (*c->p == '|' && !c->wrong) {
        c->p++;
        n = new_node(c, N_ALT, n, sequence(c));
    }
    return n;
}

static int emit(struct compiler *c, enum op op, int x, int y)
{
    if (c->nprog == MAX_PROG) {
        wrong(c, "too long");
        return 0;
    }
    c->prog[c->nprog] = (struct inst){op, x, y};
    return c->nprog++;
}

static void generate(struct compiler *c, int id);

static void generate_repeat(struct compiler *c, const struct node *n)
{
    int fork, i;

    for (i = 0; i < n->min; i++)
        generate(c, n->a);
    if (n->max < 0) {
        fork = emit(c, OP_FORK, c->nprog + 1, 0);
        generate(c, n->a);
        emit(c, OP_JUMP, fork, 0);
        c->prog[fork].y = c->nprog;
        return;
    }
    /* x{0,3} is (x(x(x)?)?)?: each fork may leave for the end. */
    int forks[MAX_REPEAT], k = 0;

    for (; i < n->max; i++) {
        forks[k++] = emit(c, OP_FORK, c->nprog + 1, 0);
        generate(c, n->a);
    }
    while (k--)
        c->prog[forks[k]].y = c->nprog;
}

static void generate(struct compiler *c, int id)
{
    const struct node *n = &c->nodes[id];
    int fork, jump;

    if (c->wrong)
        return;
    switch (n->kind) {
    case N_EMPTY:
        break;
    case N_SET:
        emit(c, OP_SET, n->a, 0);
        break;
    case N_LOOK:
        emit(c, n->min ? OP_NLOOK : OP_LOOK, n->a, 0);
        break;
    case N_END:
        emit(c, OP_END, 0, 0);
        break;
    case N_CAT:
        generate(c, n->a);
        generate(c, n->b);
        break;
    case N_ALT:
        fork = emit(c, OP_FORK, c->nprog + 1, 0);
        generate(c, n->a);
        jump = emit(c, OP_JUMP, 0, 0);
        c->prog[fork].y = c->nprog;
        generate(c, n->b);
        c->prog[jump].x = c->nprog;
        break;
    case N_REPEAT:
        generate_repeat(c, n);
        break;
    }
}

void regex_parse(struct compiler *c)
{
    int root;

    c->p = c->pattern;
    root = alternatives(c);
    if (!c->wrong && *c->p)
        wrong(c, "unmatched )");
    generate(c, root);
    emit(c, OP_MATCH, 0, 0);
}
