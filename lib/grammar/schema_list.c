/* SPDX-License-Identifier: MIT
 * schema_list.c - the items of an array, in a row. */
#include <string.h>

#include "grammar/schema.h"

static bool live(const struct schema *s, uint32_t state)
{
    return schema_state_at(s, state)->live;
}

static uint32_t node(const struct schema *s, uint32_t state)
{
    return schema_state_at(s, state)->node;
}

/* ---- no more than a number of items ---- */

/* As many as there may be: up to the first that has no value. */
static int64_t most(const struct schema *s, const struct schema_plan *p)
{
    int64_t max = p->max;
    size_t i = 0;

    while (i <= p->n && live(s, p->item[i]))
        i++;
    if (i <= p->n && (max < 0 || (int64_t)i < max))
        max = (int64_t)i;
    return max;
}

/* MIN to MAX (-1: or more) times ITEM, after a comma each, and before the first
 * if BEFORE. */
static uint32_t alike(struct schema_write *w, uint32_t item, int64_t min,
                      int64_t max, bool before)
{
    uint32_t more[] = {w->comma, item}, some[2];

    more[0] = build_seq(w->b, more, 2);
    if (before)
        return build_repeat(w->b, more[0], (int)min, (int)max);
    some[0] = item;
    some[1] = build_repeat(w->b, more[0], min ? (int)min - 1 : 0,
                           max < 0 ? -1 : (int)max - 1);
    return build_repeat(w->b, build_seq(w->b, some, 2), min > 0, 1);
}

static uint32_t row(struct schema *s, struct schema_write *w,
                    const struct schema_plan *p)
{
    int64_t max = most(s, p), n = (int64_t)p->n;
    int64_t least = p->min > n ? p->min - n : 0;
    uint32_t next = build_empty(w->b), end = next;

    /* From the last: what may come from item N on. */
    if (max < 0 || max > n)
        next =
            alike(w, node(s, p->item[n]), least, max < 0 ? -1 : max - n, n > 0);
    else
        n = max;
    while (n-- > 0) {
        uint32_t all[] = {n ? w->comma : end, node(s, p->item[n]), next};

        next = build_seq(w->b, all, 3);
        if (n >= p->min)
            next = build_alt(w->b, (uint32_t[]){end, next}, 2);
    }
    return next;
}

/* ---- with items that are counted ---- */

/* A place is how many items there were, as far as that matters, and how many
 * each counter has counted. */
struct places {
    const struct schema_plan *p;
    size_t last, size; /* the last number of items; counts, all of them */
    bool *live;
    uint32_t *node;
};

static size_t cap(const struct schema_counter *c)
{
    return (size_t)(c->max < 0 ? c->min : c->max);
}

/* The counts after an item that CHOICE counts; SIZE where there is too much. */
static size_t count(const struct places *t, size_t counts, size_t choice)
{
    size_t out = 0, unit = 1;

    for (size_t j = 0; j < t->p->ncounter; j++) {
        const struct schema_counter *c = &t->p->counter[j];
        size_t n = counts % (cap(c) + 1);

        counts /= cap(c) + 1;
        n += choice >> j & 1;
        if (n > cap(c) && c->max >= 0)
            return t->size;
        out += (n > cap(c) ? cap(c) : n) * unit;
        unit *= cap(c) + 1;
    }
    return out;
}

static bool enough(const struct places *t, size_t items, size_t counts)
{
    bool good = (int64_t)items >= t->p->min;

    for (size_t j = 0; j < t->p->ncounter; j++) {
        const struct schema_counter *c = &t->p->counter[j];

        good &= (int64_t)(counts % (cap(c) + 1)) >= c->min;
        counts /= cap(c) + 1;
    }
    return good;
}

static void place(struct schema *s, struct schema_write *w, struct places *t,
                  size_t items, size_t counts)
{
    size_t choices = (size_t)1 << t->p->ncounter, n = 0, k = 0,
           at = items * t->size + counts, i = items < t->p->n ? items : t->p->n;
    bool open = t->p->max < 0 && items == t->last;
    uint32_t exits[9], loops[8], all[2];

    t->live[at] = enough(t, items, counts);
    if (w && t->live[at])
        exits[n++] = build_empty(w->b);
    for (size_t c = 0; c < choices; c++) {
        uint32_t state = t->p->item[i * choices + c];
        size_t to = count(t, counts, c);
        uint32_t step[3];

        if (to == t->size || !live(s, state) || (items == t->last && !open))
            continue;
        to += (open ? items : items + 1) * t->size;
        if (to != at && !t->live[to])
            continue;
        t->live[at] |= to != at;
        if (!w)
            continue;
        step[0] = items ? w->comma : build_empty(w->b);
        step[1] = node(s, state);
        step[2] = to == at ? build_empty(w->b) : t->node[to];
        step[0] = build_seq(w->b, step, 3);
        if (to == at)
            loops[k++] = step[0];
        else
            exits[n++] = step[0];
    }
    if (!w)
        return;
    all[0] = build_repeat(w->b, build_alt(w->b, loops, (int)k), 0, -1);
    all[1] = build_alt(w->b, exits, (int)n);
    t->node[at] = build_seq(w->b, all, 2);
}

static int counted(struct schema *s, struct schema_write *w,
                   const struct schema_plan *p, bool *any, uint32_t *out)
{
    struct places t = {.p = p, .size = 1};
    int64_t last = p->max;

    if (last < 0) {
        last = p->min > (int64_t)p->n ? p->min : (int64_t)p->n;
        last = last ? last : 1;
    }
    t.last = (size_t)last;
    for (size_t j = 0; j < p->ncounter; j++)
        t.size *= cap(&p->counter[j]) + 1;
    t.live = schema_alloc(s, (t.last + 1) * t.size, sizeof *t.live);
    t.node = schema_alloc(s, (t.last + 1) * t.size, sizeof *t.node);
    if (!t.live || !t.node)
        return -1;
    for (size_t i = t.last + 1; i-- > 0;)
        for (size_t c = t.size; c-- > 0;)
            place(s, w, &t, i, c);
    *any = t.live[0];
    if (w)
        *out = t.node[0];
    return 0;
}

/* ---- each another value ---- */

static int values(struct schema *s, struct schema_write *w,
                  const struct schema_plan *p, bool *any, uint32_t *out)
{
    struct build_member *m;
    size_t n = 0;

    for (size_t i = 0; i < p->nvalue; i++)
        n += live(s, p->value[i]);
    *any = (int64_t)n >= p->min;
    if (!w)
        return 0;
    m = schema_alloc(s, n, sizeof *m);
    if (!m)
        return -1;
    n = 0;
    for (size_t i = 0; i < p->nvalue; i++)
        if (live(s, p->value[i]))
            m[n++].node = node(s, p->value[i]);
    *out = build_members(w->b, m, (int)n, w->comma, (int)p->min, (int)p->max);
    return 0;
}

int schema_write_items(struct schema *s, struct schema_write *w,
                       const struct schema_plan *p, bool *any, uint32_t *out)
{
    int64_t max;

    if (p->value)
        return values(s, w, p, any, out);
    if (p->ncounter)
        return counted(s, w, p, any, out);
    max = most(s, p);
    *any = max < 0 || p->min <= max;
    if (w)
        *out = *any ? row(s, w, p) : build_never(w->b);
    return 0;
}
