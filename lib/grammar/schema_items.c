/* SPDX-License-Identifier: MIT
 * schema_items.c - how arrays of a case may be made. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"

enum {
    MAX_PREFIX = 1000,
    MAX_COUNTERS = 3,
    MAX_PLACES = 20000, /* numbers of items, each with all counts */
    MAX_ROW = 1000,     /* items, one by one */
    MAX_UNIQUE = 64,
    UNIQUE_RANGE = 1000, /* whole numbers that are looked through */
};

/* Where items begin to be alike. */
static int64_t prefix(const struct schema_case *c)
{
    int64_t n = 0, to;

    for (int some = 0; some < 2; some++)
        for (const struct schema_need *a = some ? c->some : c->all; a;
             a = a->next) {
            to = a->last == INT64_MAX ? a->first : a->last + 1;
            n = to > n ? to : n;
        }
    return n;
}

/* ---- items that are all different ---- */

/* Adds the state of a value that is a constant. */
static int add_value(struct schema *s, struct schema_plan *p, json_t *v,
                     uint32_t state)
{
    size_t n = intern_len(&s->lits, state), k = p->nvalue;
    uint32_t *lit = schema_alloc(s, n + 1, sizeof *lit);

    if (!lit || !v)
        return v ? -1 : err_nomem(s->e);
    memcpy(lit, intern_get(&s->lits, state), n * sizeof *lit);
    if (json_array_append(s->kept, v))
        return err_nomem(s->e);
    lit[n] = schema_lit(s, v, 1, NULL, NULL, SCHEMA_SELF, true);
    if (lit[n] == LIT_BAD || k == MAX_UNIQUE)
        return -1;
    p->value[k] = schema_state(s, lit, n + 1);
    p->nvalue++;
    return p->value[k] == LIT_BAD ? -1 : 0;
}

static json_t *number_value(struct schema *s, const struct schema_text *t)
{
    json_t *v = json_integer((json_int_t)(s->number.n / sizeof *t));

    buf_put(&s->number, t, sizeof *t);
    if (!buf_ok(&s->number, s->e))
        return v;
    json_decref(v);
    return NULL;
}

/* The whole numbers that an automaton matches, as long as they are few and
 * small and there are no others; else N is more than MAX_UNIQUE. */
static int few_numbers(struct schema *s, const struct dfa *d,
                       struct schema_text *t, size_t *n)
{
    struct buf all = {0};
    const struct dfa *spelled;
    struct schema_text *each;
    size_t k = 0, m = 0;
    int rc;

    for (int i = -UNIQUE_RANGE; *n <= MAX_UNIQUE && i <= UNIQUE_RANGE; i++) {
        struct buf b = {0};
        struct decimal v;

        buf_printf(&b, "%d", i);
        if (b.bad || schema_decimal_read(&v, (char *)b.p, b.n, s->e)) {
            buf_free(&b);
            buf_free(&all);
            return err_nomem(s->e);
        }
        if (dfa_match(d, (char *)b.p, b.n) && (*n)++ < MAX_UNIQUE) {
            t[*n - 1] =
                (struct schema_text){arena_copy(&s->mem, b.p, b.n), b.n};
            schema_decimal_spellings(&all, &v);
        }
        buf_free(&b);
    }
    for (size_t i = 0; i < all.n; i++)
        m += !all.p[i];
    each = schema_alloc(s, m, sizeof *each);
    for (size_t i = 0; each && i < m; i++) {
        each[i] =
            (struct schema_text){(char *)all.p + k, strlen((char *)all.p + k)};
        k += each[i].n + 1;
    }
    rc = !each || schema_texts_dfa(s, each, m, &spelled) ||
         schema_dfa(s, '!', spelled, NULL, &spelled) ||
         schema_dfa(s, '&', d, spelled, &spelled);
    buf_free(&all);
    if (rc)
        return -1;
    if (!dfa_empty(spelled))
        *n = MAX_UNIQUE + 1;
    return 0;
}

static int unique_numbers(struct schema *s, struct schema_plan *p,
                          uint32_t state, bool *good)
{
    const struct schema_set *set = schema_state_set(s, state, TYPE_NUMBER);
    struct schema_text t[MAX_UNIQUE];
    size_t n = 0;

    if (!set)
        return -1;
    if (set->nlang) {
        if (set->ntext || !set->lang[0].d) {
            *good = false;
            return 0;
        }
        if (few_numbers(s, set->lang[0].d, t, &n))
            return -1;
    } else {
        n = set->ntext;
        if (n && n <= MAX_UNIQUE)
            memcpy(t, set->text, n * sizeof *t);
    }
    if (n + p->nvalue > MAX_UNIQUE)
        *good = false;
    for (size_t i = 0; *good && i < n; i++) {
        json_t *v = number_value(s, &t[i]);
        int rc = add_value(s, p, v, state);

        json_decref(v);
        if (rc)
            return -1;
    }
    return 0;
}

