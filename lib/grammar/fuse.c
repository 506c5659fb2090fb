/* SPDX-License-Identifier: MIT
 * fuse.c - parts of a grammar that are regular, and small, become terminals.
 *
 * A class of characters is a terminal, and all tokens leave it at once; "any
 * characters and a quote" as one terminal is what most tokens stay in, and
 * that is known of its places once (local.h).  What is used in many places and
 * is not tiny stays by itself, so that it is known once for all of them, and so
 * do counters.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/build_impl.h"
#include "grammar/nfa.h"

enum {
    LARGE = 400,      /* more than this is left alone */
    TINY = 8,         /* less is copied into each place */
    CLASS = 16,       /* a class of characters, too */
    MAX_COPIES = 32,  /* of what is repeated a number of times */
    WIDE = 48,        /* bytes: a class of more is counted, not copied */
    MAX_STATES = 400, /* of a terminal made here */
    STEPS = 200000,   /* for one, and for all: */
    ALL_STEPS = 6000000,
    MADE = 1000, /* steps that each takes besides, and each node: */
    MADE_NODE = 20,
    NEVER = UINT32_MAX, /* a cost */
};

struct fuse {
    struct build *b;
    uint32_t n;
    uint32_t *cost, *refs, *made; /* by node; MADE: 0 is not yet */
    uint32_t *path;               /* pairs: node and how many children done */
    struct buf rule;              /* uint32_t: whose bodies are still to do */
    struct buf words;
    uint64_t steps;
};

static const uint32_t *words(const struct fuse *f, uint32_t node, uint32_t *n)
{
    *n = intern_len(&f->b->m.node, node);
    return intern_get(&f->b->m.node, node);
}

/* The K-th child of those that may be fused, or none: UNKNOWN. */
static uint32_t child(const struct fuse *f, uint32_t node, uint32_t k)
{
    uint32_t n;
    const uint32_t *w = words(f, node, &n);

    switch (w[0]) {
    case NODE_SEQ:
    case NODE_ALT:
        return k + 1 < n ? w[k + 1] : UNKNOWN;
    case NODE_REPEAT:
        return k ? UNKNOWN : w[1];
    case NODE_MEMBERS:
        return 4 + 2 * k < n       ? w[4 + 2 * k]
               : 4 + 2 * k < n + 2 ? w[1]
                                   : UNKNOWN;
    case NODE_RULE:
        return k ? UNKNOWN : machine_rule(&f->b->m, w[1])->body;
    default:
        return UNKNOWN;
    }
}

/* ---- costs ---- */

/* Places of the terminal that begins at P. */
static uint32_t places(const struct fuse *f, uint32_t p)
{
    uint32_t last = p, n;

    for (uint32_t i = p; i <= last && last - p <= LARGE; i++) {
        const struct edge *e = machine_edges(&f->b->m, i, &n);

        for (uint32_t k = 0; k < n; k++)
            if (e[k].to > last)
                last = e[k].to;
    }
    return last - p + 1;
}

static bool wide(const struct fuse *f, uint32_t node)
{
    uint32_t n, sum = 0;
    const uint32_t *w = words(f, node, &n);
    const struct edge *e;

    if (w[0] != NODE_TERM)
        return true;
    e = machine_edges(&f->b->m, w[1], &n);
    for (uint32_t i = 0; i < n; i++)
        sum += e[i].last - e[i].first + 1u;
    return sum > WIDE;
}

/* What a child adds to its parent. */
static uint32_t share(const struct fuse *f, uint32_t node)
{
    uint32_t c = f->cost[node], n;
    bool class = words(f, node, &n)[0] == NODE_TERM && c <= CLASS;

    return c > LARGE || (f->refs[node] > 1 && c > TINY && !class) ? NEVER : c;
}

