/* SPDX-License-Identifier: MIT
 * schema_object.c - keywords of objects. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"

/* ---- names ---- */

static int by_text(const void *a, const void *b)
{
    const struct schema_text *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

bool schema_keys_have(const struct schema_keys *k, const char *name, size_t n)
{
    struct schema_text t = {name, n};
    bool in = k->names && json_object_getn(k->names, name, n);

    in = in || (k->ntext && bsearch(&t, k->text, k->ntext, sizeof t, by_text));
    for (size_t i = 0; !in && i < k->nmatch; i++)
        in = dfa_match(k->match[i], name, n);
    for (size_t i = 0; !in && i < k->nsub; i++)
        in = schema_keys_have(k->sub[i], name, n);
    return in != k->not ;
}

const struct schema_keys *schema_key(struct schema *s, const char *name)
{
    struct schema_keys *k = schema_alloc(s, 1, sizeof *k);
    struct schema_text *t = schema_alloc(s, 1, sizeof *t);

    if (!k || !t)
        return NULL;
    *t = (struct schema_text){name, strlen(name)};
    *k = (struct schema_keys){.text = t, .ntext = 1};
    return k;
}

/* The names that match any of the patterns of patternProperties. */
static int match_any(struct schema *s, const struct schema_at *at,
                     json_t *patterns, struct schema_keys *k)
{
    struct schema_at other = *at;
    const struct dfa **all =
        schema_alloc(s, json_object_size(patterns), sizeof *all);
    const char *key;
    json_t *v;

    if (!all)
        return -1;
    other.word = "patternProperties";
    json_object_foreach(patterns, key, v)
    {
        if (schema_made(s, &other, 'p', key, strlen(key), &all[k->nmatch++]))
            return -1;
    }
    k->match = all;
    return 0;
}

/* These names have been seen, in each case. */
static int seen(struct schema *s, const struct schema_at *at,
                const struct schema_keys *k, struct schema_set *set)
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
        *e = (struct schema_seen){.next = c[i].seen, .keys = k};
        c[i].seen = e;
    }
    set->cases = c;
    return 0;
}

/* ---- keywords ---- */

/* Members whose names are in K[i] satisfy LIT[i]; or one that does not. */
static int members(struct schema *s, const struct schema_at *at,
                   const struct schema_keys *const *k, const uint32_t *lit,
                   size_t n, struct schema_set *out)
{
    struct schema_set *one = schema_alloc(s, n, sizeof *one);

    if (!one)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct schema_need need = {
            .keys = k[i], .lit = lit[i] ^ at->not, .min = 1, .max = -1};

        if (schema_need(s, at, at->not, &need, &one[i]))
            return -1;
    }
    return schema_reduce(s, at->type, one, n, !at->not, out);
}

static int map(struct schema *s, const struct schema_at *at,
               const struct schema_keys ***keys, uint32_t **lit, size_t *n)
{
    const char *key;
    json_t *v;
    size_t i = 0;

    if (!json_is_object(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not an object");
    *n = json_object_size(at->value);
    *keys = schema_alloc(s, *n, sizeof **keys);
    *lit = schema_alloc(s, *n, sizeof **lit);
    if (!*keys || !*lit)
        return -1;
    json_object_foreach(at->value, key, v)
    {
        (*lit)[i] = schema_child(s, at, v, key, 0);
        if ((*lit)[i++] == LIT_BAD)
            return -1;
    }
    return 0;
}

int schema_eval_properties(struct schema *s, const struct schema_at *at,
                           struct schema_set *out)
{
    struct schema_keys *all = schema_alloc(s, 1, sizeof *all);
    const struct schema_keys **keys;
    const char *key;
    uint32_t *lit;
    size_t n, i = 0;
    json_t *v;

    if (!all || map(s, at, &keys, &lit, &n))
        return -1;
    json_object_foreach(at->value, key, v)
    {
        keys[i] = schema_key(s, key);
        if (!keys[i++])
            return -1;
    }
    *all = (struct schema_keys){.names = at->value};
    return members(s, at, keys, lit, n, out) || seen(s, at, all, out) ? -1 : 0;
}

int schema_eval_patterns(struct schema *s, const struct schema_at *at,
                         struct schema_set *out)
{
    struct schema_keys *all = schema_alloc(s, 1, sizeof *all);
    const struct schema_keys **keys;
    uint32_t *lit;
    size_t n;

    if (!all || map(s, at, &keys, &lit, &n) || match_any(s, at, at->value, all))
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct schema_keys *k = schema_alloc(s, 1, sizeof *k);

        if (!k)
            return -1;
        *k = (struct schema_keys){.match = &all->match[i], .nmatch = 1};
        keys[i] = k;
    }
    return members(s, at, keys, lit, n, out) || seen(s, at, all, out) ? -1 : 0;
}

int schema_eval_additional(struct schema *s, const struct schema_at *at,
                           struct schema_set *out)
{
    uint32_t lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF);
    struct schema_keys *rest = schema_alloc(s, 1, sizeof *rest);
    json_t *patterns = json_object_get(at->schema, "patternProperties");
    const struct schema_keys *keys = rest;

    if (lit == LIT_BAD || !rest)
        return -1;
    *rest = (struct schema_keys){
        .not = true, .names = json_object_get(at->schema, "properties")};
    if (patterns && match_any(s, at, patterns, rest))
        return -1;
    return members(s, at, &keys, &lit, 1, out) || seen(s, at, keys, out) ? -1
                                                                         : 0;
}

