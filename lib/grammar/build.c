/* SPDX-License-Identifier: MIT
 * build.c - nodes from the leaves up; equal ones are one. */
#include "grammar/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/build_impl.h"
#include "grammar/nfa.h"

enum {
    MERGE = 256,       /* literals are joined up to this length */
    MAX_CLASSES = 3000 /* that need UTF-8, of one grammar */
};

struct build *build_new(const struct grammar_vocab *v, struct err *e)
{
    struct build *b = calloc(1, sizeof *b);

    if (!b) {
        err_nomem(e);
        return NULL;
    }
    b->v = v;
    buf_put(&b->m.place, (uint32_t[]){0}, 4);
    build_words(b, (uint32_t[]){NODE_NEVER}, 1);
    return b;
}

void grammar_machine_free(struct machine *m)
{
    intern_free(&m->node);
    buf_free(&m->rule);
    buf_free(&m->names);
    buf_free(&m->edge);
    buf_free(&m->place);
    buf_free(&m->ends);
}

void build_free(struct build *b)
{
    if (!b)
        return;
    grammar_machine_free(&b->m);
    intern_free(&b->terms);
    intern_free(&b->classes);
    buf_free(&b->term_place);
    buf_free(&b->class_node);
    buf_free(&b->words);
    free(b);
}

uint32_t build_fail(struct build *b, enum err_code code, const char *what)
{
    err_set(&b->err, code, "%s", what);
    return 0;
}

uint32_t build_words(struct build *b, const uint32_t *w, size_t n)
{
    uint32_t id;

    if (b->err.code)
        return 0;
    if (b->m.node.n >= MAX_NODES || b->m.node.nword > 8 * MAX_NODES)
        return build_fail(b, ERR_UNSUPPORTED, "the grammar is too large");
    id = intern_put(&b->m.node, w, n, NULL);
    if (id == INTERN_NONE)
        return build_fail(b, ERR_NOMEM, "out of memory");
    return id;
}

uint32_t build_empty(struct build *b)
{
    return build_words(b, (uint32_t[]){NODE_EMPTY}, 1);
}

uint32_t build_never(struct build *b)
{
    return build_words(b, (uint32_t[]){NODE_NEVER}, 1);
}

/* ---- terminals ---- */

/* An automaton in words: of each state whether it ends and its edges' number,
 * then the edges, bytes first, then where to, counted from the first state.
 * Equal ones are one. */
static uint32_t terminal(struct build *b, const uint32_t *w, size_t n)
{
    bool fresh;
    uint32_t id, base = machine_places(&b->m);

    if (b->err.code)
        return 0;
    id = intern_put(&b->terms, w, n, &fresh);
    if (id == INTERN_NONE)
        return build_fail(b, ERR_NOMEM, "out of memory");
    if (!fresh) {
        memcpy(&base, b->term_place.p + (size_t)id * 4, 4);
        return build_words(b, (uint32_t[]){NODE_TERM, base}, 2);
    }
    buf_put(&b->term_place, &base, 4);
    for (size_t i = 0; i < n;) {
        uint32_t k = w[i + 1], end;

        buf_putc(&b->m.ends, (int)w[i]);
        for (i += 2; k; k--, i += 2) {
            struct edge edge = {(uint8_t)w[i], (uint8_t)(w[i] >> 8),
                                base + w[i + 1]};

            buf_put(&b->m.edge, &edge, sizeof edge);
        }
        end = (uint32_t)(b->m.edge.n / sizeof(struct edge));
        buf_put(&b->m.place, &end, 4);
    }
    if (buf_ok(&b->m.ends, &b->err) || buf_ok(&b->m.edge, &b->err) ||
        buf_ok(&b->m.place, &b->err) || buf_ok(&b->term_place, &b->err))
        return 0;
    if (machine_places(&b->m) > MAX_PLACES ||
        b->m.edge.n / sizeof(struct edge) > MAX_EDGES)
        return build_fail(b, ERR_UNSUPPORTED, "the grammar is too large");
    return build_words(b, (uint32_t[]){NODE_TERM, base}, 2);
}

static void put_words(struct buf *w, uint32_t a, uint32_t c)
{
    buf_put(w, (uint32_t[]){a, c}, 8);
}

