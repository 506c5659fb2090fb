/* SPDX-License-Identifier: MIT
 * val.c - what all values have: truth, equality, order, items.
 */
#include <math.h>

#include "base/utf8.h"
#include "jinja/jinja_impl.h"

const char *val_type_name(struct val v)
{
    static const char *const name[] = {
        "Undefined",  "NoneType",    "bool",      "int",       "float",
        "str",        "bytes",       "list",      "tuple",     "dict",
        "dict_items", "range",       "generator", "Namespace", "function",
        "Macro",      "LoopContext", "Cycler",    "Joiner",    "missing"};

    if (v.type == V_VIEW && v.view.kind != 'i')
        return v.view.kind == 'k' ? "dict_keys" : "dict_values";
    return name[v.type];
}

struct val val_undef(struct ctx *c, const char *owner, const struct str *name)
{
    (void)c;
    return (struct val){.type = V_UNDEF, .undef = {name, owner}};
}

struct val val_undefined(struct ctx *c, struct val v)
{
    const struct str *s = v.undef.name;
    int n = s ? (int)(s->n < 100 ? s->n : 100) : 0;
    const char *p = s ? (const char *)s->p : "", *owner = v.undef.owner;

    if (owner && owner[0] == '!')
        return ctx_fail(c,
                        "access to attribute '%.*s' of '%s' object is unsafe",
                        n, p, owner + 1);
    if (owner)
        return ctx_fail(c, "'%s object' has no attribute '%.*s'", owner, n, p);
    return ctx_fail(c, s ? "'%.*s' is undefined" : "%.*sa value is undefined",
                    n, p);
}

bool val_true(struct ctx *c, struct val v)
{
    switch (v.type) {
    case V_UNDEF:
    case V_NONE:
    case V_ABSENT:
        return false;
    case V_FLOAT:
        return v.f != 0;
    case V_BOOL:
    case V_INT:
        return v.i != 0;
    case V_STR:
    case V_BYTES:
    case V_LIST:
    case V_TUPLE:
    case V_DICT:
    case V_VIEW:
    case V_RANGE:
        return val_length(c, v) != 0;
    default:
        return true;
    }
}

long long val_length(struct ctx *c, struct val v)
{
    switch (v.type) {
    case V_UNDEF:
        return 0;
    case V_STR:
        return ctx_step(c, v.s->n / 64) ? (long long)str_chars(v.s) : 0;
    case V_BYTES:
        return (long long)v.s->n;
    case V_LIST:
    case V_TUPLE:
    case V_RANGE:
        return (long long)v.l->n;
    case V_DICT:
        return (long long)v.d->n;
    case V_VIEW:
        return (long long)v.view.d->n;
    case V_LOOP:
        return (long long)v.loop->l->n;
    default:
        return -1;
    }
}

static bool equal_lists(struct ctx *c, const struct list *a,
                        const struct list *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n && !failed(c); i++)
        same = val_equal(c, a->v[i], b->v[i]);
    return same;
}

static bool equal_dicts(struct ctx *c, const struct dict *a,
                        const struct dict *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n && !failed(c); i++) {
        const struct val *v = dict_find(c, b, a->e[i].k);

        same = v && val_equal(c, a->e[i].v, *v);
    }
    return same;
}

static bool equal_numbers(struct val a, struct val b)
{
    if (a.type == V_FLOAT || b.type == V_FLOAT)
        return val_double(a) == val_double(b);
    return a.i == b.i;
}

bool val_equal(struct ctx *c, struct val a, struct val b)
{
    bool same = false;

    if (!ctx_step(c, 1))
        return false;
    if (val_is_num(a) && val_is_num(b))
        return equal_numbers(a, b);
    if (a.type != b.type)
        return false;
    if (!ctx_enter(c))
        return false;
    switch (a.type) {
    case V_UNDEF:
    case V_NONE:
        same = true;
        break;
    case V_STR:
    case V_BYTES:
        same =
            a.s->n == b.s->n && ctx_step(c, a.s->n / 64) && str_same(a.s, b.s);
        break;
    case V_LIST:
    case V_TUPLE:
    case V_RANGE:
        same = equal_lists(c, a.l, b.l);
        break;
    case V_DICT:
        same = equal_dicts(c, a.d, b.d);
        break;
    case V_VIEW:
        same = a.view.kind == b.view.kind && a.view.kind != 'v' &&
               equal_dicts(c, a.view.d, b.view.d);
        break;
    case V_FUNC:
        same = a.func.def == b.func.def && a.func.self == b.func.self;
        break;
    default:
        same = a.loop == b.loop;
        break;
    }
    ctx_leave(c);
    return same;
}

static int compare_strs(const struct str *a, const struct str *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int r = n ? memcmp(a->p, b->p, n) : 0;

    return r ? r : (a->n > b->n) - (a->n < b->n);
}

