/* SPDX-License-Identifier: MIT
 * mask.c - the tokens that may come after a state.
 *
 * They are those of its configurations together.  One configuration's are those
 * that stay in its terminal, which depends on the place alone (local.h), and of
 * those that leave it the ones that the state behind it takes.  So a new stack
 * under a place that is known costs a copy, and a walk along what leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/local.h"

enum { MAX_LOCAL = 48 << 20 }; /* bytes; more are made again */

static int make_trie(struct grammar_trie **out, const struct grammar_vocab *v,
                     struct err *e)
{
    struct grammar_text *t = malloc((size_t)v->n * sizeof *t + 1);
    size_t n = 0;
    int rc;

    *out = NULL;
    if (!t)
        return err_nomem(e);
    for (uint32_t i = 0; i < v->n; i++)
        if (v->len[i] && !v->control[i] && !v->end[i])
            t[n++] = (struct grammar_text){v->text[i], v->len[i], i};
    rc = grammar_trie_new(out, t, n, e);
    free(t);
    return rc;
}

int grammar_vocab_index(struct grammar_vocab *v, struct err *e)
{
    return make_trie(&v->index, v, e);
}

void grammar_vocab_free(struct grammar_vocab *v)
{
    grammar_trie_free(v->index);
    v->index = NULL;
}

static void forget_locals(struct grammar *g)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; g->local[k] && i < machine_places(&g->m); i++) {
            local_free(g->local[k][i]);
            g->local[k][i] = NULL;
        }
    g->local_memory = 0;
}

size_t grammar_memory(const struct grammar *g)
{
    return state_memory(g) + g->local_memory;
}

void mask_fini(struct grammar *g)
{
    forget_locals(g);
    free(g->local[0]);
    free(g->local[1]);
    for (int i = 0; i < MASK_SLOTS; i++)
        free(g->mask[i]);
    grammar_trie_free(g->own_trie);
    free(g->loop);
    free(g->at);
    free(g->ender);
    free(g->scratch);
}

static int mask_init(struct grammar *g, struct err *e)
{
    size_t places = machine_places(&g->m);
    uint32_t n = 0;

    if (!g->v)
        return err_set(e, ERR_USAGE, "a mask without a vocabulary");
    if (g->at)
        return 0;
    g->trie = g->v->index;
    if (!g->trie) {
        if (!g->own_trie && make_trie(&g->own_trie, g->v, e))
            return -1;
        g->trie = g->own_trie;
    }
    for (uint32_t i = 0; i < g->v->n; i++)
        n += g->v->end[i] != 0;
    free(g->ender);
    free(g->scratch);
    g->ender = malloc(n * sizeof *g->ender + 1);
    g->nender = 0;
    for (int k = 0; k < 2; k++)
        if (!g->local[k])
            g->local[k] = calloc(places + 1, sizeof *g->local[k]);
    if (!g->loop)
        g->loop = calloc(g->m.node.n, 1);
    if (!g->ender || !g->local[0] || !g->local[1] || !g->loop)
        return err_nomem(e);
    for (uint32_t i = 0; i < g->v->n; i++)
        if (g->v->end[i])
            g->ender[g->nender++] = i;
    g->scratch = malloc(((size_t)g->v->n + 63) / 64 * sizeof *g->scratch + 1);
    if (!g->scratch)
        return err_nomem(e);
    g->at = malloc(((size_t)g->trie->depth + 2) * sizeof *g->at);
    return g->at ? 0 : err_nomem(e);
}

static void set_bit(uint64_t *mask, uint32_t id)
{
    mask[id / 64] |= UINT64_C(1) << id % 64;
}

/* ---- a walk with states ---- */

static int full(const struct grammar *g, struct err *e)
{
    if (g->nomem)
        return err_nomem(e);
    return err_set(e, ERR_UNSUPPORTED,
                   "the grammar has too many states, or too deep ones");
}

static int walk(uint64_t *mask, struct grammar *g, const struct grammar_trie *t,
                uint32_t state, struct err *e)
{
    bool first[256];
    uint32_t depth = 0, s;

    if (state == GRAMMAR_FULL)
        return full(g, e);
    if (state == GRAMMAR_DEAD)
        return 0;
    grammar_next(g, state, first);
    g->at[0] = (struct mask_at){state, t->n};
    for (uint32_t i = 1; i < t->n;) {
        while (i >= g->at[depth].end)
            depth--;
        if (!depth && !first[t->byte[i]]) {
            i = t->skip[i];
            continue;
        }
        s = grammar_byte(g, g->at[depth].state, t->byte[i]);
        if (s == GRAMMAR_FULL)
            return full(g, e);
        if (s == GRAMMAR_DEAD) {
            i = t->skip[i];
            continue;
        }
        for (uint32_t k = t->at[i]; k < t->at[i + 1]; k++)
            set_bit(mask, t->id[k]);
        g->at[++depth] = (struct mask_at){s, t->skip[i]};
        i++;
    }
    return 0;
}

/* ---- one configuration ---- */

/* Does node N repeat a terminal none of whose texts begins another?  Then how
 * often it was there is known at each byte. */
static bool loops(struct grammar *g, uint32_t node)
{
    const uint32_t *w = intern_get(&g->m.node, node), *x;
    uint32_t n, first, more;

    if (g->loop[node])
        return g->loop[node] == 1;
    g->loop[node] = 2;
    if (w[0] != NODE_REPEAT)
        return false;
    x = intern_get(&g->m.node, g->target[w[1]]);
    if (x[0] != NODE_TERM)
        return false;
    /* Its places are numbered through, up to the last that an edge leads to. */
    for (first = more = x[1]; first <= more; first++) {
        const struct edge *e = machine_edges(&g->m, first, &n);

        if (g->m.ends.p[first] && (n || first == x[1]))
            return false;
        for (uint32_t i = 0; i < n; i++)
            if (e[i].to > more)
                more = e[i].to;
    }
    g->loop[node] = 1;
    return true;
}