int schema_eval_names(struct schema *s, const struct schema_at *at,
                      struct schema_set *out)
{
    uint32_t lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF),
             never = LIT_NONE;
    struct schema_keys *k = schema_alloc(s, 1, sizeof *k);
    const struct schema_keys *keys = k;
    struct schema_set names, langs;
    const struct dfa **d = schema_alloc(s, 1, sizeof *d);

    if (lit == LIT_BAD || !k || !d ||
        schema_eval(s, lit, TYPE_STRING, false, &names))
        return -1;
    *k = (struct schema_keys){
        .not = true, .text = names.text, .ntext = names.ntext};
    langs = names;
    langs.ntext = 0;
    if (names.nlang && !names.lang[0].d && !names.lang[0].min &&
        names.lang[0].max < 0) {
        schema_set_none(out);
        if (!at->not )
            schema_set_all(at->type, out);
        return 0;
    }
    if (names.nlang) {
        if (schema_set_dfa(s, &langs, d))
            return -1;
        k->match = d;
        k->nmatch = 1;
    }
    return members(s, at, &keys, &never, 1, out);
}

/* Is there, or is there not, a member of this name? */
static int named(struct schema *s, const struct schema_at *at, const char *name,
                 bool there, struct schema_set *out)
{
    struct schema_need need = {.keys = schema_key(s, name),
                               .lit = there ? LIT_ANY : LIT_NONE,
                               .min = 1,
                               .max = -1};

    return need.keys ? schema_need(s, at, there, &need, out) : -1;
}

/* All of the names of a list; or not all. */
static int all_named(struct schema *s, const struct schema_at *at,
                     const json_t *names, bool not, struct schema_set *out)
{
    struct schema_set *one =
        schema_alloc(s, json_array_size(names), sizeof *one);
    json_t *v;
    size_t i;

    if (!one)
        return -1;
    if (!json_is_array(names))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not an array");
    json_array_foreach(names, i, v)
    {
        if (!json_is_string(v))
            return schema_fail(s, at->node, at->word, ERR_FORMAT,
                               "not a list of names");
        if (named(s, at, json_string_value(v), !not, &one[i]))
            return -1;
    }
    return schema_reduce(s, at->type, one, json_array_size(names), !not, out);
}

int schema_eval_required(struct schema *s, const struct schema_at *at,
                         struct schema_set *out)
{
    return all_named(s, at, at->value, at->not, out);
}

/* Where there is KEY: V. */
static int dependent(struct schema *s, const struct schema_at *at,
                     const char *key, json_t *v, struct schema_set *out)
{
    struct schema_set here, missing;
    uint32_t lit;

    if (named(s, at, key, true, &here) || named(s, at, key, false, &missing))
        return -1;
    if (json_is_array(v)) {
        if (all_named(s, at, v, at->not, out))
            return -1;
    } else {
        lit = schema_child(s, at, v, key, 0);
        if (lit == LIT_BAD ||
            schema_eval(s, lit ^ at->not, at->type, at->track, out))
            return -1;
    }
    if (schema_set_and(s, at->type, out, &here, out))
        return -1;
    return at->not ? 0 : schema_set_or(s, at->type, out, &missing, out);
}

int schema_eval_dependent(struct schema *s, const struct schema_at *at,
                          struct schema_set *out)
{
    struct schema_set *one =
        schema_alloc(s, json_object_size(at->value), sizeof *one);
    const char *key;
    size_t n = 0;
    json_t *v;

    if (!one)
        return -1;
    if (!json_is_object(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not an object");
    json_object_foreach(at->value, key, v)
    {
        if (dependent(s, at, key, v, &one[n++]))
            return -1;
    }
    return schema_reduce(s, at->type, one, n, !at->not, out);
}
