/* SPDX-License-Identifier: MIT
 * nfa.c - from a nondeterministic automaton to the minimal deterministic one,
 * by its sets of nodes.
 *
 * A set holds only nodes that take a symbol, and those that count at the end of
 * the text; the first one has a mark besides, since the start of the text
 * counts only there.  Steps are counted: an exponential pattern ends in an
 * error. */
#include "grammar/nfa.h"

#include <stdlib.h>
#include <string.h>

static struct nfa_node *nodes(const struct nfa *m)
{
    return (struct nfa_node *)(void *)m->node.p;
}

static uint32_t count(const struct nfa *m)
{
    return (uint32_t)(m->node.n / sizeof(struct nfa_node));
}

static uint32_t add(struct nfa *m, struct nfa_node node)
{
    if (m->err.code)
        return 0;
    if (count(m) >= NFA_MAX) {
        dfa_too_large(&m->err);
        return 0;
    }
    buf_put(&m->node, &node, sizeof node);
    return buf_ok(&m->node, &m->err) ? 0 : count(m) - 1;
}

int nfa_init(struct nfa *m, bool bytes, struct err *e)
{
    *m = (struct nfa){.bytes = bytes};
    add(m, (struct nfa_node){NFA_END, 0, 0});
    return m->err.code ? err_nomem(e) : 0;
}

void nfa_fini(struct nfa *m)
{
    buf_free(&m->node);
    intern_free(&m->set);
}

uint32_t nfa_set(struct nfa *m, const uint32_t *set, size_t n, uint32_t next)
{
    uint32_t id = intern_put(&m->set, set, n * 2, NULL);

    if (id == INTERN_NONE) {
        err_nomem(&m->err);
        return 0;
    }
    return add(m, (struct nfa_node){NFA_SET, next, id});
}

uint32_t nfa_split(struct nfa *m, uint32_t a, uint32_t b)
{
    return add(m, (struct nfa_node){NFA_SPLIT, a, b});
}

uint32_t nfa_loop(struct nfa *m, uint32_t next)
{
    return nfa_split(m, next, next);
}

void nfa_join(struct nfa *m, uint32_t loop, uint32_t body)
{
    if (!m->err.code)
        nodes(m)[loop].other = body;
}

/* A split in a circle. */
uint32_t nfa_never(struct nfa *m)
{
    uint32_t never = nfa_loop(m, 0);

    if (!m->err.code)
        nodes(m)[never].to = nodes(m)[never].other = never;
    return never;
}

uint32_t nfa_anchor(struct nfa *m, enum nfa_kind kind, uint32_t next)
{
    return add(m, (struct nfa_node){(uint8_t)kind, next, 0});
}

/* The symbols that take state S of D to state TO, as a set. */
static void symbols_to(struct buf *set, const struct dfa *d, uint32_t s,
                       uint32_t to)
{
    uint32_t open = UINT32_MAX;

    set->n = 0;
    for (uint32_t r = 0; r <= d->nrange; r++) {
        bool in =
            r < d->nrange && d->next[(size_t)s * d->nclass + d->class[r]] == to;
        uint32_t at = r < d->nrange ? d->first[r]
                      : d->bytes    ? 256
                                    : DFA_SYMBOLS;

        if (in && open == UINT32_MAX)
            open = at;
        if (!in && open != UINT32_MAX) {
            buf_put(set, (uint32_t[]){open, at}, 8);
            open = UINT32_MAX;
        }
    }
}

/* Each state is first a loop whose first way out is NEXT, or none, and whose
 * other is the chain of its symbols. */
