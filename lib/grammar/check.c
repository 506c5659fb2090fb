/* SPDX-License-Identifier: MIT
 * check.c - what is known of a grammar before the first byte: which nodes may
 * be empty, which match anything at all, what rules stand for, and that none
 * begins with itself.
 *
 * All by lists of what is still to be done: no depth is too great.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar_impl.h"

static const uint32_t *words(const struct grammar *g, uint32_t node,
                             uint32_t *n)
{
    *n = intern_len(&g->m.node, node);
    return intern_get(&g->m.node, node);
}

/* The K-th child of a node, or UNKNOWN after the last. */
static uint32_t child(const struct grammar *g, uint32_t node, uint32_t k)
{
    uint32_t n;
    const uint32_t *w = words(g, node, &n);
    const struct rule *r;

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
        r = machine_rule(&g->m, w[1]);
        return k ? UNKNOWN : r->body;
    default:
        return UNKNOWN;
    }
}

/* ---- rules ---- */

static int rules(struct grammar *g, struct err *e)
{
    uint32_t n = g->m.node.n;

    g->target = malloc(n * sizeof *g->target);
    if (!g->target)
        return err_nomem(e);
    for (uint32_t i = 0; i < machine_rules(&g->m); i++) {
        const struct rule *r = machine_rule(&g->m, i);

        if (!r->defined)
            return err_set(e, ERR_FORMAT, "rule '%.*s' is not defined",
                           r->n < 200 ? (int)r->n : 200,
                           g->m.names.p + r->name);
    }
    for (uint32_t i = 0; i < n; i++)
        g->target[i] = UNKNOWN;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i, end, next, steps = 0, k;

        /* To the end of the chain, and then the same for all of it. */
        while (g->target[at] == UNKNOWN && words(g, at, &k)[0] == NODE_RULE &&
               steps++ <= n)
            at = child(g, at, 0);
        if (steps > n)
            at = 0; /* a circle, which is found below */
        end = g->target[at] == UNKNOWN ? at : g->target[at];
        for (at = i; steps && g->target[at] == UNKNOWN &&
                     words(g, at, &k)[0] == NODE_RULE;
             at = next) {
            next = child(g, at, 0);
            g->target[at] = end;
        }
        g->target[i] = end;
    }
    return 0;
}

/* ---- what holds of a node when it holds of enough children ---- */

struct spread {
    const struct grammar *g;
    uint32_t *at, *parent; /* who has a node as a child */
    uint32_t *need;        /* by node: children still wanted */
    uint32_t *todo, n;
    uint8_t *holds;
};

static int parents(struct spread *s, struct err *e)
{
    const struct grammar *g = s->g;
    uint32_t n = g->m.node.n, c;
    size_t all = 0;

    s->at = calloc((size_t)n + 2, sizeof *s->at);
    s->need = calloc(n, sizeof *s->need);
    s->todo = malloc(n * sizeof *s->todo);
    if (!s->at || !s->need || !s->todo)
        return err_nomem(e);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; (c = child(g, i, k)) != UNKNOWN; k++, all++)
            s->at[c + 1]++;
    s->parent = malloc((all + 1) * sizeof *s->parent);
    if (!s->parent)
        return err_nomem(e);
    for (uint32_t i = 0; i < n; i++)
        s->at[i + 1] += s->at[i];
    /* From the back: each start moves down to where it belongs. */
    for (uint32_t i = n; i-- > 0;)
        for (uint32_t k = 0; (c = child(g, i, k)) != UNKNOWN; k++)
            s->parent[--s->at[c + 1]] = i;
    for (uint32_t i = 0; i < n; i++)
        s->at[i] = s->at[i + 1];
    s->at[n] = (uint32_t)all;
    return 0;
}

static void now_holds(struct spread *s, uint32_t node)
{
    if (s->holds[node])
        return;
    s->holds[node] = 1;
    s->todo[s->n++] = node;
}

/* Does the child CHILD count for PARENT? */
static bool counts(const struct grammar *g, uint32_t parent, uint32_t node)
{
    uint32_t n;
    const uint32_t *w = words(g, parent, &n);

    if (w[0] != NODE_MEMBERS)
        return true;
    for (uint32_t i = 4; i < n; i += 2)
        if (w[i] == node && w[i + 1] & MEMBER_REQUIRED)
            return true;
    return false;
}

static void spread(struct spread *s)
{
    while (s->n) {
        uint32_t node = s->todo[--s->n];

        for (uint32_t i = s->at[node]; i < s->at[node + 1]; i++) {
            uint32_t p = s->parent[i];

            if (s->need[p] && counts(s->g, p, node) && !--s->need[p])
                now_holds(s, p);
        }
    }
}

static void spread_free(struct spread *s)
{
    free(s->at);
    free(s->parent);
    free(s->need);
    free(s->todo);
}

static uint32_t required(const uint32_t *w, uint32_t n)
{
    uint32_t k = 0;

    for (uint32_t i = 4; i < n; i += 2)
        k += w[i + 1] & MEMBER_REQUIRED;
    return k;
}

static int nullable(struct grammar *g, struct spread *s, struct err *e)
{
    g->nullable = calloc(g->m.node.n, 1);
    if (!g->nullable)
        return err_nomem(e);
    s->holds = g->nullable;
    for (uint32_t i = 0; i < g->m.node.n; i++) {
        uint32_t n;
        const uint32_t *w = words(g, i, &n);

        s->need[i] = w[0] == NODE_SEQ ? n - 1 : w[0] != NODE_MEMBERS;
        if (w[0] == NODE_EMPTY || (w[0] == NODE_REPEAT && !w[2]) ||
            (w[0] == NODE_MEMBERS && !w[2] && !required(w, n)) ||
            (w[0] == NODE_TERM && g->m.ends.p[w[1]]))
            now_holds(s, i);
    }
    spread(s);
    return 0;
}

