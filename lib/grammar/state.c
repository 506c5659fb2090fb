/* SPDX-License-Identifier: MIT
 * state.c - from a state and a byte to the next state, found once.
 *
 * What is to be done is a list of two things: to enter a node on a stack, and
 * to go back to the frame on top of a stack whose part has been matched.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar_impl.h"

enum { RETURN = UINT32_MAX }; /* in place of a node to enter */

static const uint32_t *node_words(const struct grammar *g, uint32_t node,
                                  uint32_t *n)
{
    *n = intern_len(&g->m.node, node);
    return intern_get(&g->m.node, node);
}

size_t state_memory(const struct grammar *g)
{
    return intern_memory(&g->stack) + intern_memory(&g->state) +
           intern_memory(&g->set) + g->depth.cap + g->back.cap + g->next.cap +
           g->rows;
}

/* ---- one step ---- */

static void begin(struct grammar *g)
{
    g->todo.n = 0;
    g->config.n = 0;
    g->steps = 0;
    g->ended = false;
    intern_clear(&g->done);
}

static void add(struct grammar *g, uint32_t node, uint32_t stack)
{
    buf_put(&g->todo, (uint32_t[]){node, stack}, 8);
}

static void add_config(struct grammar *g, uint32_t stack, uint32_t place)
{
    buf_put(&g->config, (uint32_t[]){stack, place}, 8);
}

static uint32_t push(struct grammar *g, uint32_t parent, uint32_t node,
                     uint32_t place, uint32_t count)
{
    bool fresh;
    uint32_t depth,
        unknown = UNKNOWN,
        id = intern_put(&g->stack, (uint32_t[]){parent, node, place, count}, 4,
                        &fresh);

    if (id == INTERN_NONE) {
        g->nomem = true;
        return 0;
    }
    if (fresh) {
        memcpy(&depth, g->depth.p + (size_t)parent * 4, 4);
        if (++depth > MAX_DEPTH)
            g->steps = MAX_STEPS;
        buf_put(&g->depth, &depth, 4);
        buf_put(&g->back, &unknown, 4);
    }
    return id;
}

/* Enter the parts of a sequence from I on that may come first; true when all of
 * them may be empty. */
static bool sequence(struct grammar *g, uint32_t node, uint32_t i,
                     uint32_t stack)
{
    uint32_t n;
    const uint32_t *w = node_words(g, node, &n);

    for (; i + 1 < n; i++, g->steps++) {
        add(g, w[i + 1], i + 2 == n ? stack : push(g, stack, node, i, 0));
        if (!g->nullable[w[i + 1]])
            return false;
    }
    return true;
}

/* ---- members ---- */

/* SET with member I, one more. */
static uint32_t set_with(struct grammar *g, const uint32_t *w, uint32_t n,
                         uint32_t set, uint32_t i)
{
    uint32_t k = intern_len(&g->set, set), bits = (n - 4) / 2, id, *to;

    g->walk.n = 0;
    to = buf_add(&g->walk, ((size_t)bits / 32 + 2) * 4);
    if (!to) {
        g->nomem = true;
        return 0;
    }
    memset(to, 0, ((size_t)bits / 32 + 2) * 4);
    memcpy(to, intern_get(&g->set, set), k * 4);
    if (to[0] < w[3] && (w[3] != NODE_NOLIMIT || to[0] < w[2]))
        to[0]++;
    if (w[5 + 2 * i] != MEMBER_AGAIN)
        to[1 + i / 32] |= 1u << i % 32;
    id = intern_put(&g->set, to, bits / 32 + 2, NULL);
    g->nomem |= id == INTERN_NONE;
    return g->nomem ? 0 : id;
}

static bool has(const struct grammar *g, uint32_t set, uint32_t i)
{
    return set && intern_get(&g->set, set)[1 + i / 32] >> i % 32 & 1;
}

/* How many that are required are not in SET. */
static uint32_t missing(const struct grammar *g, const uint32_t *w, uint32_t n,
                        uint32_t set)
{
    uint32_t k = 0;

    for (uint32_t i = 0; 4 + 2 * i < n; i++)
        k += w[5 + 2 * i] & MEMBER_REQUIRED && !has(g, set, i);
    return k;
}

/* Enter, unless it is only asked, those that may come after SET; is there one?
 */
static bool members(struct grammar *g, uint32_t node, uint32_t set,
                    uint32_t stack, bool ask)
{
    uint32_t n, count = intern_get(&g->set, set)[0], still;
    const uint32_t *w = node_words(g, node, &n);

    still = missing(g, w, n, set);
    if (w[3] != NODE_NOLIMIT && count >= w[3])
        return false;
    for (uint32_t i = 0; 4 + 2 * i < n; i++, g->steps++) {
        bool had = has(g, set, i);
        uint32_t flags = w[5 + 2 * i], rest;

        rest = still - (flags & MEMBER_REQUIRED && !had);
        if (!g->productive[w[4 + 2 * i]] || (had && !(flags & MEMBER_AGAIN)) ||
            (w[3] != NODE_NOLIMIT && rest > w[3] - count - 1))
            continue;
        if (ask)
            return true;
        add(g, w[4 + 2 * i],
            push(g, stack, node, 0, set_with(g, w, n, set, i)));
    }
    return false;
}

