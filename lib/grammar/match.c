/* SPDX-License-Identifier: MIT
 * match.c - a sequence's states, one for each token, so that going back is
 * forgetting.
 *
 * Where the grammar's states are used up it begins again without them, and each
 * sequence finds its own from its tokens.
 *
 * Before the trigger a state is how much of it the text ends with, by the
 * failure function of Knuth, Morris and Pratt. */
#include "grammar/match.h"

#include <stdlib.h>
#include <string.h>

enum { FREE = 1u << 31 }; /* before the trigger: this + how much of it */

struct match {
    struct grammar *g;
    const struct grammar_vocab *v;
    struct buf state;  /* uint32_t: at first, and after each token */
    struct buf token;  /* uint32_t */
    uint32_t restarts; /* of the grammar that the states are of */
    uint8_t *trigger;
    uint32_t n, *fail;
    uint64_t *
        *mask; /* [n]: what may come before the trigger; NULL: not known */
    bool *all; /* [n]: everything may */
};

static uint32_t *states(const struct match *m)
{
    return (uint32_t *)(void *)m->state.p;
}

static uint32_t now(const struct match *m)
{
    return states(m)[m->state.n / 4 - 1];
}

static int set_trigger(struct match *m, const char *trigger, size_t n,
                       struct err *e)
{
    uint32_t k = 0;

    if (n > 4096)
        return err_set(e, ERR_UNSUPPORTED, "the trigger is too long");
    m->trigger = malloc(n);
    m->fail = calloc(n, sizeof *m->fail);
    m->mask = calloc(n, sizeof *m->mask);
    m->all = calloc(n, sizeof *m->all);
    if (!m->trigger || !m->fail || !m->mask || !m->all)
        return err_nomem(e);
    m->n = (uint32_t)n;
    memcpy(m->trigger, trigger, n);
    for (uint32_t i = 1; i < m->n; i++) {
        while (k && m->trigger[i] != m->trigger[k])
            k = m->fail[k - 1];
        k += m->trigger[i] == m->trigger[k];
        m->fail[i] = k;
    }
    return 0;
}

int match_new(struct match **out, struct grammar *g, const char *trigger,
              size_t n, const struct grammar_vocab *v, struct err *e)
{
    struct match *m = calloc(1, sizeof *m);
    uint32_t start = grammar_start(g);

    *out = NULL;
    if (!m)
        return err_nomem(e);
    m->g = g;
    m->v = v;
    m->restarts = grammar_restarts(g);
    if (trigger && n) {
        start = FREE;
        if (set_trigger(m, trigger, n, e)) {
            match_free(m);
            return -1;
        }
    }
    buf_put(&m->state, &start, 4);
    if (buf_ok(&m->state, e)) {
        match_free(m);
        return -1;
    }
    *out = m;
    return 0;
}

void match_free(struct match *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; m->mask && i < m->n; i++)
        free(m->mask[i]);
    free(m->mask);
    free(m->all);
    free(m->fail);
    free(m->trigger);
    buf_free(&m->state);
    buf_free(&m->token);
    free(m);
}

/* After token ID in state S; GRAMMAR_DEAD: it may not come. */
static uint32_t after(const struct match *m, uint32_t s, uint32_t id)
{
    const uint8_t *p;
    uint32_t k = s - FREE, i;

    if (id >= m->v->n)
        return GRAMMAR_DEAD;
    if (s < FREE)
        return grammar_token(m->g, s, id);
    p = m->v->text[id];
    for (i = 0; i < m->v->len[id]; i++) {
        while (k && p[i] != m->trigger[k])
            k = m->fail[k - 1];
        k += p[i] == m->trigger[k];
        if (k == m->n)
            return grammar_bytes(m->g, grammar_start(m->g), p + i + 1,
                                 m->v->len[id] - i - 1);
    }
    return FREE + k;
}

/* All states anew, where the grammar has begun again.  A state that can no
 * longer be found is GRAMMAR_FULL. */
static void find_again(struct match *m)
{
    uint32_t *s = states(m), id;
    size_t n = m->token.n / 4;

    if (m->restarts == grammar_restarts(m->g))
        return;
    m->restarts = grammar_restarts(m->g);
    if (!m->n)
        s[0] = grammar_start(m->g);
    for (uint32_t k = 0; k < m->n; k++) {
        free(m->mask[k]);
        m->mask[k] = NULL;
        m->all[k] = false;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(&id, m->token.p + i * 4, 4);
        s[i + 1] = after(m, s[i], id);
    }
}

/* Begin again if that can help. */
static bool again(struct match *m)
{
    if (!grammar_crowded(m->g) || grammar_restart(m->g, NULL))
        return false;
    find_again(m);
    return true;
}

/* after(), whatever has become of the states. */
static uint32_t next(struct match *m, uint32_t id)
{
    uint32_t s;

    find_again(m);
    s = after(m, now(m), id);
    if (s == GRAMMAR_FULL && again(m))
        s = after(m, now(m), id);
    return s;
}

static int free_mask(struct match *m, uint32_t k, struct err *e)
{
    uint64_t *mask;
    bool all = true;

    if (m->all[k] || m->mask[k])
        return 0;
    mask = calloc(((size_t)m->v->n + 63) / 64 + 1, sizeof *mask);
    if (!mask)
        return err_nomem(e);
    for (uint32_t id = 0; id < m->v->n; id++) {
        bool may = after(m, FREE + k, id) > GRAMMAR_FULL;

        mask[id / 64] |= (uint64_t)may << id % 64;
        all &= may;
    }
    m->all[k] = all;
    if (all)
        free(mask);
    else
        m->mask[k] = mask;
    return 0;
}

int match_mask(const uint64_t **mask, struct match *m, struct err *e)
{
    struct err mine = {0};
    uint32_t s;

    *mask = NULL;
    find_again(m);
    s = now(m);
    if (s < FREE) {
        *mask = grammar_mask(m->g, s, &mine);
        if (!*mask && mine.code == ERR_UNSUPPORTED && again(m))
            *mask = grammar_mask(m->g, now(m), e);
        else if (!*mask)
            err_set(e, mine.code, "%s", mine.msg);
        return *mask ? 0 : -1;
    }
    if (free_mask(m, s - FREE, e))
        return -1;
    *mask = m->mask[s - FREE];
    return 0;
}

bool match_takes(struct match *m, uint32_t id)
{
    return next(m, id) > GRAMMAR_FULL;
}

int match_accept(struct match *m, uint32_t id, struct err *e)
{
    uint32_t s = next(m, id);

    if (s == GRAMMAR_FULL)
        return err_set(e, ERR_UNSUPPORTED, "the grammar has too many states");
    if (s == GRAMMAR_DEAD)
        return err_set(e, ERR_FORMAT,
                       "token %lu is not what the grammar allows",
                       (unsigned long)id);
    if (!buf_reserve(&m->state, 4) || !buf_reserve(&m->token, 4))
        return err_nomem(e);
    buf_put(&m->state, &s, 4);
    buf_put(&m->token, &id, 4);
    return 0;
}

void match_back(struct match *m, size_t n)
{
    size_t have = match_count(m);

    n = n < have ? n : have;
    m->state.n -= n * 4;
    m->token.n -= n * 4;
}

size_t match_count(const struct match *m)
{
    return m->state.n / 4 - 1;
}

bool match_ends(struct match *m)
{
    uint32_t s;

    find_again(m);
    s = now(m);
    return s >= FREE || grammar_ends(m->g, s);
}

bool match_done(struct match *m)
{
    uint32_t s;

    find_again(m);
    s = now(m);
    return s < FREE && grammar_done(m->g, s);
}
