/* SPDX-License-Identifier: MIT
 * schema_eval.c - a subschema as a set of values: its keywords, all together.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"
#include "grammar/schema_number.h"

enum { MAX_NESTED = 64 };

#define ON(t)  (1u << TYPE_##t)
#define ON_ALL 0x3f

static const struct schema_keyword keywords[] = {
    {"$anchor", SHAPE_NONE, 0, NULL},
    {"$comment", SHAPE_NONE, 0, NULL},
    {"$defs", SHAPE_MAP, 0, NULL},
    {"$dynamicAnchor", SHAPE_NONE, 0, NULL},
    {"$id", SHAPE_NONE, 0, NULL},
    {"$ref", SHAPE_NONE, ON_ALL, schema_eval_ref},
    {"$schema", SHAPE_NONE, ON_ALL, schema_eval_dialect},
    {"additionalItems", SHAPE_ONE, ON(ARRAY), schema_eval_more_items},
    {"additionalProperties", SHAPE_ONE, ON(OBJECT), schema_eval_additional},
    {"allOf", SHAPE_LIST, ON_ALL, schema_eval_all},
    {"anyOf", SHAPE_LIST, ON_ALL, schema_eval_any},
    {"const", SHAPE_NONE, ON_ALL, schema_eval_const},
    {"contains", SHAPE_ONE, ON(ARRAY), schema_eval_contains},
    {"contentEncoding", SHAPE_NONE, 0, NULL},
    {"contentMediaType", SHAPE_NONE, 0, NULL},
    {"contentSchema", SHAPE_NONE, 0, NULL},
    {"default", SHAPE_NONE, 0, NULL},
    {"definitions", SHAPE_MAP, 0, NULL},
    {"dependencies", SHAPE_NAMES, ON(OBJECT), schema_eval_dependent},
    {"dependentRequired", SHAPE_NONE, ON(OBJECT), schema_eval_dependent},
    {"dependentSchemas", SHAPE_MAP, ON(OBJECT), schema_eval_dependent},
    {"deprecated", SHAPE_NONE, 0, NULL},
    {"description", SHAPE_NONE, 0, NULL},
    {"else", SHAPE_ONE, 0, NULL},
    {"enum", SHAPE_NONE, ON_ALL, schema_eval_enum},
    {"examples", SHAPE_NONE, 0, NULL},
    {"exclusiveMaximum", SHAPE_NONE, ON(NUMBER), schema_eval_number},
    {"exclusiveMinimum", SHAPE_NONE, ON(NUMBER), schema_eval_number},
    {"format", SHAPE_NONE, ON(STRING), schema_eval_pattern},
    {"if", SHAPE_ONE, ON_ALL, schema_eval_if},
    {"items", SHAPE_ONE_LIST, ON(ARRAY), schema_eval_items},
    {"maxContains", SHAPE_NONE, 0, NULL},
    {"maxItems", SHAPE_NONE, ON(ARRAY), schema_eval_count},
    {"maxLength", SHAPE_NONE, ON(STRING), schema_eval_length},
    {"maxProperties", SHAPE_NONE, ON(OBJECT), schema_eval_count},
    {"maximum", SHAPE_NONE, ON(NUMBER), schema_eval_number},
    {"minContains", SHAPE_NONE, 0, NULL},
    {"minItems", SHAPE_NONE, ON(ARRAY), schema_eval_count},
    {"minLength", SHAPE_NONE, ON(STRING), schema_eval_length},
    {"minProperties", SHAPE_NONE, ON(OBJECT), schema_eval_count},
    {"minimum", SHAPE_NONE, ON(NUMBER), schema_eval_number},
    {"multipleOf", SHAPE_NONE, ON(NUMBER), schema_eval_number},
    {"not", SHAPE_ONE, ON_ALL, schema_eval_not},
    {"oneOf", SHAPE_LIST, ON_ALL, schema_eval_one},
    {"pattern", SHAPE_NONE, ON(STRING), schema_eval_pattern},
    {"patternProperties", SHAPE_MAP, ON(OBJECT), schema_eval_patterns},
    {"prefixItems", SHAPE_LIST, ON(ARRAY), schema_eval_prefix},
    {"properties", SHAPE_MAP, ON(OBJECT), schema_eval_properties},
    {"propertyNames", SHAPE_ONE, ON(OBJECT), schema_eval_names},
    {"readOnly", SHAPE_NONE, 0, NULL},
    {"required", SHAPE_NONE, ON(OBJECT), schema_eval_required},
    {"then", SHAPE_ONE, 0, NULL},
    {"title", SHAPE_NONE, 0, NULL},
    {"type", SHAPE_NONE, ON_ALL, schema_eval_type},
    {"unevaluatedItems", SHAPE_ONE, 0, NULL},
    {"unevaluatedProperties", SHAPE_ONE, 0, NULL},
    {"uniqueItems", SHAPE_NONE, ON(ARRAY), schema_eval_unique},
    {"writeOnly", SHAPE_NONE, 0, NULL},
};

static int by_name(const void *a, const void *b)
{
    return strcmp(a, ((const struct schema_keyword *)b)->name);
}

const struct schema_keyword *schema_keyword(const char *name)
{
    return bsearch(name, keywords, sizeof keywords / sizeof *keywords,
                   sizeof *keywords, by_name);
}

/* ---- for keywords ---- */