static const struct local *local(struct grammar *g, uint32_t place,
                                 uint32_t again, struct err *e)
{
    struct local **l = &g->local[again != UNKNOWN][place];

    if (*l)
        return *l;
    if (g->local_memory > MAX_LOCAL)
        forget_locals(g);
    *l = local_new(g, place, again, e);
    if (*l)
        g->local_memory += (*l)->memory;
    return *l;
}

/* Tokens that need no more than LEFT: all bits without the others', or one by
 * one, whichever is less. */
static void stay(uint64_t *mask, const struct grammar *g, const struct local *l,
                 uint32_t left)
{
    size_t words = ((size_t)g->v->n + 63) / 64;
    uint32_t all = l->upto[l->need], n = left < l->need ? l->upto[left] : all;
    const uint64_t *bits = l->bits;

    if (!bits || n < all / 2) {
        for (uint32_t i = 0; i < n; i++)
            set_bit(mask, l->id[i]);
        return;
    }
    if (n < all) {
        memcpy(g->scratch, bits, words * sizeof *bits);
        for (uint32_t i = n; i < all; i++)
            g->scratch[l->id[i] / 64] &= ~(UINT64_C(1) << l->id[i] % 64);
        bits = g->scratch;
    }
    for (size_t i = 0; i < words; i++)
        mask[i] |= bits[i];
}

/* Can a text from BEHIND begin as one from place START does? */
static bool alike(struct grammar *g, uint32_t behind, uint32_t start)
{
    bool next[256];
    uint32_t n;
    const struct edge *e = machine_edges(&g->m, start, &n);

    grammar_next(g, behind, next);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t b = e[i].first; b <= e[i].last; b++)
            if (next[b])
                return true;
    return false;
}

static int repeated(uint64_t *mask, struct grammar *g, const uint32_t f[4],
                    uint32_t stack, uint32_t place, struct err *e)
{
    const uint32_t *w = intern_get(&g->m.node, f[1]);
    uint32_t again = intern_get(&g->m.node, g->target[w[1]])[1],
             left = w[3] == NODE_NOLIMIT ? NODE_NOLIMIT : w[3] - f[3], behind;
    const struct local *l = local(g, place, again, e);

    if (!l)
        return -1;
    behind = state_back(g, f[0]);
    if (behind == GRAMMAR_FULL)
        return full(g, e);
    /* Near the limit a token that stays too long might leave earlier. */
    if (left < l->need && alike(g, behind, again))
        return walk(mask, g, g->trie, state_of(g, stack, place), e);
    stay(mask, g, l, left);
    for (uint32_t i = 0; i < l->nway; i++)
        if (l->way[i].times <= left && f[3] + l->way[i].times >= w[2] &&
            walk(mask, g, l->way[i].rest, behind, e))
            return -1;
    return 0;
}

static int configuration(uint64_t *mask, struct grammar *g, uint32_t stack,
                         uint32_t place, struct err *e)
{
    const struct local *l;
    uint32_t f[4];

    memcpy(f, intern_get(&g->stack, stack), sizeof f);
    if (stack && loops(g, f[1]))
        return repeated(mask, g, f, stack, place, e);
    l = local(g, place, UNKNOWN, e);
    if (!l)
        return -1;
    stay(mask, g, l, 0);
    return l->nway ? walk(mask, g, l->way[0].rest, state_back(g, stack), e) : 0;
}

static void token(uint64_t *mask, const struct grammar *g, uint32_t node)
{
    const uint32_t *w = intern_get(&g->m.node, node);
    bool had = mask[w[1] / 64] >> w[1] % 64 & 1;

    if (!w[2]) {
        set_bit(mask, w[1]);
        return;
    }
    for (uint32_t i = 0; i < g->v->n; i++)
        if (!g->v->end[i] && i != w[1])
            set_bit(mask, i);
    if (had)
        set_bit(mask, w[1]);
}

static int make_mask(uint64_t *mask, struct grammar *g, uint32_t state,
                     struct err *e)
{
    uint32_t n = intern_len(&g->state, state) / 2;

    memset(mask, 0, ((size_t)g->v->n + 63) / 64 * sizeof *mask);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *w = intern_get(&g->state, state) + 2 * i;
        uint32_t stack = w[0], place = w[1];

        if (place >= TOKEN_PLACE)
            token(mask, g, place - TOKEN_PLACE);
        else if (configuration(mask, g, stack, place, e))
            return -1;
    }
    for (uint32_t i = 0; i < g->nender && grammar_ends(g, state); i++)
        set_bit(mask, g->ender[i]);
    return 0;
}

const uint64_t *grammar_mask(struct grammar *g, uint32_t state, struct err *e)
{
    uint32_t slot = state % MASK_SLOTS;
    uint64_t *mask;

    if (mask_init(g, e))
        return NULL;
    if (state == GRAMMAR_FULL) {
        full(g, e);
        return NULL;
    }
    mask = g->mask[slot];
    if (!mask) {
        mask = malloc(((size_t)g->v->n + 63) / 64 * sizeof *mask + 1);
        if (!mask) {
            err_nomem(e);
            return NULL;
        }
        g->mask[slot] = mask;
    } else if (g->mask_state[slot] == state) {
        return mask;
    }
    g->mask_state[slot] = UNKNOWN;
    if (make_mask(mask, g, state, e))
        return NULL;
    g->mask_state[slot] = state;
    return mask;
}
