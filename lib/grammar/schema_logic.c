/* SPDX-License-Identifier: MIT
 * schema_logic.c - keywords that join subschemas: allOf, anyOf, oneOf, not, if,
 * $ref. */
#include "grammar/schema.h"

/* The literals of a list of subschemas. */
static uint32_t *list(struct schema *s, const struct schema_at *at, size_t *n)
{
    uint32_t *lit;
    json_t *v;
    size_t i;

    *n = json_array_size(at->value);
    if (!*n) {
        schema_fail(s, at->node, at->word, ERR_FORMAT,
                    "not an array with something in it");
        return NULL;
    }
    lit = schema_alloc(s, *n, sizeof *lit);
    if (!lit)
        return NULL;
    json_array_foreach(at->value, i, v)
    {
        lit[i] = schema_child(s, at, v, NULL, i);
        if (lit[i] == LIT_BAD)
            return NULL;
    }
    return lit;
}

/* All, or (ALL false) any, of LIT[N], each turned round if NOT. */
static int join(struct schema *s, const struct schema_at *at,
                const uint32_t *lit, size_t n, bool not, bool all,
                struct schema_set *out)
{
    struct schema_set *one = schema_alloc(s, n, sizeof *one);

    if (!one)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (schema_eval(s, lit[i] ^ not, at->type, at->track, &one[i]))
            return -1;
    return schema_reduce(s, at->type, one, n, all, out);
}

int schema_eval_all(struct schema *s, const struct schema_at *at,
                    struct schema_set *out)
{
    size_t n;
    uint32_t *lit = list(s, at, &n);

    return lit ? join(s, at, lit, n, at->not, !at->not, out) : -1;
}

/* Each of the values that satisfy any, by exactly which of them it does: they
 * have seen different things. */
static int each_of(struct schema *s, const struct schema_at *at,
                   const uint32_t *lit, size_t n, struct schema_set *out)
{
    struct schema_set none, some, yes, no, a, b;

    schema_set_all(at->type, &none);
    schema_set_none(&some);
    for (size_t i = 0; i < n; i++) {
        if (schema_eval(s, lit[i], at->type, true, &yes) ||
            schema_eval(s, lit[i] ^ 1, at->type, false, &no) ||
            schema_set_and(s, at->type, &none, &yes, &a) ||
            schema_set_and(s, at->type, &some, &yes, &b) ||
            schema_set_or(s, at->type, &a, &b, &a) ||
            schema_set_and(s, at->type, &some, &no, &b) ||
            schema_set_or(s, at->type, &a, &b, &some) ||
            schema_set_and(s, at->type, &none, &no, &none))
            return -1;
    }
    *out = some;
    return 0;
}

int schema_eval_any(struct schema *s, const struct schema_at *at,
                    struct schema_set *out)
{
    size_t n;
    uint32_t *lit = list(s, at, &n);

    if (!lit)
        return -1;
    if (at->track)
        return each_of(s, at, lit, n, out);
    return join(s, at, lit, n, at->not, at->not, out);
}

/* Two of the subschemas. */
static int two(struct schema *s, const struct schema_at *at,
               const uint32_t *lit, size_t n, struct schema_set *out)
{
    struct schema_set a, b;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (schema_eval(s, lit[i], at->type, false, &a) ||
                schema_eval(s, lit[j], at->type, false, &b) ||
                schema_set_and(s, at->type, &a, &b, &a) ||
                schema_set_or(s, at->type, out, &a, out))
                return -1;
    return 0;
}

int schema_eval_one(struct schema *s, const struct schema_at *at,
                    struct schema_set *out)
{
    struct schema_set *one, other, both;
    size_t n;
    uint32_t *lit = list(s, at, &n);

    if (!lit)
        return -1;
    if (at->not )
        return join(s, at, lit, n, true, true, out) || two(s, at, lit, n, out)
                   ? -1
                   : 0;
    one = schema_alloc(s, n, sizeof *one);
    if (!one)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (schema_eval(s, lit[i], at->type, at->track, &one[i]))
            return -1;
        /* The opposite is asked only of those that it may share a value with.
         */
        for (size_t j = 0; j < n; j++) {
            if (j == i || schema_set_empty(at->type, &one[i]))
                continue;
            if (schema_eval(s, lit[j], at->type, false, &other) ||
                schema_set_and(s, at->type, &one[i], &other, &both))
                return -1;
            if (schema_set_empty(at->type, &both))
                continue;
            if (schema_eval(s, lit[j] ^ 1, at->type, false, &other) ||
                schema_set_and(s, at->type, &one[i], &other, &one[i]))
                return -1;
        }
    }
    return schema_reduce(s, at->type, one, n, false, out);
}

int schema_eval_not(struct schema *s, const struct schema_at *at,
                    struct schema_set *out)
{
    uint32_t lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF);

    if (lit == LIT_BAD)
        return -1;
    return schema_eval(s, lit ^ !at->not, at->type, false, out);
}

static uint32_t branch(struct schema *s, const struct schema_at *at,
                       const char *word)
{
    json_t *v = json_object_get(at->schema, word);
    struct schema_at other = *at;

    other.word = word;
    return v ? schema_child(s, &other, v, NULL, SCHEMA_SELF) : LIT_ANY;
}

int schema_eval_if(struct schema *s, const struct schema_at *at,
                   struct schema_set *out)
{
    uint32_t lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF),
             yes = branch(s, at, "then"), no = branch(s, at, "else");
    struct schema_set a, b, c, d;

    if (lit == LIT_BAD || yes == LIT_BAD || no == LIT_BAD)
        return -1;
    if (yes == LIT_ANY && no == LIT_ANY && !at->track) {
        schema_set_none(out);
        if (!at->not )
            schema_set_all(at->type, out);
        return 0;
    }
    if (schema_eval(s, lit, at->type, at->track, &a) ||
        schema_eval(s, yes ^ at->not, at->type, at->track, &b) ||
        schema_set_and(s, at->type, &a, &b, &a) ||
        schema_eval(s, lit ^ 1, at->type, false, &c) ||
        schema_eval(s, no ^ at->not, at->type, at->track, &d) ||
        schema_set_and(s, at->type, &c, &d, &c))
        return -1;
    return schema_set_or(s, at->type, &a, &c, out);
}

int schema_eval_ref(struct schema *s, const struct schema_at *at,
                    struct schema_set *out)
{
    uint32_t lit;

    if (!json_is_string(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a string");
    lit = schema_ref(s, at->node, json_string_value(at->value));
    if (lit == LIT_BAD)
        return -1;
    return schema_eval(s, lit ^ at->not, at->type, at->track, out);
}