uint32_t nfa_dfa_before(struct nfa *m, const struct dfa *d, uint32_t next)
{
    uint32_t base, dead = dfa_dead(d), never;
    struct buf set = {0};

    never = nfa_never(m);
    base = count(m);
    for (uint32_t s = 0; s < d->n; s++)
        nfa_loop(m, d->ends[s] ? next : never);
    for (uint32_t s = 0; s < d->n && !m->err.code; s++) {
        uint32_t chain = never;

        for (uint32_t c = 0; c < d->nclass; c++) {
            uint32_t to = d->next[(size_t)s * d->nclass + c], k = 0;

            while (k < c && d->next[(size_t)s * d->nclass + k] != to)
                k++;
            if (k < c || to == dead)
                continue;
            symbols_to(&set, d, s, to);
            if (buf_ok(&set, &m->err))
                break;
            chain = nfa_split(m, chain,
                              nfa_set(m, (const uint32_t *)(void *)set.p,
                                      set.n / 8, base + to));
        }
        nfa_join(m, base + s, chain);
    }
    buf_free(&set);
    return base;
}

/* ---- sets ---- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void nfa_range(struct buf *set, uint32_t first, uint32_t last)
{
    buf_put(set, (uint32_t[]){dfa_symbol(first), dfa_symbol(last) + 1}, 8);
}

/* Sorted, without overlaps; or all the others. */
void nfa_normalize(struct buf *set, bool negated)
{
    uint32_t *w = (uint32_t *)(void *)set->p, at = 0;
    size_t n = set->n / 8, k = 0;
    struct buf other = {0};

    if (set->bad)
        return;
    if (n)
        qsort(w, n, 8, by_value);
    for (size_t i = 0; i < n; i++) {
        if (k && w[2 * i] <= w[2 * k - 1]) {
            if (w[2 * i + 1] > w[2 * k - 1])
                w[2 * k - 1] = w[2 * i + 1];
            continue;
        }
        w[2 * k] = w[2 * i];
        w[2 * k++ + 1] = w[2 * i + 1];
    }
    set->n = k * 8;
    if (!negated)
        return;
    for (size_t i = 0; i <= k; i++) {
        uint32_t first = i < k ? w[2 * i] : DFA_SYMBOLS;

        if (first > at)
            buf_put(&other, (uint32_t[]){at, first}, 8);
        at = i < k ? w[2 * i + 1] : 0;
    }
    buf_free(set);
    *set = other;
}

/* ---- classes ---- */

struct det {
    struct nfa *m;
    uint32_t *bound, nbound, *class, nclass;
    uint64_t *in; /* [sets][words]: the classes of each set */
    size_t words;
    uint32_t *mark, now; /* [nodes]: seen in walk NOW */
    uint32_t *stack, *set, nset;
    struct intern state;
    struct buf next, ends;
    uint64_t steps, max_steps;
};

static int bounds(struct det *d, struct err *e)
{
    struct intern *sets = &d->m->set;
    size_t n = sets->nword + 1, k = 0;

    d->bound = malloc((n + 1) * sizeof *d->bound);
    d->class = calloc(n, sizeof *d->class);
    if (!d->bound || !d->class)
        return err_nomem(e);
    d->bound[0] = 0;
    if (n > 1)
        memcpy(d->bound + 1, sets->word, (n - 1) * sizeof *d->bound);
    qsort(d->bound, n, sizeof *d->bound, by_value);
    for (size_t i = 0; i < n; i++)
        if (!k || d->bound[i] != d->bound[k - 1])
            d->bound[k++] = d->bound[i];
    if (d->bound[k - 1] >= (d->m->bytes ? 256 : DFA_SYMBOLS))
        k--;
    d->nbound = (uint32_t)k;
    d->nclass = 1;
    return 0;
}