static void after_member(struct grammar *g, uint32_t node, uint32_t set,
                         uint32_t stack)
{
    uint32_t n;
    const uint32_t *w = node_words(g, node, &n);

    if (!missing(g, w, n, set) && intern_get(&g->set, set)[0] >= w[2])
        add(g, RETURN, stack);
    if (!g->productive[w[1]] || !members(g, node, set, stack, true))
        return;
    add(g, w[1], push(g, stack, node, 1, set));
    if (g->nullable[w[1]])
        members(g, node, set, stack, false);
}

/* ---- what is to be done ---- */

static void enter(struct grammar *g, uint32_t node, uint32_t stack)
{
    uint32_t n;
    const uint32_t *w = node_words(g, node, &n);

    switch (w[0]) {
    case NODE_TERM:
        add_config(g, stack, w[1]);
        break;
    case NODE_TOKEN:
        add_config(g, stack, TOKEN_PLACE + node);
        break;
    case NODE_SEQ:
        sequence(g, node, 0, stack);
        break;
    case NODE_ALT:
        for (uint32_t i = 1; i < n; i++, g->steps++)
            if (g->productive[w[i]])
                add(g, w[i], stack);
        break;
    case NODE_REPEAT:
        if (g->productive[w[1]])
            add(g, w[1], w[3] == 1 ? stack : push(g, stack, node, 0, 0));
        break;
    case NODE_MEMBERS:
        members(g, node, 0, stack, false);
        break;
    default:
        break;
    }
}

static void repeated(struct grammar *g, uint32_t node, uint32_t count,
                     uint32_t stack)
{
    uint32_t n;
    const uint32_t *w = node_words(g, node, &n);
    uint32_t min = g->nullable[w[1]] ? 0 : w[2];

    if (++count >= min)
        add(g, RETURN, stack);
    if (w[3] == NODE_NOLIMIT && count > min)
        count = min;
    if (count < w[3])
        add(g, w[1], push(g, stack, node, 0, count));
}

static void go_back(struct grammar *g, uint32_t stack)
{
    uint32_t f[4], n;

    if (!stack) {
        g->ended = true;
        return;
    }
    memcpy(f, intern_get(&g->stack, stack), sizeof f);
    switch (node_words(g, f[1], &n)[0]) {
    case NODE_SEQ:
        if (sequence(g, f[1], f[2] + 1, f[0]))
            add(g, RETURN, f[0]);
        break;
    case NODE_REPEAT:
        repeated(g, f[1], f[3], f[0]);
        break;
    case NODE_MEMBERS:
        if (f[2])
            members(g, f[1], f[3], f[0], false);
        else
            after_member(g, f[1], f[3], f[0]);
        break;
    default:
        break;
    }
}

