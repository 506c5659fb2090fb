/* SPDX-License-Identifier: MIT
 * filter_seq.c - filters of lists and what can be gone over.
 */
#include "jinja/jinja_impl.h"

#define FILTER(name)                                                           \
    static struct val f_##name(struct ctx *c, struct val x,                    \
                               const struct val *p, const struct args *a)
#define UNUSED ((void)c, (void)x, (void)p, (void)a)

static bool given(struct val v)
{
    return v.type != V_ABSENT;
}

static struct val generator(struct val l)
{
    l.type = l.type == V_LIST ? V_GEN : l.type;
    return l;
}

/* "a.0.b" of X, as attribute= has it; an integer is an index. */
static struct val by_path(struct ctx *c, struct val x, struct val path)
{
    size_t at = 0, to;
    struct val k;
    big i;

    if (val_is_int(path))
        return eval_item(c, x, path);
    if (path.type != V_STR)
        return ctx_fail(c, "attribute must be a string or an integer");
    for (; !failed(c) && at <= path.s->n; at = to + 1) {
        for (to = at; to < path.s->n && path.s->p[to] != '.';)
            to++;
        k = str_part(c, path.s, at, to - at);
        if (failed(c))
            break;
        if (num_parse_int(k.s, 10, &i))
            k = val_int(i);
        x = eval_item(c, x, k);
    }
    return x;
}

static struct val key_of(struct ctx *c, struct val x, struct val path)
{
    return given(path) && path.type != V_NONE ? by_path(c, x, path) : x;
}

static struct val lower_key(struct ctx *c, struct val k, bool sensitive)
{
    return k.type == V_STR && !sensitive && !failed(c) ? str_case(c, k.s, 'l')
                                                       : k;
}

static struct val copied(struct ctx *c, struct val x)
{
    const struct list *l = val_iter(c, x);
    struct val v;

    if (!l)
        return VAL_NONE;
    v = list_of(c, V_LIST, l->v, l->n);
    if (!failed(c))
        v.l->data = l->data;
    ctx_step(c, l->n / 8);
    return v;
}

FILTER(list)
{
    UNUSED;
    return copied(c, x);
}

FILTER(items)
{
    UNUSED;
    if (x.type == V_UNDEF)
        return generator(list_new(c, V_LIST, 0, false));
    if (x.type != V_DICT)
        return ctx_fail(c, "Can only get item pairs from a mapping.");
    return generator(
        copied(c, (struct val){.type = V_VIEW, .view = {x.d, 'i'}}));
}

FILTER(first)
{
    const struct list *l;

    UNUSED;
    if (x.type == V_STR)
        return eval_item(c, x, val_int(0));
    l = val_iter(c, x);
    if (l && l->n)
        return l->v[0];
    return val_undef(c, NULL, NULL);
}

FILTER(last)
{
    const struct list *l;

    UNUSED;
    if (x.type == V_STR)
        return eval_item(c, x, val_int(-1));
    if (x.type == V_GEN)
        return ctx_fail(c, "'generator' object is not reversible");
    l = val_iter(c, x);
    return l && l->n ? l->v[l->n - 1] : val_undef(c, NULL, NULL);
}

/* Which one is chance in Jinja; here it is always the first. */
FILTER(random)
{
    return f_first(c, x, p, a);
}

FILTER(reverse)
{
    struct val l, v;
    size_t n;

    UNUSED;
    if (x.type == V_STR) {
        size_t from = c->out.n;

        ctx_step(c, x.s->n);
        for (size_t at = x.s->n, end = at; at-- > 0;)
            if ((x.s->p[at] & 0xc0) != 0x80) {
                ctx_put_part(c, x.s, at, end - at);
                end = at;
            }
        return ctx_take(c, from);
    }
    l = copied(c, x);
    n = failed(c) ? 0 : l.l->n;
    for (size_t i = 0; i < n / 2; i++) {
        v = l.l->v[i];
        l.l->v[i] = l.l->v[n - 1 - i];
        l.l->v[n - 1 - i] = v;
    }
    return generator(l);
}

