/* SPDX-License-Identifier: MIT
 * schema_array.c - keywords of arrays, and counts of members. */
#include "grammar/schema.h"

/* COUNT items have been seen (-1: all), or SOME. */
static int seen(struct schema *s, const struct schema_at *at, int64_t count,
                bool some, struct schema_set *set)
{
    struct schema_case *c;
    struct schema_seen *e;

    if (!at->track || at->not )
        return 0;
    c = schema_alloc(s, set->ncase, sizeof *c);
    if (!c)
        return -1;
    for (size_t i = 0; i < set->ncase; i++) {
        e = schema_alloc(s, 1, sizeof *e);
        if (!e)
            return -1;
        c[i] = set->cases[i];
        *e = (struct schema_seen){
            .next = c[i].seen, .count = count, .some = some};
        c[i].seen = e;
    }
    set->cases = c;
    return 0;
}

/* prefixItems, and items as a list. */
int schema_eval_prefix(struct schema *s, const struct schema_at *at,
                       struct schema_set *out)
{
    size_t n = json_array_size(at->value), i;
    struct schema_set *one = schema_alloc(s, n, sizeof *one), least;
    json_t *v;

    if (!one)
        return -1;
    if (!json_is_array(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not an array");
    json_array_foreach(at->value, i, v)
    {
        struct schema_need need = {.first = (int64_t)i, .last = (int64_t)i};

        need.lit = schema_child(s, at, v, NULL, i);
        if (need.lit == LIT_BAD)
            return -1;
        need.lit ^= at->not ;
        if (schema_need(s, at, false, &need, &one[i]))
            return -1;
        if (at->not &&(schema_bounds(s, at, (int64_t)i + 1, -1, &least) ||
                       schema_set_and(s, at->type, &one[i], &least, &one[i])))
            return -1;
    }
    return schema_reduce(s, at->type, one, n, !at->not, out) ||
                   seen(s, at, (int64_t)n, false, out)
               ? -1
               : 0;
}

/* Items from FIRST on satisfy what is in AT. */
static int from(struct schema *s, const struct schema_at *at, int64_t first,
                struct schema_set *out)
{
    struct schema_need need = {
        .first = first, .last = INT64_MAX, .min = 1, .max = -1};

    need.lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF);
    if (need.lit == LIT_BAD)
        return -1;
    need.lit ^= at->not ;
    return schema_need(s, at, at->not, &need, out) ||
                   seen(s, at, -1, false, out)
               ? -1
               : 0;
}

int schema_eval_items(struct schema *s, const struct schema_at *at,
                      struct schema_set *out)
{
    json_t *prefix = json_object_get(at->schema, "prefixItems");

    if (!json_is_array(at->value))
        return from(s, at, (int64_t)json_array_size(prefix), out);
    if (prefix)
        return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                           "a list beside prefixItems");
    return schema_eval_prefix(s, at, out);
}

/* additionalItems, which counts beside items as a list only. */
int schema_eval_more_items(struct schema *s, const struct schema_at *at,
                           struct schema_set *out)
{
    json_t *list = json_object_get(at->schema, "items");

    if (json_is_array(list))
        return from(s, at, (int64_t)json_array_size(list), out);
    schema_set_none(out);
    if (!at->not )
        schema_set_all(at->type, out);
    return 0;
}

static int contains_count(struct schema *s, const struct schema_at *at,
                          const char *word, int64_t *out)
{
    json_t *v = json_object_get(at->schema, word);
    struct schema_at other = *at;

    other.word = word;
    return v ? schema_count(s, &other, v, out) : 0;
}

int schema_eval_contains(struct schema *s, const struct schema_at *at,
                         struct schema_set *out)
{
    struct schema_need need = {.last = INT64_MAX};
    struct schema_set other;
    int64_t min = 1, max = -1;

    need.lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF);
    if (need.lit == LIT_BAD || contains_count(s, at, "minContains", &min) ||
        contains_count(s, at, "maxContains", &max))
        return -1;
    schema_set_none(out);
    if (!at->not ) {
        need.min = min;
        need.max = max;
        if (max >= 0 && min > max)
            return 0;
        if (min || max >= 0) {
            if (schema_need(s, at, true, &need, out))
                return -1;
        } else {
            schema_set_all(at->type, out);
        }
        return seen(s, at, 0, true, out);
    }
    need.max = min - 1;
    if (min && schema_need(s, at, true, &need, out))
        return -1;
    need.min = max + 1;
    need.max = -1;
    if (max < 0)
        return 0;
    return schema_need(s, at, true, &need, &other) ||
                   schema_set_or(s, at->type, out, &other, out)
               ? -1
               : 0;
}

/* minItems, maxItems, minProperties, maxProperties. */
int schema_eval_count(struct schema *s, const struct schema_at *at,
                      struct schema_set *out)
{
    bool least = at->word[1] == 'i';
    int64_t n;

    if (schema_count(s, at, at->value, &n))
        return -1;
    if (least != at->not )
        return schema_bounds(s, at, n + at->not, -1, out);
    if (least && !n)
        return schema_set_none(out), 0;
    return schema_bounds(s, at, 0, n - least, out);
}

int schema_eval_unique(struct schema *s, const struct schema_at *at,
                       struct schema_set *out)
{
    struct schema_case *c = schema_alloc(s, 1, sizeof *c);

    if (!c)
        return -1;
    if (!json_is_boolean(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a boolean");
    schema_set_none(out);
    if (json_is_false(at->value)) {
        if (!at->not )
            schema_set_all(at->type, out);
        return 0;
    }
    if (at->not )
        return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                           "its opposite");
    *c = (struct schema_case){.max = -1, .unique = at->node + 1};
    out->cases = c;
    out->ncase = 1;
    return 0;
}