static uint32_t terminal_of(struct build *b, struct buf *w)
{
    if (buf_ok(w, &b->err))
        return 0;
    return terminal(b, (const uint32_t *)(const void *)w->p, w->n / 4);
}

uint32_t build_bytes(struct build *b, const void *p, size_t n)
{
    const unsigned char *byte = p;

    if (!n)
        return build_empty(b);
    if (n > MAX_PLACES)
        return build_fail(b, ERR_UNSUPPORTED, "the grammar is too large");
    b->words.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        put_words(&b->words, 0, 1);
        put_words(&b->words, byte[i] | (uint32_t)byte[i] << 8, i + 1);
    }
    put_words(&b->words, 1, 0);
    return terminal_of(b, &b->words);
}

/* Edges of state S, without those to the dead state; *N of them. */
static void edges_of(struct buf *w, const struct dfa *d, uint32_t s,
                     uint32_t dead)
{
    size_t head = w->n;
    uint32_t n = 0;

    put_words(w, d->ends[s], 0);
    for (uint32_t r = 0; r < d->nrange; r++) {
        uint32_t to = d->next[(size_t)s * d->nclass + d->class[r]],
                 first = d->first[r], last;

        while (r + 1 < d->nrange &&
               d->next[(size_t)s * d->nclass + d->class[r + 1]] == to)
            r++;
        last = r + 1 < d->nrange ? d->first[r + 1] - 1 : 255;
        if (to == dead)
            continue;
        put_words(w, first | last << 8, to);
        n++;
    }
    if (!w->bad)
        memcpy(w->p + head + 4, &n, 4);
}

uint32_t build_dfa(struct build *b, const struct dfa *d)
{
    struct dfa *bytes = NULL;
    uint32_t dead, node = 0;
    bool any = false;

    if (b->err.code)
        return 0;
    if (!d->bytes) {
        if (dfa_utf8(&bytes, d, &b->err))
            return 0;
        d = bytes;
    }
    if (dfa_empty(d)) {
        dfa_free(bytes);
        return build_never(b);
    }
    dead = dfa_dead(d);
    b->words.n = 0;
    for (uint32_t s = 0; s < d->n; s++) {
        /* The dead state keeps its number, without edges. */
        if (s == dead)
            put_words(&b->words, 0, 0);
        else
            edges_of(&b->words, d, s, dead);
    }
    for (uint32_t c = 0; c < d->nclass; c++)
        any |= d->next[c] != dead;
    node = any ? terminal_of(b, &b->words) : build_empty(b);
    dfa_free(bytes);
    return node;
}

/* One byte of R[N], all ASCII. */
static uint32_t ascii(struct build *b, const struct dfa_range *r, int n)
{
    bool in[129] = {false};
    size_t head;
    uint32_t k = 0;

    for (int i = 0; i < n; i++)
        for (uint32_t c = r[i].first; c <= r[i].last; c++)
            in[c] = true;
    b->words.n = 0;
    head = b->words.n;
    put_words(&b->words, 0, 0);
    for (uint32_t c = 0; c < 128; c++) {
        uint32_t first = c;

        if (!in[c])
            continue;
        while (in[c + 1])
            c++;
        put_words(&b->words, first | c << 8, 1);
        k++;
    }
    put_words(&b->words, 1, 0);
    if (!k)
        return build_never(b);
    if (!b->words.bad)
        memcpy(b->words.p + head + 4, &k, 4);
    return terminal_of(b, &b->words);
}

static uint32_t class_dfa(struct build *b, const struct buf *set)
{
    struct dfa *d = NULL;
    struct nfa m;
    uint32_t node = 0, start;

    if (nfa_init(&m, false, &b->err))
        return 0;
    start = nfa_set(&m, (const uint32_t *)(const void *)set->p, set->n / 8, 0);
    if (!nfa_dfa(&d, &m, start, &b->err))
        node = build_dfa(b, d);
    nfa_fini(&m);
    dfa_free(d);
    return node;
}