/* The values of a state, if they are few and none is an array or object. */
static int unique_values(struct schema *s, struct schema_plan *p,
                         uint32_t state, bool *good)
{
    const struct schema_set *set[NTYPE];

    for (int t = 0; t < NTYPE; t++) {
        set[t] = schema_state_set(s, state, (enum schema_type)t);
        if (!set[t])
            return -1;
    }
    p->value = schema_alloc(s, MAX_UNIQUE, sizeof *p->value);
    if (!p->value)
        return -1;
    *good = !set[TYPE_STRING]->nlang &&
            set[TYPE_STRING]->ntext + 4 <= MAX_UNIQUE &&
            schema_set_empty(TYPE_ARRAY, set[TYPE_ARRAY]) &&
            schema_set_empty(TYPE_OBJECT, set[TYPE_OBJECT]);
    if (!*good)
        return 0;
    if (set[TYPE_NULL]->bits && add_value(s, p, json_null(), state))
        return -1;
    if (set[TYPE_BOOL]->bits & 1 && add_value(s, p, json_false(), state))
        return -1;
    if (set[TYPE_BOOL]->bits & 2 && add_value(s, p, json_true(), state))
        return -1;
    for (size_t i = 0; i < set[TYPE_STRING]->ntext; i++) {
        const struct schema_text *t = &set[TYPE_STRING]->text[i];
        json_t *v = json_stringn(t->p, t->n);
        int rc = add_value(s, p, v, state);

        json_decref(v);
        if (rc)
            return -1;
    }
    return unique_numbers(s, p, state, good);
}

static int unique(struct schema *s, const struct schema_case *c,
                  struct schema_plan *p)
{
    uint32_t node = c->unique - 1;
    bool good = !c->some && !prefix(c);
    uint32_t state = schema_item(s, c, 0, NULL, 0);

    if (state == LIT_BAD || (good && unique_values(s, p, state, &good)))
        return -1;
    if (!good)
        return schema_fail(s, node, "uniqueItems", ERR_UNSUPPORTED,
                           "items that are not of few known values");
    p->n = 0;
    return 0;
}

/* ---- others ---- */

/* May as many items be counted? */
static int countable(struct schema *s, const struct schema_case *c,
                     const struct schema_plan *p,
                     const struct schema_need *need)
{
    int64_t row = c->max < 0 ? c->min : c->max, places;

    row = c->max < 0 && row < (int64_t)p->n ? (int64_t)p->n : row;
    places = row + 1;
    for (size_t i = 0; i < p->ncounter && places <= MAX_PLACES; i++) {
        int64_t most =
            p->counter[i].max < 0 ? p->counter[i].min : p->counter[i].max;

        row = most > row ? most : row;
        places = row > MAX_ROW ? MAX_PLACES + 1 : places * (most + 1);
    }
    if (row > MAX_ROW || places > MAX_PLACES)
        return schema_fail(s, need->node, need->word, ERR_UNSUPPORTED,
                           "too many items to be counted");
    return 0;
}

static int item_states(struct schema *s, const struct schema_case *c,
                       struct schema_plan *p)
{
    const struct schema_need *need[MAX_COUNTERS];
    uint32_t lit[MAX_COUNTERS];
    size_t choices;

    p->counter = schema_alloc(s, MAX_COUNTERS, sizeof *p->counter);
    if (!p->counter)
        return -1;
    for (const struct schema_need *a = c->some; a; a = a->next) {
        if (p->ncounter == MAX_COUNTERS)
            return schema_fail(s, a->node, a->word, ERR_UNSUPPORTED,
                               "too many of them for one array");
        need[p->ncounter] = a;
        p->counter[p->ncounter++] =
            (struct schema_counter){a->first, a->min, a->max};
    }
    if (p->ncounter && countable(s, c, p, c->some))
        return -1;
    choices = (size_t)1 << p->ncounter;
    p->item = schema_alloc(s, (p->n + 1) * choices, sizeof *p->item);
    if (!p->item)
        return -1;
    for (size_t i = 0; i < (p->n + 1) * choices; i++) {
        size_t k = 0, at = i / choices;
        bool none = false;

        for (size_t j = 0; j < p->ncounter; j++) {
            bool counted = i >> j & 1;

            if ((int64_t)at < need[j]->first)
                none |= counted;
            else if (counted)
                lit[k++] = need[j]->lit;
            else if (need[j]->max >= 0)
                lit[k++] = need[j]->lit ^ 1;
        }
        if (none)
            lit[k++] = LIT_NONE;
        p->item[i] = schema_item(s, c, (int64_t)at, lit, k);
        if (p->item[i] == LIT_BAD)
            return -1;
    }
    return 0;
}

int schema_items(struct schema *s, const struct schema_case *c,
                 const struct schema_plan **out)
{
    struct schema_plan *p = schema_alloc(s, 1, sizeof *p);
    int64_t n = prefix(c);

    if (!p)
        return -1;
    if (n > MAX_PREFIX && c->max >= 0 && c->max < n)
        n = c->max;
    if (n > MAX_PREFIX)
        return schema_fail(s, c->all ? c->all->node : 1, "prefixItems",
                           ERR_UNSUPPORTED, "too many");
    *p = (struct schema_plan){.next = *out,
                              .type = TYPE_ARRAY,
                              .min = c->min,
                              .max = c->max,
                              .n = (size_t)n};
    if (c->unique && (c->max < 0 || c->max > 1) ? unique(s, c, p)
                                                : item_states(s, c, p))
        return -1;
    *out = p;
    return 0;
}
