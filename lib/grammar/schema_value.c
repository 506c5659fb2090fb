/* SPDX-License-Identifier: MIT
 * schema_value.c - keywords about a value itself: type, enum, const, those of
 * numbers and of strings. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"
#include "grammar/schema_number.h"

static int everything(const struct schema_at *at, bool all,
                      struct schema_set *out)
{
    schema_set_none(out);
    if (all)
        schema_set_all(at->type, out);
    return 0;
}

int schema_eval_dialect(struct schema *s, const struct schema_at *at,
                        struct schema_set *out)
{
    static const char *const known[] = {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/schema"};
    const char *uri = json_string_value(at->value);
    size_t n = uri ? strcspn(uri, "#") : 0;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (uri && n == strlen(known[i]) && !memcmp(uri, known[i], n) &&
            (!uri[n] || !uri[n + 1]))
            return everything(at, !at->not, out);
    return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                       "not a known dialect");
}

/* ---- type ---- */

static const struct {
    const char *name;
    enum schema_type type;
} types[] = {
    {"null", TYPE_NULL},     {"boolean", TYPE_BOOL}, {"number", TYPE_NUMBER},
    {"string", TYPE_STRING}, {"array", TYPE_ARRAY},  {"object", TYPE_OBJECT},
    {"integer", NTYPE},
};

static int type_bits(struct schema *s, const struct schema_at *at,
                     const json_t *name, unsigned *bits)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is_string(name) &&
            !strcmp(types[i].name, json_string_value(name))) {
            *bits |= 1u << types[i].type;
            return 0;
        }
    return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a type");
}

int schema_eval_type(struct schema *s, const struct schema_at *at,
                     struct schema_set *out)
{
    const struct dfa *d;
    unsigned bits = 0;
    json_t *v;
    size_t i;

    if (json_is_array(at->value)) {
        json_array_foreach(at->value, i, v)
        {
            if (type_bits(s, at, v, &bits))
                return -1;
        }
    } else if (type_bits(s, at, at->value, &bits)) {
        return -1;
    }
    if (at->type != TYPE_NUMBER || bits & 1u << TYPE_NUMBER ||
        !(bits & 1u << NTYPE))
        return everything(at, !(bits & 1u << at->type) == at->not, out);
    if (schema_made(s, at, at->not ? NUMBER_BROKEN : NUMBER_WHOLE, "", 0, &d))
        return -1;
    schema_set_lang(s, 0, -1, d, out);
    return 0;
}

/* ---- const, enum ---- */

static enum schema_type type_of(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return TYPE_OBJECT;
    case JSON_ARRAY:
        return TYPE_ARRAY;
    case JSON_STRING:
        return TYPE_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return TYPE_NUMBER;
    case JSON_NULL:
        return TYPE_NULL;
    default:
        return TYPE_BOOL;
    }
}

/* Strings as they are; numbers in their first spelling. */
static int value_text(struct schema *s, const json_t *v,
                      struct schema_text *out)
{
    struct buf b = {0};
    struct decimal d;

    if (json_is_string(v)) {
        *out =
            (struct schema_text){json_string_value(v), json_string_length(v)};
        return schema_work(s, 1);
    }
    if (schema_number(s, v, &d))
        return -1;
    schema_decimal_write(&b, &d);
    out->n = b.n;
    out->p = b.bad ? NULL : arena_copy(&s->mem, b.p, b.n);
    buf_free(&b);
    return out->p ? schema_work(s, 5) : err_nomem(s->e);
}