int schema_reduce(struct schema *s, enum schema_type t, struct schema_set *sets,
                  size_t n, bool and, struct schema_set *out)
{
    for (; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n; i += 2) {
            sets[i / 2] = sets[i];
            if (i + 1 < n && (and? schema_set_and : schema_set_or)(
                                 s, t, &sets[i], &sets[i + 1], &sets[i / 2]))
                return -1;
        }
    if (n)
        *out = sets[0];
    else if (and)
        schema_set_all(t, out);
    else
        schema_set_none(out);
    return 0;
}

static int one_case(struct schema *s, const struct schema_case *c,
                    struct schema_set *out)
{
    struct schema_case *p = schema_alloc(s, 1, sizeof *p);

    schema_set_none(out);
    if (!p)
        return -1;
    *p = *c;
    out->cases = p;
    out->ncase = 1;
    return 0;
}

int schema_need(struct schema *s, const struct schema_at *at, bool some,
                const struct schema_need *need, struct schema_set *out)
{
    struct schema_case c = {.max = -1};
    struct schema_need *n = schema_alloc(s, 1, sizeof *n);

    if (!n)
        return -1;
    *n = *need;
    n->node = at->node;
    n->word = at->word;
    if (!some && need->lit == LIT_ANY)
        return schema_set_all(at->type, out), 0;
    if (some && need->lit == LIT_NONE && need->min)
        return schema_set_none(out), 0;
    *(some ? &c.some : &c.all) = n;
    return one_case(s, &c, out);
}

int schema_bounds(struct schema *s, const struct schema_at *at, int64_t min,
                  int64_t max, struct schema_set *out)
{
    struct schema_case c = {.min = min, .max = max, .node = at->node};

    if (max >= 0 && min > max)
        return schema_set_none(out), 0;
    return one_case(s, &c, out);
}

int schema_count(struct schema *s, const struct schema_at *at,
                 const json_t *value, int64_t *out)
{
    struct decimal d;

    *out = 0;
    if (!json_is_integer(value))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a number");
    if (schema_number(s, value, &d))
        return -1;
    if (d.neg || !schema_decimal_whole(&d))
        return schema_fail(s, at->node, at->word, ERR_FORMAT, "not a count");
    if (d.exp > 8)
        return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                           "too large a count");
    for (int i = 0; i < d.n || (d.n && i <= d.exp); i++)
        *out = *out * 10 + (i < d.n ? d.d[i] - '0' : 0);
    return 0;
}