static uint32_t cost_of(const struct fuse *f, uint32_t node)
{
    uint32_t n, sum = 1, c;
    const uint32_t *w = words(f, node, &n);

    switch (w[0]) {
    case NODE_EMPTY:
        return 1;
    case NODE_TERM:
        return places(f, w[1]);
    case NODE_SEQ:
    case NODE_ALT:
        for (uint32_t i = 1; i < n && sum <= LARGE; i++) {
            c = share(f, w[i]);
            sum = c == NEVER ? NEVER : sum + c;
        }
        return sum;
    case NODE_RULE:
        c = share(f, child(f, node, 0));
        return c == NEVER ? NEVER : c;
    case NODE_REPEAT:
        c = share(f, w[1]);
        n = w[3] == NODE_NOLIMIT ? w[2] + 1 : w[3];
        if (c == NEVER || n > MAX_COPIES || (n > 4 && wide(f, w[1])))
            return NEVER;
        return c * n + 1;
    default:
        return NEVER;
    }
}

/* Children before their parents; what comes back to itself costs NEVER, as it
 * is set at first. */
static void costs(struct fuse *f, uint32_t root)
{
    uint8_t *seen = (uint8_t *)f->made; /* not in use yet */
    uint32_t n = 1;

    f->path[0] = root;
    f->path[1] = 0;
    seen[root] = 1;
    f->refs[root] = 1;
    while (n) {
        uint32_t *top = f->path + 2 * (n - 1), c = child(f, top[0], top[1]++);

        if (c == UNKNOWN) {
            f->cost[top[0]] = cost_of(f, top[0]);
            n--;
            continue;
        }
        f->refs[c]++;
        if (seen[c])
            continue;
        seen[c] = 1;
        f->path[2 * n] = c;
        f->path[2 * n++ + 1] = 0;
    }
}

/* ---- one terminal of many ---- */

static uint32_t emit(struct fuse *f, struct nfa *m, uint32_t node,
                     uint32_t next);

static uint32_t emit_term(struct fuse *f, struct nfa *m, uint32_t p,
                          uint32_t next)
{
    uint32_t n = places(f, p), k, first = 0, never, base = 0;

    never = nfa_never(m);
    for (uint32_t i = 0; i < n; i++) {
        first = nfa_loop(m, f->b->m.ends.p[p + i] ? next : never);
        if (!i)
            base = first;
    }
    for (uint32_t i = 0; i < n && !m->err.code; i++) {
        const struct edge *e = machine_edges(&f->b->m, p + i, &k);
        uint32_t chain = never;

        for (uint32_t x = 0; x < k; x++)
            chain =
                nfa_split(m, chain,
                          nfa_set(m, (uint32_t[]){e[x].first, e[x].last + 1u},
                                  1, base + (e[x].to - p)));
        nfa_join(m, base + i, chain);
    }
    return base;
}

static uint32_t emit_repeat(struct fuse *f, struct nfa *m, const uint32_t *w,
                            uint32_t next)
{
    uint32_t to = next, loop;

    if (w[3] == NODE_NOLIMIT) {
        to = loop = nfa_loop(m, next);
        nfa_join(m, loop, emit(f, m, w[1], loop));
    } else {
        for (uint32_t i = w[2]; i < w[3]; i++)
            to = nfa_split(m, emit(f, m, w[1], to), next);
    }
    for (uint32_t i = 0; i < w[2]; i++)
        to = emit(f, m, w[1], to);
    return to;
}

/* Costs bound the depth, too: each step down costs something. */
static uint32_t emit(struct fuse *f, struct nfa *m, uint32_t node,
                     uint32_t next)
{
    uint32_t n, at;
    const uint32_t *w = words(f, node, &n);

    while (w[0] == NODE_RULE) {
        node = child(f, node, 0);
        w = words(f, node, &n);
    }
    switch (w[0]) {
    case NODE_TERM:
        return emit_term(f, m, w[1], next);
    case NODE_SEQ:
        while (--n)
            next = emit(f, m, w[n], next);
        return next;
    case NODE_ALT:
        at = emit(f, m, w[1], next);
        for (uint32_t i = 2; i < n; i++)
            at = nfa_split(m, at, emit(f, m, w[i], next));
        return at;
    case NODE_REPEAT:
        return emit_repeat(f, m, w, next);
    default:
        return next;
    }
}