/* Required members count, as often as they are there; the separator does not:
 * where it matches nothing there is one member at most, which state.c sees. */
static int productive(struct grammar *g, struct spread *s, struct err *e)
{
    g->productive = calloc(g->m.node.n, 1);
    if (!g->productive)
        return err_nomem(e);
    s->holds = g->productive;
    for (uint32_t i = 0; i < g->m.node.n; i++) {
        uint32_t n, many;
        const uint32_t *w = words(g, i, &n);

        many = w[0] == NODE_MEMBERS ? required(w, n) : 0;
        s->need[i] = w[0] == NODE_SEQ       ? n - 1
                     : w[0] == NODE_MEMBERS ? many
                                            : w[0] != NODE_NEVER;
        if (w[0] == NODE_EMPTY || w[0] == NODE_TERM || w[0] == NODE_TOKEN ||
            (w[0] == NODE_REPEAT && !w[2]) || (w[0] == NODE_MEMBERS && !many))
            now_holds(s, i);
    }
    spread(s);
    return 0;
}

/* ---- members: as many as there must be? ---- */

static int members(struct grammar *g, struct err *e)
{
    for (uint32_t i = 0; i < g->m.node.n; i++) {
        uint32_t n, can = 0, must = 0;
        const uint32_t *w = words(g, i, &n);
        bool again = false;

        if (w[0] != NODE_MEMBERS)
            continue;
        for (uint32_t k = 4; k < n; k += 2) {
            if (g->nullable[w[k]])
                return err_set(e, ERR_UNSUPPORTED,
                               "a member that may be empty");
            can += g->productive[w[k]];
            must += w[k + 1] & MEMBER_REQUIRED;
            again |= g->productive[w[k]] && w[k + 1] & MEMBER_AGAIN;
        }
        if (must > w[3] || w[2] > w[3] || (!again && can < w[2]) ||
            ((must > 1 || w[2] > 1) && !g->productive[w[1]]))
            return err_set(e, ERR_UNSUPPORTED,
                           "members of which there cannot be as many as there "
                           "must be");
    }
    return 0;
}

/* ---- left recursion ---- */

/* The K-th child that a node may begin with, or UNKNOWN. */
static uint32_t begins(const struct grammar *g, uint32_t node, uint32_t k)
{
    uint32_t n, c = child(g, node, k);
    const uint32_t *w = words(g, node, &n);

    if (c == UNKNOWN || (w[0] == NODE_SEQ && k && !g->nullable[w[k]]) ||
        (w[0] == NODE_MEMBERS && 4 + 2 * k >= n))
        return UNKNOWN;
    return c;
}

static int left_recursion(const struct grammar *g, const uint32_t *path,
                          uint32_t n, uint32_t again, struct err *e)
{
    const struct rule *r = NULL;
    uint32_t k;

    while (n-- > 0) {
        const uint32_t *w = words(g, path[2 * n], &k);

        if (w[0] == NODE_RULE)
            r = machine_rule(&g->m, w[1]);
        if (path[2 * n] == again)
            break;
    }
    return err_set(e, ERR_UNSUPPORTED, "rule '%.*s' is left-recursive",
                   !r           ? 1
                   : r->n < 200 ? (int)r->n
                                : 200,
                   r ? (const char *)g->m.names.p + r->name : "?");
}

static int recursion(const struct grammar *g, struct err *e)
{
    uint32_t nodes = g->m.node.n, n, c;
    uint8_t *seen = calloc(nodes, 1); /* 1: under way, 2: done */
    uint32_t *path = malloc((size_t)nodes * 2 * sizeof *path);
    int rc = seen && path ? 0 : err_nomem(e);

    for (uint32_t i = 0; !rc && i < nodes; i++) {
        if (seen[i])
            continue;
        path[0] = i;
        path[1] = 0;
        seen[i] = 1;
        for (n = 1; n && !rc;) {
            uint32_t *top = path + 2 * (n - 1);

            c = begins(g, top[0], top[1]++);
            if (c == UNKNOWN) {
                seen[top[0]] = 2;
                n--;
            } else if (seen[c] == 1) {
                rc = left_recursion(g, path, n, c, e);
            } else if (!seen[c]) {
                seen[c] = 1;
                path[2 * n] = c;
                path[2 * n++ + 1] = 0;
            }
        }
    }
    free(seen);
    free(path);
    return rc;
}

/* ---- bytes ---- */

static void byte_classes(struct grammar *g)
{
    const struct edge *edge = (const struct edge *)(const void *)g->m.edge.p;
    bool cut[257] = {true};

    for (size_t i = 0; i < g->m.edge.n / sizeof *edge; i++) {
        cut[edge[i].first] = true;
        cut[edge[i].last + 1] = true;
    }
    for (int b = 0; b < 256; b++) {
        if (cut[b])
            g->byte[g->nclass++] = (uint8_t)b;
        g->class[b] = (uint8_t)(g->nclass - 1);
    }
}

int grammar_check(struct grammar *g, struct err *e)
{
    struct spread s = {.g = g};
    int rc = rules(g, e) || parents(&s, e) || nullable(g, &s, e) ||
             productive(g, &s, e) || members(g, e) || recursion(g, e);

    spread_free(&s);
    if (rc)
        return -1;
    if (!g->productive[g->root])
        return err_set(e, ERR_FORMAT, "the grammar matches nothing");
    byte_classes(g);
    return 0;
}