static uint32_t bound_at(const struct det *d, uint32_t symbol)
{
    uint32_t lo = 0, hi = d->nbound;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (d->bound[mid] < symbol)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Ranges that a set treats unlike others of their class leave it. */
static int refine(struct det *d, uint32_t set, struct err *e)
{
    const uint32_t *w = intern_get(&d->m->set, set);
    struct intern moved = {0};
    uint32_t base = d->nclass, *had = calloc(base, 2 * sizeof *had),
             *left = had ? had + base : NULL;

    if (!had)
        return err_nomem(e);
    for (uint32_t i = 0; i < d->nbound; i++)
        had[d->class[i]]++;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t p = 0; p < intern_len(&d->m->set, set); p += 2)
            for (uint32_t i = bound_at(d, w[p]);
                 i < d->nbound && d->bound[i] < w[p + 1]; i++) {
                uint32_t c = d->class[i], id;

                d->steps++;
                if (!pass) {
                    left[c]++;
                    continue;
                }
                if (left[c] == had[c])
                    continue; /* all of it is in the set */
                id = intern_put(&moved, &c, 1, NULL);
                if (id == INTERN_NONE) {
                    free(had);
                    return err_nomem(e);
                }
                d->class[i] = base + id;
            }
    d->nclass += moved.n;
    intern_free(&moved);
    free(had);
    return d->steps > d->max_steps ? dfa_too_large(e) : 0;
}

static int classes(struct det *d, struct err *e)
{
    struct intern *sets = &d->m->set;

    if (bounds(d, e))
        return -1;
    for (uint32_t s = 0; s < sets->n; s++) {
        d->steps += d->nbound;
        if (refine(d, s, e))
            return -1;
    }
    d->words = (d->nclass + 63) / 64;
    if (d->words * sets->n > DFA_MAX_CELLS)
        return dfa_too_large(e);
    d->in = calloc(sets->n * d->words + 1, sizeof *d->in);
    if (!d->in)
        return err_nomem(e);
    for (uint32_t s = 0; s < sets->n; s++)
        for (uint32_t p = 0; p < intern_len(sets, s); p += 2) {
            const uint32_t *w = intern_get(sets, s);

            for (uint32_t i = bound_at(d, w[p]);
                 i < d->nbound && d->bound[i] < w[p + 1]; i++)
                d->in[s * d->words + d->class[i] / 64] |= UINT64_C(1)
                                                          << d->class[i] % 64;
        }
    return 0;
}

/* ---- sets of nodes ---- */

/* Add to the set what can be reached from FROM without a symbol. */
static void closure(struct det *d, uint32_t from, bool begin, bool last)
{
    const struct nfa_node *node = nodes(d->m);
    uint32_t n = 0;

    d->stack[n++] = from;
    while (n) {
        uint32_t i = d->stack[--n];

        if (d->mark[i] == d->now)
            continue;
        d->mark[i] = d->now;
        d->steps++;
        if (node[i].kind == NFA_SPLIT) {
            d->stack[n++] = node[i].to;
            d->stack[n++] = node[i].other;
        } else if ((node[i].kind == NFA_BEGIN && begin) ||
                   (node[i].kind == NFA_LAST && last)) {
            d->stack[n++] = node[i].to;
        } else if (node[i].kind != NFA_BEGIN) {
            d->set[d->nset++] = i;
        }
    }
}

enum { AT_START = UINT32_MAX }; /* the mark */

static uint32_t put_set(struct det *d)
{
    qsort(d->set, d->nset, sizeof *d->set, by_value);
    return intern_put(&d->state, d->set, d->nset, NULL);
}

/* May the text end in the set of state S? */
static bool ends(struct det *d, uint32_t s)
{
    const struct nfa_node *node = nodes(d->m);
    const uint32_t *w = intern_get(&d->state, s);
    uint32_t n = intern_len(&d->state, s);

    d->now++;
    d->nset = 0;
    for (uint32_t i = 0; i < n; i++)
        if (w[i] != AT_START)
            closure(d, w[i], s == 0, true);
    for (uint32_t i = 0; i < d->nset; i++)
        if (node[d->set[i]].kind == NFA_END)
            return true;
    return false;
}