FILTER(join)
{
    const struct list *l = val_iter(c, x);
    size_t from = c->out.n;

    (void)a;
    for (size_t i = 0; l && i < l->n && !failed(c); i++) {
        struct val v = key_of(c, l->v[i], p[1]);

        if (i && given(p[0]))
            show_str(c, p[0]);
        if (!failed(c))
            show_str(c, v);
    }
    return ctx_take(c, from);
}

/* Keys for sorting: of each item by PATHS, which commas part. */
static struct val *sort_keys(struct ctx *c, const struct list *l,
                             struct val paths, bool sensitive)
{
    struct val *keys = ctx_alloc(c, l->n + 1, sizeof *keys);

    for (size_t i = 0; keys && i < l->n && !failed(c); i++) {
        struct val k = VAL_NONE;

        if (paths.type == V_STR && memchr(paths.s->p, ',', paths.s->n)) {
            k = list_new(c, V_TUPLE, 0, false);
            for (size_t at = 0, to; at <= paths.s->n && !failed(c);
                 at = to + 1) {
                for (to = at; to < paths.s->n && paths.s->p[to] != ',';)
                    to++;
                list_add(c, &k,
                         lower_key(c,
                                   by_path(c, l->v[i],
                                           str_part(c, paths.s, at, to - at)),
                                   sensitive));
            }
        } else {
            k = lower_key(c, key_of(c, l->v[i], paths), sensitive);
        }
        keys[i] = k;
    }
    return keys;
}

FILTER(sort)
{
    struct val l = copied(c, x), *keys;
    bool reverse = given(p[0]) && val_true(c, p[0]),
         sensitive = given(p[1]) && val_true(c, p[1]);

    (void)a;
    if (failed(c))
        return l;
    keys = sort_keys(c, l.l, p[2], sensitive);
    if (keys)
        list_sort(c, l.l, keys, reverse);
    return l;
}

FILTER(dictsort)
{
    bool sensitive = given(p[0]) && val_true(c, p[0]), by_value = false,
         reverse = given(p[2]) && val_true(c, p[2]);
    struct val l, *keys;

    (void)a;
    if (given(p[1]))
        by_value = p[1].type == V_STR && str_is(p[1].s, "value");
    if (given(p[1]) && !by_value &&
        !(p[1].type == V_STR && str_is(p[1].s, "key")))
        return ctx_fail(c, "You can only sort by either \"key\" or \"value\"");
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (x.type != V_DICT)
        return ctx_fail(c, "'%s object' has no attribute 'items'",
                        val_type_name(x));
    l = copied(c, (struct val){.type = V_VIEW, .view = {x.d, 'i'}});
    if (failed(c))
        return l;
    keys = sort_keys(c, l.l, val_int(by_value), sensitive);
    if (keys)
        list_sort(c, l.l, keys, reverse);
    return l;
}

static struct val extreme(struct ctx *c, struct val x, const struct val *p,
                          int want)
{
    const struct list *l = val_iter(c, x);
    bool sensitive = given(p[0]) && val_true(c, p[0]);
    struct val best, key = VAL_NONE, k;

    if (!l || !l->n)
        return val_undef(c, NULL, NULL);
    best = l->v[0];
    for (size_t i = 0; i < l->n && !failed(c); i++) {
        k = lower_key(c, key_of(c, l->v[i], p[1]), sensitive);
        if (i && val_compare(c, k, key, want < 0 ? "<" : ">") != want)
            continue;
        best = l->v[i];
        key = k;
    }
    return best;
}

FILTER(min)
{
    (void)a;
    return extreme(c, x, p, -1);
}
FILTER(max)
{
    (void)a;
    return extreme(c, x, p, 1);
}

FILTER(sum)
{
    const struct list *l = val_iter(c, x);
    struct val v = given(p[1]) ? p[1] : val_int(0);

    (void)a;
    for (size_t i = 0; l && i < l->n && !failed(c); i++)
        v = eval_op(c, OP_ADD, v, key_of(c, l->v[i], p[0]));
    return v;
}

