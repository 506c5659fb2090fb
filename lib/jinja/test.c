/* SPDX-License-Identifier: MIT
 * test.c - what may stand behind "is".
 */
#include "jinja/jinja_impl.h"

#define TEST(name)                                                             \
    static struct val t_##name(struct ctx *c, struct val x,                    \
                               const struct val *p, const struct args *a)
#define IS(name, what)                                                         \
    TEST(name)                                                                 \
    {                                                                          \
        (void)c, (void)x, (void)p, (void)a;                                    \
        return val_bool(what);                                                 \
    }

IS(defined, x.type != V_UNDEF)
IS(undefined, x.type == V_UNDEF)
IS(none, x.type == V_NONE)
IS(string, x.type == V_STR)
IS(number, val_is_num(x))
IS(integer, x.type == V_INT)
IS(float, x.type == V_FLOAT)
IS(boolean, x.type == V_BOOL)
IS(is_true, x.type == V_BOOL && x.i)
IS(is_false, x.type == V_BOOL && !x.i)
IS(mapping, x.type == V_DICT)
IS(sequence, x.type == V_STR || x.type == V_BYTES || x.type == V_LIST ||
                 x.type == V_TUPLE || x.type == V_DICT || x.type == V_RANGE ||
                 x.type == V_UNDEF)
IS(iterable, val_iterable(x))
IS(callable, x.type == V_FUNC || x.type == V_MACRO || x.type == V_LOOP ||
                 x.type == V_JOINER || x.type == V_UNDEF)
IS(escaped, x.markup)
IS(eq, val_equal(c, x, p[0]))
IS(ne, !val_equal(c, x, p[0]))
IS(in, val_in(c, x, p[0]))
IS(filter, x.type == V_STR && filter_find(x.s))
IS(test, x.type == V_STR && test_find(x.s))

static int order(struct ctx *c, struct val x, const struct val *p,
                 const char *op)
{
    return val_compare(c, x, p[0], op);
}

IS(lt, order(c, x, p, "<") == -1)
IS(gt, order(c, x, p, ">") == 1)

TEST(le)
{
    int r = order(c, x, p, "<=");

    (void)a;
    return val_bool(r == 0 || r == -1);
}
TEST(ge)
{
    int r = order(c, x, p, ">=");

    (void)a;
    return val_bool(r == 0 || r == 1);
}

static struct val of_case(struct ctx *c, struct val x, const char *method)
{
    struct str name = {.p = (const unsigned char *)method, .n = strlen(method)};
    struct args none = {0};

    x = show_val(c, x);
    return failed(c) ? x : eval_def(c, method_find(x, &name), x, &none);
}

TEST(upper)
{
    (void)p, (void)a;
    return of_case(c, x, "isupper");
}
TEST(lower)
{
    (void)p, (void)a;
    return of_case(c, x, "islower");
}

static struct val remainder_is(struct ctx *c, struct val x, struct val by,
                               big want)
{
    return val_bool(val_equal(c, eval_op(c, OP_MOD, x, by), val_int(want)));
}

TEST(odd)
{
    (void)p, (void)a;
    return remainder_is(c, x, val_int(2), 1);
}
TEST(even)
{
    (void)p, (void)a;
    return remainder_is(c, x, val_int(2), 0);
}
TEST(divisibleby)
{
    (void)a;
    return remainder_is(c, x, p[0], 0);
}

/* The same object: here, equal ones of the same type. */
TEST(sameas)
{
    bool same = x.type == p[0].type;

    (void)c, (void)a;
    if (same && x.type == V_STR)
        same = x.s == p[0].s || str_same(x.s, p[0].s);
    else if (same && (x.type == V_INT || x.type == V_BOOL))
        same = x.i == p[0].i;
    else if (same && x.type == V_FLOAT)
        same = x.f == p[0].f;
    else if (same && x.type != V_NONE && x.type != V_UNDEF)
        same = x.l == p[0].l;
    return val_bool(same);
}

static const struct func_def tests[] = {
    {"!=", t_ne, "other", 1},
    {"<", t_lt, "other", 1},
    {"<=", t_le, "other", 1},
    {"==", t_eq, "other", 1},
    {">", t_gt, "other", 1},
    {">=", t_ge, "other", 1},
    {"boolean", t_boolean, "", 0},
    {"callable", t_callable, "", 0},
    {"defined", t_defined, "", 0},
    {"divisibleby", t_divisibleby, "num", 1},
    {"eq", t_eq, "other", 1},
    {"equalto", t_eq, "other", 1},
    {"escaped", t_escaped, "", 0},
    {"even", t_even, "", 0},
    {"false", t_is_false, "", 0},
    {"filter", t_filter, "", 0},
    {"float", t_float, "", 0},
    {"ge", t_ge, "other", 1},
    {"greaterthan", t_gt, "other", 1},
    {"gt", t_gt, "other", 1},
    {"in", t_in, "seq", 1},
    {"integer", t_integer, "", 0},
    {"iterable", t_iterable, "", 0},
    {"le", t_le, "other", 1},
    {"lessthan", t_lt, "other", 1},
    {"lower", t_lower, "", 0},
    {"lt", t_lt, "other", 1},
    {"mapping", t_mapping, "", 0},
    {"ne", t_ne, "other", 1},
    {"none", t_none, "", 0},
    {"number", t_number, "", 0},
    {"odd", t_odd, "", 0},
    {"sameas", t_sameas, "other", 1},
    {"sequence", t_sequence, "", 0},
    {"string", t_string, "", 0},
    {"test", t_test, "", 0},
    {"true", t_is_true, "", 0},
    {"undefined", t_undefined, "", 0},
    {"upper", t_upper, "", 0},
    {0},
};

const struct func_def *test_find(const struct str *name)
{
    for (const struct func_def *d = tests; d->name; d++)
        if (str_is(name, d->name))
            return d;
    return NULL;
}