/* 2 where one is a NaN. */
int val_compare(struct ctx *c, struct val a, struct val b, const char *op)
{
    int r = 0;
    bool done = false;

    if (!ctx_enter(c) || !ctx_step(c, 1))
        return 0;
    if (a.type == V_UNDEF || b.type == V_UNDEF) {
        val_undefined(c, a.type == V_UNDEF ? a : b);
    } else if (val_is_num(a) && val_is_num(b)) {
        if (a.type == V_FLOAT || b.type == V_FLOAT) {
            double x = val_double(a), y = val_double(b);

            r = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; /* 2: a NaN */
        } else {
            r = (a.i > b.i) - (a.i < b.i);
        }
    } else if (a.type == b.type && (a.type == V_STR || a.type == V_BYTES)) {
        ctx_step(c, (a.s->n < b.s->n ? a.s->n : b.s->n) / 64);
        r = compare_strs(a.s, b.s);
        r = (r > 0) - (r < 0);
    } else if (a.type == b.type && (a.type == V_LIST || a.type == V_TUPLE)) {
        size_t i = 0;

        while (i < a.l->n && i < b.l->n && !failed(c) &&
               val_equal(c, a.l->v[i], b.l->v[i]))
            i++;
        done = i < a.l->n && i < b.l->n;
        r = done ? val_compare(c, a.l->v[i], b.l->v[i], op)
                 : (a.l->n > b.l->n) - (a.l->n < b.l->n);
    } else {
        ctx_fail(c, "'%s' not supported between instances of '%s' and '%s'", op,
                 val_type_name(a), val_type_name(b));
    }
    ctx_leave(c);
    return failed(c) ? 0 : r;
}

bool val_iterable(struct val v)
{
    return v.type == V_UNDEF || (v.type >= V_STR && v.type <= V_GEN) ||
           v.type == V_LOOP;
}

/* A string's characters. */
static struct list *chars(struct ctx *c, const struct str *s)
{
    struct val l = list_new(c, V_LIST, str_chars(s), false);
    uint32_t cp;

    ctx_step(c, s->n);
    for (size_t i = 0, len; i < s->n && !failed(c); i += len) {
        len = utf8_get(s->p + i, s->n - i, &cp);
        list_add(c, &l,
                 len == 1 ? val_str(&c->one[str_marked(s, i)][s->p[i]])
                          : str_part(c, s, i, len));
    }
    return failed(c) ? NULL : l.l;
}

static struct list *view_items(struct ctx *c, const struct dict *d, int kind)
{
    struct val l = list_new(c, V_LIST, d->n, d->data);

    ctx_step(c, d->n);
    for (size_t i = 0; i < d->n && !failed(c); i++)
        list_add(c, &l,
                 kind == 'k'   ? d->e[i].k
                 : kind == 'v' ? d->e[i].v
                               : list_pair(c, d->e[i].k, d->e[i].v));
    return failed(c) ? NULL : l.l;
}

static struct list *remaining(struct ctx *c, struct list *l)
{
    struct list *r = ctx_alloc(c, 1, sizeof *r);

    if (!r)
        return NULL;
    *r = *l;
    r->v += l->taken;
    r->n -= l->taken;
    r->taken = 0;
    r->room = NULL;
    l->taken = l->n;
    return r;
}

struct list *val_iter(struct ctx *c, struct val v)
{
    if (failed(c))
        return NULL;
    switch (v.type) {
    case V_UNDEF:
        return list_new(c, V_LIST, 0, false).l;
    case V_STR:
        return chars(c, v.s);
    case V_LIST:
    case V_TUPLE:
    case V_RANGE:
        return v.l;
    case V_GEN:
        return remaining(c, v.l);
    case V_DICT:
        return view_items(c, v.d, 'k');
    case V_VIEW:
        return view_items(c, v.view.d, v.view.kind);
    default:
        ctx_fail(c, "'%s' object is not iterable", val_type_name(v));
        return NULL;
    }
}

bool val_in(struct ctx *c, struct val item, struct val in)
{
    const struct list *l;
    bool found = false;

    if (in.type == V_STR && item.type != V_STR) {
        ctx_fail(c, "'in <string>' requires string as left operand, not %s",
                 val_type_name(item));
        return false;
    }
    if (in.type == V_STR)
        return str_find(c, in.s, 0, item.s) >= 0;
    if (in.type == V_DICT || (in.type == V_VIEW && in.view.kind == 'k'))
        return dict_find(c, in.type == V_DICT ? in.d : in.view.d, item) != NULL;
    if (!val_iterable(in)) {
        ctx_fail(c, "argument of type '%s' is not iterable", val_type_name(in));
        return false;
    }
    l = val_iter(c, in);
    for (size_t i = 0; l && !found && i < l->n && !failed(c); i++)
        found = val_equal(c, item, l->v[i]);
    return found;
}

bool val_data(struct val v)
{
    switch (v.type) {
    case V_STR:
    case V_BYTES:
        return str_any_data(v.s);
    case V_LIST:
    case V_TUPLE:
    case V_GEN:
        return v.l->data;
    case V_DICT:
        return v.d->data;
    default:
        return v.data;
    }
}