static int step(struct det *d, uint32_t s, uint32_t c, struct err *e)
{
    const struct nfa_node *node = nodes(d->m);
    const uint32_t *w = intern_get(&d->state, s);
    uint32_t n = intern_len(&d->state, s), to;

    d->now++;
    d->nset = 0;
    d->steps += n;
    for (uint32_t i = 0; i < n; i++)
        if (w[i] != AT_START && node[w[i]].kind == NFA_SET &&
            d->in[node[w[i]].other * d->words + c / 64] >> c % 64 & 1)
            closure(d, node[w[i]].to, false, false);
    to = put_set(d);
    if (to == INTERN_NONE)
        return err_nomem(e);
    buf_put(&d->next, &to, sizeof to);
    return d->steps > d->max_steps ? dfa_too_large(e) : 0;
}

static int determinize(struct det *d, uint32_t start, struct err *e)
{
    size_t n = count(d->m);

    d->mark = calloc(n, sizeof *d->mark);
    d->stack = malloc(2 * n * sizeof *d->stack + 8);
    d->set = malloc((n + 1) * sizeof *d->set);
    if (!d->mark || !d->stack || !d->set)
        return err_nomem(e);
    d->now = 1;
    closure(d, start, true, false);
    d->set[d->nset++] = AT_START;
    if (put_set(d) == INTERN_NONE)
        return err_nomem(e);
    for (uint32_t s = 0; s < d->state.n; s++) {
        if (s >= DFA_MAX_STATES || (size_t)s * d->nclass > DFA_MAX_CELLS ||
            d->state.nword > DFA_MAX_CELLS)
            return dfa_too_large(e);
        for (uint32_t c = 0; c < d->nclass; c++)
            if (step(d, s, c, e))
                return -1;
        buf_putc(&d->ends, ends(d, s));
    }
    return buf_ok(&d->next, e) || buf_ok(&d->ends, e) ? -1 : 0;
}

static void det_fini(struct det *d)
{
    free(d->bound);
    free(d->class);
    free(d->in);
    free(d->mark);
    free(d->stack);
    free(d->set);
    intern_free(&d->state);
    buf_free(&d->next);
    buf_free(&d->ends);
}

int nfa_dfa(struct dfa **out, struct nfa *m, uint32_t start, struct err *e)
{
    struct det d = {.m = m,
                    .max_steps = m->max_steps ? m->max_steps : DFA_MAX_STEPS};
    struct dfa *a = NULL;
    int rc = 0;

    *out = NULL;
    if (m->err.code)
        return err_set(e, m->err.code, "%s", m->err.msg);
    if (classes(&d, e) || determinize(&d, start, e) ||
        !(a = dfa_new(d.state.n, d.nclass, d.nbound, m->bytes, e)))
        rc = -1;
    if (!rc) {
        memcpy(a->next, d.next.p, d.next.n);
        memcpy(a->ends, d.ends.p, d.ends.n);
        memcpy(a->first, d.bound, d.nbound * sizeof *a->first);
        memcpy(a->class, d.class, d.nbound * sizeof *a->class);
        rc = dfa_minimize(a, e);
    }
    m->steps += d.steps;
    det_fini(&d);
    if (rc)
        dfa_free(a);
    else
        *out = a;
    return rc;
}

bool nfa_has(struct nfa *m, uint32_t from, enum nfa_kind kind)
{
    const struct nfa_node *node = nodes(m);
    size_t n = 0;
    uint32_t *stack;
    uint8_t *seen;
    bool has = false;

    if (m->err.code)
        return false;
    stack = malloc(2 * (size_t)count(m) * sizeof *stack + 8);
    seen = calloc(count(m), 1);
    if (!stack || !seen) {
        err_nomem(&m->err);
    } else {
        stack[n++] = from;
        while (n && !has) {
            uint32_t i = stack[--n];

            if (seen[i])
                continue;
            seen[i] = 1;
            has = node[i].kind == kind;
            if (node[i].kind != NFA_END)
                stack[n++] = node[i].to;
            if (node[i].kind == NFA_SPLIT)
                stack[n++] = node[i].other;
        }
    }
    free(stack);
    free(seen);
    return has;
}