static int by_text(const void *a, const void *b)
{
    const struct schema_text *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

/* Those numbers that are none of TEXT[N]. */
static int other_numbers(struct schema *s, const struct schema_at *at,
                         const struct schema_text *text, size_t n,
                         struct schema_set *out)
{
    const struct dfa *less, *more;
    struct schema_set one;

    schema_set_all(TYPE_NUMBER, out);
    for (size_t i = 0; i < n; i++) {
        if (schema_made(s, at, NUMBER_BELOW, text[i].p, text[i].n, &less) ||
            schema_made(s, at, NUMBER_ABOVE, text[i].p, text[i].n, &more) ||
            schema_dfa(s, '|', less, more, &less))
            return -1;
        schema_set_lang(s, 0, -1, less, &one);
        if (schema_set_and(s, TYPE_NUMBER, out, &one, out))
            return -1;
    }
    return 0;
}

/* Numbers or strings. */
static int texts(struct schema *s, const struct schema_at *at,
                 json_t *const *value, size_t n, struct schema_set *out)
{
    struct schema_text *t = schema_alloc(s, n, sizeof *t);
    struct schema_set set = {0};

    if (!t)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (value_text(s, value[i], &t[i]))
            return -1;
    qsort(t, n, sizeof *t, by_text);
    for (size_t i = 0; i < n; i++)
        if (!i || by_text(&t[i], &t[set.ntext - 1]))
            t[set.ntext++] = t[i];
    set.text = t;
    if (at->not &&at->type == TYPE_NUMBER)
        return other_numbers(s, at, t, set.ntext, out);
    if (at->not )
        return schema_set_not(s, &set, out);
    *out = set;
    return 0;
}

static int array_value(struct schema *s, const struct schema_at *at,
                       json_t *value, struct schema_set *out)
{
    int64_t n = (int64_t)json_array_size(value);
    struct schema_set *one = schema_alloc(s, (size_t)n + 2, sizeof *one), index;
    size_t i, k = 0;
    json_t *v;

    if (!one)
        return -1;
    if (!at->not ) {
        if (schema_bounds(s, at, n, n, &one[k++]))
            return -1;
    } else {
        if (schema_bounds(s, at, n + 1, -1, &one[k++]) ||
            (n && schema_bounds(s, at, 0, n - 1, &one[k++])))
            return -1;
    }
    json_array_foreach(value, i, v)
    {
        struct schema_need need = {.first = (int64_t)i, .last = (int64_t)i};
        uint32_t lit = schema_lit(s, v, at->node, NULL, NULL, i, true);

        need.lit = lit ^ at->not ;
        if (lit == LIT_BAD || schema_need(s, at, false, &need, &one[k]))
            return -1;
        if (at->not &&(schema_bounds(s, at, (int64_t)i + 1, -1, &index) ||
                       schema_set_and(s, TYPE_ARRAY, &one[k], &index, &one[k])))
            return -1;
        k++;
    }
    return schema_reduce(s, TYPE_ARRAY, one, k, !at->not, out);
}

static int object_value(struct schema *s, const struct schema_at *at,
                        json_t *value, struct schema_set *out)
{
    size_t n = json_object_size(value), k = 0;
    struct schema_set *one = schema_alloc(s, 2 * n + 1, sizeof *one);
    struct schema_keys *others = schema_alloc(s, 1, sizeof *others);
    struct schema_need need = {.keys = others, .min = 1, .max = -1};
    const char *key;
    json_t *v;

    if (!one || !others)
        return -1;
    *others = (struct schema_keys){.not = true, .names = value};
    need.lit = at->not ? LIT_ANY : LIT_NONE;
    if (schema_need(s, at, at->not, &need, &one[k++]))
        return -1;
    json_object_foreach(value, key, v)
    {
        uint32_t lit = schema_lit(s, v, at->node, NULL, key, 0, true);

        need.keys = schema_key(s, key);
        need.lit = lit ^ at->not ;
        if (lit == LIT_BAD || !need.keys ||
            schema_need(s, at, true, &need, &one[k++]))
            return -1;
        need.lit = LIT_NONE;
        if (at->not &&schema_need(s, at, false, &need, &one[k++]))
            return -1;
    }
    return schema_reduce(s, TYPE_OBJECT, one, k, !at->not, out);
}

int schema_value_set(struct schema *s, const struct schema_at *at,
                     json_t *value, struct schema_set *out)
{
    enum schema_type t = type_of(value);

    if (t != at->type)
        return everything(at, at->not, out);
    switch (t) {
    case TYPE_NULL:
        return everything(at, !at->not, out);
    case TYPE_BOOL:
        schema_set_none(out);
        out->bits = json_is_true(value) != at->not ? 2 : 1;
        return 0;
    case TYPE_NUMBER:
    case TYPE_STRING:
        return texts(s, at, &value, 1, out);
    case TYPE_ARRAY:
        return array_value(s, at, value, out);
    default:
        return object_value(s, at, value, out);
    }
}

/* An array or object as a value is a subschema of its own: the same each time
 * it is asked for. */
static int deep_value(struct schema *s, const struct schema_at *at,
                      json_t *value, const char *key, size_t i,
                      struct schema_set *out)
{
    uint32_t lit = schema_lit(s, value, at->node, at->word, key, i, true);

    return lit == LIT_BAD ? -1
                          : schema_eval(s, lit ^ at->not, at->type, false, out);
}

int schema_eval_const(struct schema *s, const struct schema_at *at,
                      struct schema_set *out)
{
    if (at->type >= TYPE_ARRAY)
        return deep_value(s, at, at->value, NULL, SCHEMA_SELF, out);
    return schema_value_set(s, at, at->value, out);
}

int schema_eval_enum(struct schema *s, const struct schema_at *at,
                     struct schema_set *out)
{
    size_t n = json_array_size(at->value), i, k = 0;
    struct schema_set *one;
    json_t **value, *v;

    if (!json_is_array(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not an array");
    value = schema_alloc(s, n, sizeof *value);
    one = schema_alloc(s, n, sizeof *one);
    if (!value || !one)
        return -1;
    json_array_foreach(at->value, i, v)
    {
        if (type_of(v) != at->type)
            continue;
        value[k] = v;
        if (at->type != TYPE_NUMBER && at->type != TYPE_STRING &&
            (at->type >= TYPE_ARRAY ? deep_value(s, at, v, NULL, i, &one[k])
                                    : schema_value_set(s, at, v, &one[k])))
            return -1;
        k++;
    }
    if (k && (at->type == TYPE_NUMBER || at->type == TYPE_STRING))
        return texts(s, at, value, k, out);
    return schema_reduce(s, at->type, one, k, at->not, out);
}

/* ---- numbers ---- */

static const struct {
    const char *name;
    enum number_kind kind, opposite;
} numbers[] = {
    {"exclusiveMaximum", NUMBER_BELOW, NUMBER_LEAST},
    {"exclusiveMinimum", NUMBER_ABOVE, NUMBER_MOST},
    {"maximum", NUMBER_MOST, NUMBER_ABOVE},
    {"minimum", NUMBER_LEAST, NUMBER_BELOW},
    {"multipleOf", NUMBER_PARTS, NUMBER_UNEVEN},
};

int schema_eval_number(struct schema *s, const struct schema_at *at,
                       struct schema_set *out)
{
    struct schema_text t;
    const struct dfa *d;
    size_t i = 0;

    if (!json_is_integer(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a number");
    while (strcmp(numbers[i].name, at->word))
        i++;
    memcpy(&t, s->number.p + (size_t)json_integer_value(at->value) * sizeof t,
           sizeof t);
    if (schema_made(s, at, at->not ? numbers[i].opposite : numbers[i].kind, t.p,
                    t.n, &d))
        return -1;
    schema_set_lang(s, 0, -1, d, out);
    return 0;
}

/* ---- strings ---- */

int schema_eval_length(struct schema *s, const struct schema_at *at,
                       struct schema_set *out)
{
    bool least = at->word[1] == 'i'; /* minLength */
    int64_t n;

    if (schema_count(s, at, at->value, &n))
        return -1;
    if (least != at->not )
        schema_set_lang(s, n + at->not, -1, NULL, out);
    else if (least && !n)
        schema_set_none(out);
    else
        schema_set_lang(s, 0, n - least, NULL, out);
    return 0;
}

/* And format. */
int schema_eval_pattern(struct schema *s, const struct schema_at *at,
                        struct schema_set *out)
{
    const struct dfa *d;

    if (!json_is_string(at->value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a string");
    if (schema_made(s, at, at->word[0], json_string_value(at->value),
                    json_string_length(at->value), &d) ||
        (at->not &&schema_dfa(s, '!', d, NULL, &d)))
        return -1;
    schema_set_lang(s, 0, -1, d, out);
    return 0;
}