uint32_t build_class(struct build *b, const struct dfa_range *r, int n,
                     bool negated)
{
    bool plain = !negated, fresh;
    struct buf set = {0};
    uint32_t id, node;

    if (b->err.code)
        return 0;
    for (int i = 0; i < n; i++) {
        plain &= r[i].last < 128;
        if (r[i].first <= r[i].last && r[i].last <= 0x10ffff)
            nfa_range(&set, r[i].first, r[i].last);
    }
    if (plain) {
        buf_free(&set);
        return ascii(b, r, n);
    }
    nfa_normalize(&set, negated);
    if (buf_ok(&set, &b->err) || !set.n) {
        buf_free(&set);
        return build_never(b);
    }
    id = intern_put(&b->classes, (const uint32_t *)(const void *)set.p,
                    set.n / 4, &fresh);
    if (id == INTERN_NONE) {
        node = build_fail(b, ERR_NOMEM, "out of memory");
    } else if (!fresh) {
        memcpy(&node, b->class_node.p + (size_t)id * 4, 4);
    } else if (id >= MAX_CLASSES) {
        node = build_fail(b, ERR_UNSUPPORTED,
                          "the grammar has too many classes of characters");
    } else {
        node = class_dfa(b, &set);
        buf_put(&b->class_node, &node, 4);
        buf_ok(&b->class_node, &b->err);
    }
    buf_free(&set);
    return node;
}

uint32_t build_token(struct build *b, uint32_t id, bool negated)
{
    if (!b->v)
        return build_fail(b, ERR_FORMAT, "a token without a vocabulary");
    if (id >= b->v->n)
        return build_fail(b, ERR_FORMAT, "a token beyond the vocabulary");
    return build_words(b, (uint32_t[]){NODE_TOKEN, id, negated}, 3);
}

/* ---- nodes of nodes ---- */

static uint32_t kind_of(const struct build *b, uint32_t node)
{
    return intern_get(&b->m.node, node)[0];
}

/* The bytes that a terminal is, when it is a text of at most MERGE bytes. */
static bool literal(const struct build *b, uint32_t node, struct buf *out)
{
    const uint32_t *w = intern_get(&b->m.node, node);
    size_t from = out->n;
    uint32_t p, n;

    if (w[0] != NODE_TERM)
        return false;
    for (p = w[1]; out->n - from <= MERGE; p++) {
        const struct edge *e = machine_edges(&b->m, p, &n);

        if (b->m.ends.p[p])
            return n == 0;
        if (n != 1 || e->first != e->last || e->to != p + 1)
            return false;
        buf_putc(out, e->first);
    }
    return false;
}

/* W[0] is NODE_SEQ; neighbours that are literals become one. */
static uint32_t merge(struct build *b, struct buf *w)
{
    uint32_t *in = (uint32_t *)(void *)w->p;
    size_t n = w->n / 4, k = 1;
    struct buf text = {0}, next = {0};

    for (size_t i = 1; i < n; i++) {
        text.n = 0;
        next.n = 0;
        if (k > 1 && literal(b, in[k - 1], &text) && literal(b, in[i], &next) &&
            text.n + next.n <= MERGE) {
            buf_put(&text, next.p, next.n);
            if (!buf_ok(&text, &b->err))
                in[k - 1] = build_bytes(b, text.p, text.n);
        } else {
            in[k++] = in[i];
        }
    }
    buf_free(&text);
    buf_free(&next);
    return k == 2 ? in[1] : build_words(b, in, k);
}