FILTER(unique)
{
    const struct list *l = val_iter(c, x);
    bool sensitive = given(p[0]) && val_true(c, p[0]);
    struct val out = list_new(c, V_LIST, 0, false), seen = dict_new(c, false);

    (void)a;
    for (size_t i = 0; l && i < l->n && !failed(c); i++) {
        struct val k = lower_key(c, key_of(c, l->v[i], p[1]), sensitive);

        if (failed(c) || dict_find(c, seen.d, k))
            continue;
        dict_put(c, seen.d, k, VAL_NONE);
        list_add(c, &out, l->v[i]);
    }
    return generator(out);
}

/* ---- parts ---- */

static size_t want_size(struct ctx *c, struct val v)
{
    if (val_is_int(v) && v.i > 0 && v.i <= JINJA_MAX_STEPS)
        return (size_t)v.i;
    ctx_fail(c, "a size must be 1 or more");
    return 1;
}

FILTER(batch)
{
    const struct list *l = val_iter(c, x);
    size_t n = want_size(c, p[0]);
    struct val out = list_new(c, V_LIST, 0, false), part = VAL_NONE;

    (void)a;
    for (size_t i = 0; l && i < l->n && ctx_step(c, 1); i++) {
        if (i % n == 0) {
            part = list_new(c, V_LIST, 0, false);
            list_add(c, &out, part);
        }
        list_add(c, &part, l->v[i]);
    }
    if (given(p[1]) && p[1].type != V_NONE && l && l->n)
        for (size_t i = l->n; i % n && ctx_step(c, 1); i++)
            list_add(c, &part, p[1]);
    return generator(out);
}

FILTER(slice)
{
    const struct list *l = val_iter(c, x);
    size_t n = want_size(c, p[0]), at = 0, each, more;
    struct val out = list_new(c, V_LIST, 0, false);

    (void)a;
    if (!l)
        return out;
    each = l->n / n;
    more = l->n % n;
    for (size_t i = 0; i < n && ctx_step(c, 1); i++) {
        size_t k = each + (i < more);
        struct val part = list_of(c, V_LIST, l->v + at, k);

        at += k;
        if (given(p[1]) && p[1].type != V_NONE && i >= more && more)
            list_add(c, &part, p[1]);
        list_add(c, &out, part);
    }
    return generator(out);
}

FILTER(groupby)
{
    struct val l = copied(c, x), *keys, out = list_new(c, V_LIST, 0, false),
               part = VAL_NONE, last = VAL_NONE;
    bool sensitive = given(p[2]) && val_true(c, p[2]);

    (void)a;
    if (failed(c))
        return l;
    keys = sort_keys(c, l.l, p[0], sensitive);
    for (size_t i = 0; keys && i < l.l->n; i++)
        if (keys[i].type == V_UNDEF && given(p[1]))
            keys[i] = p[1];
    if (keys)
        list_sort(c, l.l, keys, false);
    for (size_t i = 0; i < l.l->n && !failed(c); i++) {
        struct val own = key_of(c, l.l->v[i], p[0]),
                   k = lower_key(c, own, sensitive);

        if (own.type == V_UNDEF && given(p[1]))
            own = k = p[1];
        if (!i || !val_equal(c, k, last)) {
            struct val pair;

            part = list_new(c, V_LIST, 0, false);
            pair = list_pair(c, own, part);
            if (failed(c))
                break;
            pair.l->group = true;
            list_add(c, &out, pair);
        }
        last = k;
        list_add(c, &part, l.l->v[i]);
    }
    return out;
}

/* ---- map, select ---- */

static const struct val *find_kw(const struct args *a, const char *key)
{
    for (int i = 0; i < a->nkw; i++)
        if (str_is(a->kw[i].key, key))
            return &a->kw[i].v;
    return NULL;
}

static void skip_arg(struct args *a)
{
    a->v++;
    a->n--;
}

static struct val named(struct ctx *c, bool test, struct val name)
{
    struct val f = {.type = V_FUNC};

