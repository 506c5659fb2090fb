/* SPDX-License-Identifier: MIT
 * method_seq.c - the methods of lists, tuples, dicts and numbers, as Python has
 * them.
 */
#include <math.h>

#include "jinja/jinja_impl.h"

#define METHOD(name)                                                           \
    static struct val m_##name(struct ctx *c, struct val self,                 \
                               const struct val *p, const struct args *a)
/* What a method does not look at. */
#define UNUSED ((void)c, (void)self, (void)p, (void)a)

METHOD(list_index)
{
    (void)a;
    for (size_t i = 0; i < self.l->n && !failed(c); i++)
        if (val_equal(c, self.l->v[i], p[0]))
            return val_int((big)i);
    return ctx_fail(c, "the value is not in the list");
}

METHOD(list_count)
{
    big n = 0;

    (void)a;
    for (size_t i = 0; i < self.l->n && !failed(c); i++)
        n += val_equal(c, self.l->v[i], p[0]);
    return val_int(n);
}

METHOD(list_copy)
{
    UNUSED;
    return list_of(c, V_LIST, self.l->v, self.l->n);
}

static struct val view(struct val self, int kind)
{
    struct val v = {.type = V_VIEW};

    v.view.d = self.d;
    v.view.kind = kind;
    return v;
}

METHOD(items)
{
    UNUSED;
    return view(self, 'i');
}
METHOD(keys)
{
    UNUSED;
    return view(self, 'k');
}
METHOD(values)
{
    UNUSED;
    return view(self, 'v');
}

METHOD(get)
{
    const struct val *v = dict_find(c, self.d, p[0]);

    (void)a;
    return v ? *v : p[1].type == V_ABSENT ? VAL_NONE : p[1];
}

METHOD(dict_copy)
{
    struct val d = dict_new(c, self.d->data);

    UNUSED;
    for (size_t i = 0; i < self.d->n && !failed(c); i++)
        dict_put(c, d.d, self.d->e[i].k, self.d->e[i].v);
    return d;
}

METHOD(is_integer)
{
    UNUSED;
    return val_bool(val_is_int(self) || floor(self.f) == self.f);
}

static const struct func_def of_tuple[] = {
    {"count", m_list_count, "value", 1},
    {"index", m_list_index, "value", 1},
    {0},
};
static const struct func_def of_list[] = {
    {"copy", m_list_copy, "", 0},
    {"count", m_list_count, "value", 1},
    {"index", m_list_index, "value", 1},
    {0},
};
static const struct func_def of_dict[] = {
    {"copy", m_dict_copy, "", 0}, {"get", m_get, "key default", 1},
    {"items", m_items, "", 0},    {"keys", m_keys, "", 0},
    {"values", m_values, "", 0},  {0},
};
static const struct func_def of_number[] = {
    {"is_integer", m_is_integer, "", 0},
    {0},
};
const struct func_def *method_seq_table(struct val self)
{
    static const struct func_def *const tables[V_ABSENT + 1] = {
        [V_LIST] = of_list,  [V_TUPLE] = of_tuple,  [V_DICT] = of_dict,
        [V_INT] = of_number, [V_FLOAT] = of_number, [V_BOOL] = of_number,
    };

    return tables[self.type];
}

bool method_unsafe(struct val self, const struct str *name)
{
    static const char *const list[] = {"append",  "clear", "extend",
                                       "insert",  "pop",   "remove",
                                       "reverse", "sort",  NULL},
                             *const dict[] = {"clear",      "pop",    "popitem",
                                              "setdefault", "update", NULL};
    const char *const *n = self.type == V_LIST   ? list
                           : self.type == V_DICT ? dict
                                                 : NULL;

    for (; n && *n; n++)
        if (str_is(name, *n))
            return true;
    return false;
}