int schema_made(struct schema *s, const struct schema_at *at, int kind,
                const char *text, size_t n, const struct dfa **out)
{
    struct buf key = {0};
    struct decimal a = {0};
    struct dfa *d = NULL;
    uint32_t id;
    bool fresh = false;
    int rc = 0;

    buf_putc(&key, kind);
    buf_put(&key, text, n);
    for (buf_putc(&key, 1); key.n % 4;)
        buf_putc(&key, 0);
    id = key.bad ? INTERN_NONE
                 : intern_find(&s->made, (uint32_t *)(void *)key.p, key.n / 4);
    if (id != INTERN_NONE) {
        memcpy(out, s->made_dfa.p + id * sizeof *out, sizeof *out);
        buf_free(&key);
        return 0;
    }
    if (kind == 'p') {
        rc = dfa_regex(&d, text, n, DFA_ANYWHERE, s->e);
    } else if (kind == 'f') {
        rc = schema_format(s, at, text, &d);
    } else {
        if (n)
            rc = schema_decimal_read(&a, text, n, s->e);
        rc = rc || schema_number_dfa(&d, (enum number_kind)kind, &a, s->e);
    }
    if (!rc)
        rc = schema_dfa_keep(s, d);
    if (!rc) {
        id = intern_put(&s->made, (uint32_t *)(void *)key.p, key.n / 4, &fresh);
        buf_put(&s->made_dfa, &d, sizeof d);
        if (key.bad || id == INTERN_NONE)
            rc = err_nomem(s->e);
        rc = rc || buf_ok(&s->made_dfa, s->e);
        *out = d;
    }
    buf_free(&key);
    return rc ? -1 : 0;
}

/* ---- unevaluatedItems, unevaluatedProperties ---- */

static const struct schema_keys all_keys = {.not = true};

/* What C has not seen must satisfy LIT; NOT: or something must not. */
static int unseen(struct schema *s, const struct schema_at *at,
                  const struct schema_case *c, uint32_t lit,
                  struct schema_set *out)
{
    struct schema_need n = {.lit = lit ^ at->not, .min = 1, .max = -1};
    struct schema_keys *k = schema_alloc(s, 1, sizeof *k);
    const struct schema_keys **sub;
    struct schema_set one, need;
    size_t i = 0;
    bool some = false;

    for (const struct schema_seen *e = c->seen; e; e = e->next)
        i++;
    sub = schema_alloc(s, i, sizeof *sub);
    if (!k || !sub)
        return -1;
    *k = (struct schema_keys){.not = true, .sub = sub};
    n.last = INT64_MAX;
    for (const struct schema_seen *e = c->seen; e; e = e->next) {
        if (e->keys)
            sub[k->nsub++] = e->keys;
        some |= e->some;
        if (e->count < 0)
            n.first = INT64_MAX;
        else if (e->count > n.first)
            n.first = e->count;
    }
    n.keys = at->type == TYPE_OBJECT ? k : NULL;
    if (n.first == INT64_MAX)
        return at->not ? (schema_set_none(out), 0) : one_case(s, c, out);
    if (some && lit != LIT_ANY)
        return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                           "items that contains has evaluated");
    return one_case(s, c, &one) || schema_need(s, at, at->not, &n, &need) ||
                   schema_set_and(s, at->type, &one, &need, out)
               ? -1
               : 0;
}

/* SET is what the other keywords say, with what they have seen; OUT what is
 * left of it, or, if NOT, what is against the keyword. */
static int unevaluated(struct schema *s, const struct schema_at *at,
                       const struct schema_set *set, struct schema_set *out)
{
    uint32_t lit = schema_child(s, at, at->value, NULL, SCHEMA_SELF);
    struct schema_set *one = schema_alloc(s, set->ncase, sizeof *one);

    if (lit == LIT_BAD || !one)
        return -1;
    for (size_t i = 0; i < set->ncase; i++)
        if (unseen(s, at, &set->cases[i], lit, &one[i]))
            return -1;
    return schema_reduce(s, at->type, one, set->ncase, false, out);
}

/* All members or items are seen, or (DROP) none. */
static int see(struct schema *s, enum schema_type t, bool drop,
               struct schema_set *set)
{
    struct schema_case *c = schema_alloc(s, set->ncase, sizeof *c);
    struct schema_seen *all = schema_alloc(s, 1, sizeof *all);