uint32_t build_seq(struct build *b, const uint32_t *node, int n)
{
    struct buf w = {0};
    uint32_t id;
    bool never = false;

    if (b->err.code)
        return 0;
    buf_put(&w, (uint32_t[]){NODE_SEQ}, 4);
    for (int i = 0; i < n; i++) {
        uint32_t kind = kind_of(b, node[i]);

        never |= kind == NODE_NEVER;
        if (kind != NODE_EMPTY)
            buf_put(&w, &node[i], 4);
    }
    if (buf_ok(&w, &b->err))
        id = 0;
    else if (never)
        id = build_never(b);
    else if (w.n == 4)
        id = build_empty(b);
    else
        id = merge(b, &w);
    buf_free(&w);
    return id;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

uint32_t build_alt(struct build *b, const uint32_t *node, int n)
{
    struct buf w = {0};
    uint32_t id, *v;
    size_t k = 1;

    if (b->err.code)
        return 0;
    buf_put(&w, (uint32_t[]){NODE_ALT}, 4);
    for (int i = 0; i < n; i++)
        if (kind_of(b, node[i]) != NODE_NEVER)
            buf_put(&w, &node[i], 4);
    if (buf_ok(&w, &b->err)) {
        buf_free(&w);
        return 0;
    }
    v = (uint32_t *)(void *)w.p;
    qsort(v + 1, w.n / 4 - 1, 4, by_value);
    for (size_t i = 1; i < w.n / 4; i++)
        if (k == 1 || v[i] != v[k - 1])
            v[k++] = v[i];
    if (k == 1)
        id = build_never(b);
    else
        id = k == 2 ? v[1] : build_words(b, v, k);
    buf_free(&w);
    return id;
}

uint32_t build_repeat(struct build *b, uint32_t node, int min, int max)
{
    uint32_t kind;

    if (b->err.code)
        return 0;
    kind = kind_of(b, node);
    if (min < 0 || (max >= 0 && max < min))
        return build_never(b);
    if (kind == NODE_NEVER)
        return min ? node : build_empty(b);
    if (kind == NODE_EMPTY || max == 0)
        return build_empty(b);
    if (min == 1 && max == 1)
        return node;
    return build_words(b,
                       (uint32_t[]){NODE_REPEAT, node, (uint32_t)min,
                                    max < 0 ? NODE_NOLIMIT : (uint32_t)max},
                       4);
}

uint32_t build_members(struct build *b, const struct build_member *m, int n,
                       uint32_t sep, int min, int max)
{
    struct buf w = {0};
    uint32_t id = 0;
    int must = 0, can = 0;
    bool again = false;

    if (b->err.code)
        return 0;
    if (min < 0)
        min = 0;
    for (int i = 0; i < n; i++) {
        bool never = kind_of(b, m[i].node) == NODE_NEVER;

        if (never && m[i].required)
            return build_never(b);
        must += m[i].required;
        can += !never;
        again |= !never && m[i].again;
    }
    if ((max >= 0 && (must > max || min > max)) || (!again && can < min))
        return build_never(b);
    buf_put(&w,
            (uint32_t[]){NODE_MEMBERS, sep, (uint32_t)min,
                         max < 0 ? NODE_NOLIMIT : (uint32_t)max},
            16);
    for (int i = 0; i < n; i++)
        if (kind_of(b, m[i].node) != NODE_NEVER)
            put_words(&w, m[i].node,
                      (m[i].required ? MEMBER_REQUIRED : 0) |
                          (m[i].again ? MEMBER_AGAIN : 0));
    if (!buf_ok(&w, &b->err))
        id = build_words(b, (const uint32_t *)(const void *)w.p, w.n / 4);
    buf_free(&w);
    return id;
}

uint32_t build_rule(struct build *b, const char *name, size_t n)
{
    struct rule r = {0, (uint32_t)b->m.names.n, (uint32_t)n, false};
    uint32_t number = machine_rules(&b->m);

    if (b->err.code)
        return 0;
    buf_put(&b->m.names, name, n);
    buf_put(&b->m.rule, &r, sizeof r);
    if (buf_ok(&b->m.names, &b->err) || buf_ok(&b->m.rule, &b->err))
        return 0;
    return build_words(b, (uint32_t[]){NODE_RULE, number}, 2);
}

void build_define(struct build *b, uint32_t rule, uint32_t body)
{
    struct rule *r;

    if (b->err.code)
        return;
    r = machine_rule(&b->m, intern_get(&b->m.node, rule)[1]);
    r->body = body;
    r->defined = true;
}

int build_grammar(struct grammar **out, struct build *b, uint32_t root,
                  struct err *e)
{
    struct grammar *g = NULL;
    int rc = -1;

    *out = NULL;
    root = build_fuse(b, root);
    if (b->err.code)
        err_set(e, b->err.code, "%s", b->err.msg);
    else if (!(g = calloc(1, sizeof *g)))
        err_nomem(e);
    if (g) {
        g->m = b->m;
        b->m = (struct machine){0};
        g->root = root;
        if (b->v) {
            g->vocab = *b->v;
            g->v = &g->vocab;
        }
        rc = grammar_check(g, e) || state_init(g, e);
    }
    build_free(b);
    if (rc)
        grammar_free(g);
    else
        *out = g;
    return rc;
}