/* The terminal of a node; 0 where it does not become a small one. */
static uint32_t terminal(struct fuse *f, uint32_t node)
{
    struct err e = {0};
    struct dfa *d = NULL;
    struct nfa m;
    uint32_t made = 0, start;

    if (f->steps > ALL_STEPS || nfa_init(&m, true, &e))
        return 0;
    m.max_steps = STEPS;
    start = emit(f, &m, node, 0);
    if (!nfa_dfa(&d, &m, start, &e) && d->n <= MAX_STATES)
        made = build_dfa(f->b, d);
    f->steps += m.steps + MADE + m.node.n / sizeof(struct nfa_node) * MADE_NODE;
    dfa_free(d);
    nfa_fini(&m);
    return made;
}

/* ---- all of them ---- */

/* NODE with what its children became. */
static uint32_t again(struct fuse *f, uint32_t node)
{
    uint32_t n, *to;
    const uint32_t *w = words(f, node, &n);

    f->words.n = 0;
    buf_put(&f->words, w, (size_t)n * 4);
    if (f->words.bad)
        return build_fail(f->b, ERR_NOMEM, "out of memory");
    to = (uint32_t *)(void *)f->words.p;
    if (to[0] == NODE_SEQ || to[0] == NODE_ALT)
        for (uint32_t i = 1; i < n; i++)
            to[i] = f->made[to[i]];
    if (to[0] == NODE_REPEAT || to[0] == NODE_MEMBERS)
        to[1] = f->made[to[1]];
    for (uint32_t i = 4; to[0] == NODE_MEMBERS && i < n; i += 2)
        to[i] = f->made[to[i]];
    return build_words(f->b, to, n);
}

/* What can be known without its children. */
static void begin(struct fuse *f, uint32_t node)
{
    uint32_t n, kind = words(f, node, &n)[0];

    if (kind == NODE_RULE) {
        f->made[node] = node;
        buf_put(&f->rule, &node, 4);
        buf_ok(&f->rule, &f->b->err);
    } else if (f->cost[node] <= LARGE && kind >= NODE_SEQ) {
        f->made[node] = terminal(f, node);
    }
}

/* All from ROOT down to rules. */
static void rebuild(struct fuse *f, uint32_t root)
{
    uint32_t n = 0;

    f->path[0] = root;
    f->path[1] = 0;
    if (!f->made[root]) {
        begin(f, root);
        n = !f->made[root];
    }
    while (n && !f->b->err.code) {
        uint32_t *top = f->path + 2 * (n - 1), c = child(f, top[0], top[1]++);

        if (c == UNKNOWN) {
            f->made[top[0]] = again(f, top[0]);
            n--;
        } else if (!f->made[c]) {
            begin(f, c);
            f->path[2 * n] = c;
            f->path[2 * n + 1] = 0;
            n += !f->made[c];
        }
    }
}

uint32_t build_fuse(struct build *b, uint32_t root)
{
    struct fuse f = {.b = b, .n = b->m.node.n};
    uint32_t *all, made = 0;

    if (b->err.code)
        return 0;
    all = calloc(f.n, 5 * sizeof *all);
    if (!all)
        return build_fail(b, ERR_NOMEM, "out of memory");
    f.cost = all;
    f.refs = all + f.n;
    f.made = all + (size_t)f.n * 2;
    f.path = all + (size_t)f.n * 3;
    memset(f.cost, 0xff, f.n * sizeof *f.cost);
    costs(&f, root);
    memset(f.made, 0, f.n * sizeof *f.made);
    rebuild(&f, root);
    for (size_t i = 0; i < f.rule.n && !b->err.code; i += 4) {
        uint32_t node, body;

        memcpy(&node, f.rule.p + i, 4);
        body = child(&f, node, 0);
        rebuild(&f, body);
        machine_rule(&b->m, intern_get(&b->m.node, node)[1])->body =
            f.made[body];
    }
    if (!b->err.code)
        made = f.made[root];
    free(all);
    buf_free(&f.words);
    buf_free(&f.rule);
    return made;
}