    if (name.type != V_STR)
        return ctx_fail(c, "a name must be a string");
    f.func.def = test ? test_find(name.s) : filter_find(name.s);
    if (!f.func.def)
        return ctx_fail(c, "No %s named '%.*s'.", test ? "test" : "filter",
                        (int)(name.s->n & 127), (const char *)name.s->p);
    return f;
}

/* What map and select go over: what is false, as null, is empty. */
static const struct list *iter_or_none(struct ctx *c, struct val x)
{
    return val_true(c, x) ? val_iter(c, x) : NULL;
}

FILTER(map)
{
    const struct list *l = iter_or_none(c, x);
    const struct val *path = find_kw(a, "attribute"),
                     *none = find_kw(a, "default");
    struct val out = list_new(c, V_LIST, 0, false), f = VAL_NONE, v;
    struct args rest = *a;

    (void)p;
    if (!path && !a->n)
        return ctx_fail(c, "map requires a filter argument");
    if (a->n) {
        path = NULL;
        f = named(c, false, a->v[0]);
        skip_arg(&rest);
    }
    for (size_t i = 0; l && i < l->n && ctx_step(c, 1); i++) {
        v = path ? by_path(c, l->v[i], *path)
                 : eval_def(c, f.func.def, l->v[i], &rest);
        list_add(c, &out, path && none && v.type == V_UNDEF ? *none : v);
    }
    return generator(out);
}

/* The items of X, or those whose attribute, that pass the test; KEEP: those
 * that do not are left out. */
static struct val chosen(struct ctx *c, struct val x, const struct args *a,
                         bool keep, bool attr)
{
    const struct list *l = iter_or_none(c, x);
    struct val out = list_new(c, V_LIST, 0, false), f = VAL_NONE, v;
    struct args rest = *a;

    if (attr && !a->n)
        return ctx_fail(c, "Missing parameter for attribute name");
    if (attr)
        skip_arg(&rest);
    if (rest.n > 0) {
        f = named(c, true, rest.v[0]);
        skip_arg(&rest);
    }
    for (size_t i = 0; l && i < l->n && ctx_step(c, 1); i++) {
        v = attr ? by_path(c, l->v[i], a->v[0]) : l->v[i];
        if (f.type == V_FUNC)
            v = eval_def(c, f.func.def, v, &rest);
        if (!failed(c) && val_true(c, v) == keep)
            list_add(c, &out, l->v[i]);
    }
    return generator(out);
}

FILTER(select)
{
    (void)p;
    return chosen(c, x, a, true, false);
}
FILTER(reject)
{
    (void)p;
    return chosen(c, x, a, false, false);
}
FILTER(selectattr)
{
    (void)p;
    return chosen(c, x, a, true, true);
}
FILTER(rejectattr)
{
    (void)p;
    return chosen(c, x, a, false, true);
}

static const struct func_def filters[] = {
    {"batch", f_batch, "linecount fill_with", 1},
    {"dictsort", f_dictsort, "case_sensitive by reverse", 0},
    {"first", f_first, "", 0},
    {"groupby", f_groupby, "attribute default case_sensitive", 1},
    {"items", f_items, "", 0},
    {"join", f_join, "d attribute", 0},
    {"last", f_last, "", 0},
    {"list", f_list, "", 0},
    {"map", f_map, NULL, 0},
    {"max", f_max, "case_sensitive attribute", 0},
    {"min", f_min, "case_sensitive attribute", 0},
    {"random", f_random, "", 0},
    {"reject", f_reject, NULL, 0},
    {"rejectattr", f_rejectattr, NULL, 0},
    {"reverse", f_reverse, "", 0},
    {"select", f_select, NULL, 0},
    {"selectattr", f_selectattr, NULL, 0},
    {"slice", f_slice, "slices fill_with", 1},
    {"sort", f_sort, "reverse case_sensitive attribute", 0},
    {"sum", f_sum, "attribute start", 0},
    {"unique", f_unique, "case_sensitive attribute", 0},
    {0},
};

const struct func_def *filter_seq_find(const struct str *name)
{
    for (const struct func_def *d = filters; d->name; d++)
        if (str_is(name, d->name))
            return d;
    return NULL;
}