static int by_config(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The state of what was found. */
static uint32_t settle(struct grammar *g)
{
    static const struct next none;
    uint32_t *w, n, k = 0, id;
    bool fresh;

    if (g->nomem || g->config.bad || g->todo.bad || g->depth.bad || g->back.bad)
        return GRAMMAR_FULL;
    n = (uint32_t)(g->config.n / 8);
    if (!n && !g->ended)
        return GRAMMAR_DEAD;
    if (n > MAX_CONFIGS || g->steps >= MAX_STEPS)
        return GRAMMAR_FULL;
    if (n > 1)
        qsort(g->config.p, n, 8, by_config);
    buf_put(&g->config, (uint32_t[]){0, 0}, 8);
    w = (uint32_t *)(void *)g->config.p;
    if (!w)
        return GRAMMAR_FULL;
    for (uint32_t i = 0; i < n; i++)
        if (!k || by_config(w + 2 * i, w + 2 * (k - 1))) {
            w[2 * k] = w[2 * i];
            w[2 * k++ + 1] = w[2 * i + 1];
        }
    w[2 * k] = g->ended;
    id = intern_find(&g->state, w, 2 * (size_t)k + 1);
    if (id != INTERN_NONE)
        return id;
    /* States that become larger and larger would take time without end. */
    g->work += g->steps + n;
    if (state_memory(g) > g->max_memory ||
        g->work > MAX_WORK + (uint64_t)g->state.n * STATE_WORK)
        return GRAMMAR_FULL;
    id = intern_put(&g->state, w, 2 * (size_t)k + 1, &fresh);
    buf_put(&g->next, &none, sizeof none);
    if (id == INTERN_NONE || g->next.bad) {
        g->nomem = true;
        return GRAMMAR_FULL;
    }
    return id;
}

static uint32_t finish(struct grammar *g)
{
    while (g->todo.n && !g->nomem && g->steps < MAX_STEPS) {
        uint32_t what[2];
        bool fresh;

        g->todo.n -= 8;
        memcpy(what, g->todo.p + g->todo.n, 8);
        if (what[0] != RETURN)
            what[0] = g->target[what[0]];
        g->steps++;
        if (intern_put(&g->done, what, 2, &fresh) == INTERN_NONE)
            g->nomem = true;
        if (!fresh)
            continue;
        if (what[0] == RETURN)
            go_back(g, what[1]);
        else
            enter(g, what[0], what[1]);
    }
    return settle(g);
}

/* ---- states ---- */

int state_init(struct grammar *g, struct err *e)
{
    static const struct next none[2];
    uint32_t unknown = UNKNOWN, zero = 0;

    if (!g->max_memory)
        g->max_memory = MAX_MEMORY;
    buf_put(&g->next, none, sizeof none);
    buf_put(&g->depth, &zero, 4);
    buf_put(&g->back, &unknown, 4);
    if (intern_put(&g->state, (uint32_t[]){0}, 1, NULL) != GRAMMAR_DEAD ||
        intern_put(&g->state, (uint32_t[]){2}, 1, NULL) != GRAMMAR_FULL ||
        intern_put(&g->stack, (uint32_t[]){UNKNOWN, 0, 0, 0}, 4, NULL) ||
        intern_put(&g->set, (uint32_t[]){0}, 1, NULL) ||
        buf_ok(&g->next, NULL) || buf_ok(&g->depth, NULL) ||
        buf_ok(&g->back, NULL))
        return err_nomem(e);
    begin(g);
    add(g, g->root, 0);
    g->ended = g->nullable[g->root];
    g->start = finish(g);
    if (g->nomem)
        return err_nomem(e);
    if (g->start == GRAMMAR_FULL)
        return err_set(e, ERR_UNSUPPORTED,
                       "the grammar is too deep or too ambiguous");
    return 0;
}

void state_fini(struct grammar *g)
{
    struct next *next = (struct next *)(void *)g->next.p;

    for (size_t i = 0; i < g->next.n / sizeof *next; i++)
        free(next[i].row);
    buf_free(&g->next);
    intern_free(&g->stack);
    intern_free(&g->set);
    intern_free(&g->state);
    intern_free(&g->done);
    buf_free(&g->depth);
    buf_free(&g->back);
    buf_free(&g->todo);
    buf_free(&g->config);
    buf_free(&g->walk);
}

int grammar_restart(struct grammar *g, struct err *e)
{
    state_fini(g);
    g->rows = 0;
    g->work = 0;
    g->nomem = false;
    g->restarts++;
    for (int i = 0; i < MASK_SLOTS; i++)
        g->mask_state[i] = UNKNOWN;
    return state_init(g, e);
}

bool grammar_crowded(const struct grammar *g)
{
    return state_memory(g) > g->max_memory / 2;
}

uint32_t grammar_restarts(const struct grammar *g)
{
    return g->restarts;
}

void grammar_free(struct grammar *g)
{
    if (!g)
        return;
    mask_fini(g);
    state_fini(g);
    grammar_machine_free(&g->m);
    free(g->nullable);
    free(g->productive);
    free(g->target);
    free(g);
}

uint32_t grammar_start(const struct grammar *g)
{
    return g->start;
}

uint32_t state_back(struct grammar *g, uint32_t stack)
{
    uint32_t s;

    memcpy(&s, g->back.p + (size_t)stack * 4, 4);
    if (s != UNKNOWN)
        return s;
    begin(g);
    add(g, RETURN, stack);
    s = finish(g);
    memcpy(g->back.p + (size_t)stack * 4, &s, 4);
    return s;
}

uint32_t state_of(struct grammar *g, uint32_t stack, uint32_t place)
{
    begin(g);
    add_config(g, stack, place);
    return settle(g);
}

uint32_t state_place(const struct grammar *g, uint32_t p, uint8_t byte)
{
    uint32_t lo = 0, hi;
    const struct edge *e = machine_edges(&g->m, p, &hi);

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (e[mid].last < byte)
            lo = mid + 1;
        else if (e[mid].first > byte)
            hi = mid;
        else
            return e[mid].to;
    }
    return UNKNOWN;
}