    if (!c || !all)
        return -1;
    *all = (struct schema_seen){.keys = t == TYPE_OBJECT ? &all_keys : NULL,
                                .count = -1};
    for (size_t i = 0; i < set->ncase; i++) {
        c[i] = set->cases[i];
        c[i].seen = drop ? NULL : all;
    }
    set->cases = c;
    return 0;
}

/* ---- a subschema ---- */

/* All keywords but the two above. */
static int keywords_set(struct schema *s, struct schema_at *at,
                        struct schema_set *out)
{
    struct schema_set one;
    const char *key;
    json_t *v;

    if (at->not )
        schema_set_none(out);
    else
        schema_set_all(at->type, out);
    json_object_foreach(at->schema, key, v)
    {
        const struct schema_keyword *k = schema_keyword(key);

        if (!k)
            return schema_fail(s, at->node, key, ERR_UNSUPPORTED,
                               "not a known keyword");
        if (!(k->types & 1u << at->type))
            continue;
        at->word = k->name;
        at->value = v;
        if (k->eval(s, at, &one) || (at->not ? schema_set_or : schema_set_and)(
                                        s, at->type, out, &one, out))
            return -1;
    }
    return 0;
}

static int node_set(struct schema *s, struct schema_at *at,
                    struct schema_set *out)
{
    static const char *const rest[NTYPE] = {[TYPE_ARRAY] = "unevaluatedItems",
                                            [TYPE_OBJECT] =
                                                "unevaluatedProperties"};
    const char *word = rest[at->type];
    json_t *v = word ? json_object_get(at->schema, word) : NULL;
    struct schema_set others;
    bool not = at->not, track = at->track;

    if (v && !not )
        at->track = true;
    if (keywords_set(s, at, out))
        return -1;
    if (v) {
        others = *out;
        at->not = false;
        at->track = true;
        if (not &&keywords_set(s, at, &others))
            return -1;
        at->not = not ;
        at->word = word;
        at->value = v;
        if (unevaluated(s, at, &others, &others) ||
            (not ? schema_set_or(s, at->type, out, &others, out)
                 : (*out = others, 0)))
            return -1;
    }
    if (at->type >= TYPE_ARRAY && (track || v) && (v || not ))
        return see(s, at->type, not, out);
    return 0;
}

int schema_eval(struct schema *s, uint32_t lit, enum schema_type t, bool track,
                struct schema_set *out)
{
    static const struct schema_set busy;
    struct schema_at at = {.node = lit >> 1, .type = t};
    struct schema_node *n = schema_node(s, at.node);
    const struct schema_set **memo;
    struct schema_set *made;
    bool value = n->value;
    int rc;

    if (lit == LIT_ANY || lit == LIT_NONE) {
        schema_set_none(out);
        if (lit == LIT_ANY)
            schema_set_all(t, out);
        return 0;
    }
    at.schema = n->json;
    at.not = lit & 1;
    at.track = track && t >= TYPE_ARRAY && !at.not ;
    if (!n->memo && !(n->memo = schema_alloc(s, NTYPE * 4, sizeof *memo)))
        return -1;
    memo = &n->memo[(t * 2 + at.not ) * 2 + at.track];
    if (*memo == &busy)
        return schema_fail(s, at.node, NULL, ERR_FORMAT, "refers to itself");
    if (*memo) {
        *out = **memo;
        return 0;
    }
    if (s->depth >= MAX_NESTED)
        return schema_fail(s, at.node, NULL, ERR_UNSUPPORTED, "too deep");
    made = schema_alloc(s, 20, sizeof *made / 20 + 1);
    if (!made)
        return -1;
    *memo = &busy;
    s->depth++;
    at.word = n->word;
    rc = value ? schema_value_set(s, &at, at.schema, out)
               : node_set(s, &at, out);
    s->depth--;
    *memo = NULL;
    if (rc) {
        /* What the sets themselves say does not know where. */
        if (s->e->msg[0] != '/' && s->e->code != ERR_NOMEM) {
            struct buf b = {0};

            schema_pointer(s, at.node, &b);
            err_prefix(s->e, "%.200s/%s", buf_str(&b),
                       at.word && !value ? at.word : "");
            buf_free(&b);
        }
        return -1;
    }
    *made = *out;
    *memo = made;
    return 0;
}
