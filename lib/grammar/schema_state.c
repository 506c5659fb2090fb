/* SPDX-License-Identifier: MIT
 * schema_state.c - what a value must satisfy all together. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"

enum {
    MAX_STATES = 60000,
    MAX_PEEK = 3,  /* states within states, to see that one has no value */
    MAX_LOOK = 16, /* items of an array that are looked at */
};

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

struct schema_state *schema_state_at(const struct schema *s, uint32_t id)
{
    return (struct schema_state *)(void *)s->states.p + id;
}

uint32_t schema_state(struct schema *s, const uint32_t *lit, size_t n)
{
    static const uint32_t never[1] = {LIT_NONE};
    struct schema_state fresh_state = {0};
    uint32_t *sorted = malloc((n ? n : 1) * sizeof *sorted), id;
    bool fresh = false, none = false;
    size_t k = 0;

    if (!sorted || schema_work(s, n + 1)) {
        free(sorted);
        err_nomem(s->e);
        return LIT_BAD;
    }
    if (n)
        memcpy(sorted, lit, n * sizeof *lit);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++) {
        /* A literal is beside its opposite. */
        none |= sorted[i] == LIT_NONE ||
                (k && sorted[i] & 1 && sorted[k - 1] == sorted[i] - 1);
        if (sorted[i] != LIT_ANY && (!k || sorted[k - 1] != sorted[i]))
            sorted[k++] = sorted[i];
    }
    id = intern_put(&s->lits, none ? never : sorted, none ? 1 : k, &fresh);
    free(sorted);
    if (id == INTERN_NONE) {
        err_nomem(s->e);
        return LIT_BAD;
    }
    if (fresh) {
        buf_put(&s->states, &fresh_state, sizeof fresh_state);
        if (buf_ok(&s->states, s->e))
            return LIT_BAD;
        if (s->lits.n > MAX_STATES) {
            err_set(s->e, ERR_UNSUPPORTED, "too large a schema");
            return LIT_BAD;
        }
    }
    return id;
}

const struct schema_set *schema_state_set(struct schema *s, uint32_t id,
                                          enum schema_type t)
{
    size_t n = intern_len(&s->lits, id);
    struct schema_set *set, one;

    if (schema_state_at(s, id)->set[t])
        return schema_state_at(s, id)->set[t];
    set = schema_alloc(s, 1, sizeof *set);
    if (!set)
        return NULL;
    schema_set_all(t, set);
    for (size_t i = 0; i < n; i++) {
        uint32_t lit = intern_get(&s->lits, id)[i];

        if (schema_eval(s, lit, t, false, &one) ||
            schema_set_and(s, t, set, &one, set))
            return NULL;
    }
    schema_state_at(s, id)->set[t] = set;
    return set;
}

/* ---- states of what is within ---- */

struct lits {
    uint32_t *lit;
    size_t n;
};

static int gather(struct schema *s, struct lits *l, const struct schema_case *c,
                  const uint32_t *more, size_t n)
{
    size_t all = n;

    for (const struct schema_need *a = c->all; a; a = a->next)
        all++;
    l->n = n;
    l->lit = malloc((all ? all : 1) * sizeof *l->lit);
    if (!l->lit)
        return err_nomem(s->e);
    if (n)
        memcpy(l->lit, more, n * sizeof *more);
    return schema_work(s, all);
}

uint32_t schema_item(struct schema *s, const struct schema_case *c, int64_t at,
                     const uint32_t *more, size_t n)
{
    struct lits l;
    uint32_t id = LIT_BAD;

    if (!gather(s, &l, c, more, n)) {
        for (const struct schema_need *a = c->all; a; a = a->next)
            if (at >= a->first && at <= a->last)
                l.lit[l.n++] = a->lit;
        id = schema_state(s, l.lit, l.n);
    }
    free(l.lit);
    return id;
}

uint32_t schema_named(struct schema *s, const struct schema_case *c,
                      const struct schema_text *name, const uint32_t *more,
                      size_t n)
{
    struct lits l;
    uint32_t id = LIT_BAD;

    if (!gather(s, &l, c, more, n)) {
        for (const struct schema_need *a = c->all; a; a = a->next)
            if (schema_keys_have(a->keys, name->p, name->n))
                l.lit[l.n++] = a->lit;
        id = schema_state(s, l.lit, l.n);
    }
    free(l.lit);
    return id;
}

/* ---- is there nothing? ---- */

static bool look(struct schema *s, uint32_t id)
{
    const struct schema_set *set;
    bool empty = true;

    for (int t = 0; empty && t < NTYPE; t++) {
        set = schema_state_set(s, id, (enum schema_type)t);
        if (!set)
            return false;
        empty = schema_set_empty((enum schema_type)t, set);
        for (size_t i = 0; !empty && t >= TYPE_ARRAY && i < set->ncase; i++) {
            empty = schema_dead(s, (enum schema_type)t, &set->cases[i]);
            if (!empty)
                break;
        }
    }
    return empty;
}

/* Are there surely no values?  What cannot be said, is not. */
static bool state_empty(struct schema *s, uint32_t id)
{
    struct err *e = s->e, why = {0};
    int depth = s->depth;
    bool empty;

    if (id == LIT_BAD)
        return false;
    if (schema_state_at(s, id)->known)
        return schema_state_at(s, id)->empty;
    if (s->peek >= MAX_PEEK)
        return false;
    s->e = &why;
    s->peek++;
    empty = look(s, id);
    s->peek--;
    s->depth = depth;
    s->e = e;
    if (!why.code) {
        schema_state_at(s, id)->known = true;
        schema_state_at(s, id)->empty = empty;
    }
    return empty && !why.code;
}

bool schema_dead(struct schema *s, enum schema_type t,
                 const struct schema_case *c)
{
    if (c->max >= 0 && c->min > c->max)
        return true;
    if (t == TYPE_ARRAY) {
        for (int64_t i = 0; i < c->min && i < MAX_LOOK; i++)
            if (state_empty(s, schema_item(s, c, i, NULL, 0)))
                return true;
        return false;
    }
    for (const struct schema_need *n = c->some; n; n = n->next)
        if (n->keys->ntext == 1 &&
            !n->keys->not &&state_empty(
                s, schema_named(s, c, n->keys->text, &n->lit, 1)))
            return true;
    return false;
}