static uint32_t step(struct grammar *g, uint32_t state, uint8_t byte)
{
    uint32_t n = intern_len(&g->state, state) / 2, k;

    begin(g);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *w = intern_get(&g->state, state) + 2 * i;
        uint32_t stack = w[0], p;

        if (w[1] >= TOKEN_PLACE)
            continue;
        p = state_place(g, w[1], byte);
        if (p == UNKNOWN)
            continue;
        machine_edges(&g->m, p, &k);
        if (k)
            add_config(g, stack, p);
        if (g->m.ends.p[p])
            add(g, RETURN, stack);
    }
    return finish(g);
}

static struct next *next_of(const struct grammar *g, uint32_t state)
{
    return (struct next *)(void *)g->next.p + state;
}

/* Keep that STATE goes TO with bytes of CLASS; where there is no memory it is
 * found again. */
static void keep(struct grammar *g, uint32_t state, uint8_t class, uint32_t to)
{
    struct next *x = next_of(g, state);
    size_t size = g->nclass * sizeof *x->row;

    if (!x->row && x->n < 3) {
        x->class[x->n] = class;
        x->to[x->n++] = to;
        return;
    }
    if (!x->row) {
        if (g->rows + size > g->max_memory || !(x->row = malloc(size)))
            return;
        memset(x->row, 0xff, size);
        for (int i = 0; i < 3; i++)
            x->row[x->class[i]] = x->to[i];
        g->rows += size + 16;
    }
    x->row[class] = to;
}

uint32_t grammar_byte(struct grammar *g, uint32_t state, uint8_t byte)
{
    uint8_t c = g->class[byte];
    const struct next *x;
    uint32_t to = UNKNOWN;

    if (state <= GRAMMAR_FULL)
        return state;
    x = next_of(g, state);
    if (x->row)
        to = x->row[c];
    for (int i = 0; !x->row && i < x->n; i++)
        if (x->class[i] == c)
            to = x->to[i];
    if (to == UNKNOWN) {
        to = step(g, state, byte);
        if (to != GRAMMAR_FULL)
            keep(g, state, c, to);
    }
    return to;
}

uint32_t grammar_bytes(struct grammar *g, uint32_t state, const void *p,
                       size_t n)
{
    const uint8_t *byte = p;

    for (size_t i = 0; i < n && state > GRAMMAR_FULL; i++)
        state = grammar_byte(g, state, byte[i]);
    return state;
}

bool grammar_ends(struct grammar *g, uint32_t state)
{
    uint32_t n = intern_len(&g->state, state);

    return intern_get(&g->state, state)[n - 1] == 1;
}

bool grammar_done(struct grammar *g, uint32_t state)
{
    return intern_len(&g->state, state) == 1 && grammar_ends(g, state);
}

void grammar_next(struct grammar *g, uint32_t state, bool next[256])
{
    uint32_t n = intern_len(&g->state, state) / 2, k;

    memset(next, 0, 256 * sizeof *next);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = intern_get(&g->state, state)[2 * i + 1];
        const struct edge *e;

        if (p >= TOKEN_PLACE)
            continue;
        e = machine_edges(&g->m, p, &k);
        for (uint32_t j = 0; j < k; j++)
            memset(next + e[j].first, 1, (size_t)e[j].last - e[j].first + 1u);
    }
}

/* ---- tokens ---- */

/* The state of the configurations of STATE and of what comes after the nodes of
 * FROM that are token ID. */
static uint32_t with_token(struct grammar *g, uint32_t from, uint32_t state,
                           uint32_t id)
{
    uint32_t n = intern_len(&g->state, state) / 2, k;

    begin(g);
    g->ended = grammar_ends(g, state);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *w = intern_get(&g->state, state) + 2 * i;

        add_config(g, w[0], w[1]);
    }
    n = intern_len(&g->state, from) / 2;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *w = intern_get(&g->state, from) + 2 * i, *node;

        if (w[1] < TOKEN_PLACE)
            continue;
        node = node_words(g, w[1] - TOKEN_PLACE, &k);
        if (node[2] ? node[1] != id && !g->v->end[id] : node[1] == id)
            add(g, RETURN, w[0]);
    }
    return finish(g);
}

uint32_t grammar_token(struct grammar *g, uint32_t state, uint32_t id)
{
    uint32_t n, after = GRAMMAR_DEAD;

    if (!g->v || id >= g->v->n)
        return GRAMMAR_DEAD;
    if (state <= GRAMMAR_FULL)
        return state;
    if (g->v->end[id]) {
        if (grammar_ends(g, state))
            after = state_back(g, 0);
    } else if (!g->v->control[id] && g->v->len[id]) {
        after = grammar_bytes(g, state, g->v->text[id], g->v->len[id]);
    }
    n = intern_len(&g->state, state) / 2;
    for (uint32_t i = 0; i < n && after != GRAMMAR_FULL; i++)
        if (intern_get(&g->state, state)[2 * i + 1] >= TOKEN_PLACE)
            return with_token(g, state, after, id);
    return after;
}
