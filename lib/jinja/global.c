/* SPDX-License-Identifier: MIT
 * global.c - the functions that a template finds, and what loops, cyclers and
 * macros show of themselves.
 */
#include "jinja/jinja_impl.h"

#define GLOBAL(name)                                                           \
    static struct val g_##name(struct ctx *c, struct val self,                 \
                               const struct val *p, const struct args *a)
#define UNUSED ((void)c, (void)self, (void)p, (void)a)

enum { MAX_RANGE = 100000 }; /* the sandbox's own */

GLOBAL(range)
{
    big from = 0, to, step = 1;
    struct val l = {.type = V_RANGE};
    size_t n;

    (void)self;
    for (int i = 0; i < 3; i++)
        if (p[i].type == V_UNDEF)
            return val_undefined(c, p[i]);
        else if (p[i].type != V_ABSENT && !val_is_int(p[i]))
            return ctx_fail(c,
                            "'%s' object cannot be interpreted as an integer",
                            val_type_name(p[i]));
    to = p[0].i;
    if (a->n > 1) {
        from = p[0].i;
        to = p[1].i;
    }
    if (a->n > 2)
        step = p[2].i;
    if (step == 0)
        return ctx_fail(c, "range() arg 3 must not be zero");
    if ((step > 0 && from < to && (to - from - 1) / step >= MAX_RANGE) ||
        (step < 0 && from > to && (from - to - 1) / -step >= MAX_RANGE))
        return ctx_fail(c,
                        "Range too big. The sandbox blocks ranges larger "
                        "than MAX_RANGE (%d).",
                        MAX_RANGE);
    n = step > 0    ? from < to ? (size_t)((to - from - 1) / step) + 1 : 0
        : from > to ? (size_t)((from - to - 1) / -step) + 1
                    : 0;
    l.l = list_new(c, V_RANGE, n, false).l;
    if (!ctx_step(c, n / 4))
        return VAL_NONE;
    l.l->from = from;
    l.l->step = step;
    for (size_t i = 0; i < n && !failed(c); i++) {
        struct val v = val_int(from + (big)i * step);

        v.data = p[0].data || (a->n > 1 && p[1].data);
        list_add(c, &l, v);
    }
    return l;
}

static struct val make_dict(struct ctx *c, const struct args *a)
{
    struct val d = dict_new(c, false);
    struct list *l;

    if (a->n > 1)
        return ctx_fail(c, "dict expected at most 1 argument, got %d", a->n);
    if (a->n && a->v[0].type == V_DICT) {
        for (size_t i = 0; i < a->v[0].d->n && !failed(c); i++)
            dict_put(c, d.d, a->v[0].d->e[i].k, a->v[0].d->e[i].v);
    } else if (a->n) {
        l = val_iter(c, a->v[0]);
        for (size_t i = 0; l && i < l->n && !failed(c); i++) {
            const struct list *pair = val_iter(c, l->v[i]);

            if (pair && pair->n != 2)
                return ctx_fail(c,
                                "dictionary update sequence element #%zu "
                                "has length %zu; 2 is required",
                                i, pair->n);
            if (pair)
                dict_put(c, d.d, pair->v[0], pair->v[1]);
        }
    }
    for (int i = 0; i < a->nkw && !failed(c); i++)
        dict_put(c, d.d, val_str((struct str *)(uintptr_t)a->kw[i].key),
                 a->kw[i].v);
    return d;
}

GLOBAL(dict)
{
    UNUSED;
    return make_dict(c, a);
}

GLOBAL(namespace)
{
    struct val d = make_dict(c, a);

    UNUSED;
    if (!failed(c))
        d.type = V_SPACE;
    return d;
}

GLOBAL(raise_exception)
{
    struct val s = show_val(c, p[0]);

    (void)self, (void)a;
    if (failed(c))
        return s;
    c->raised = true;
    return ctx_fail(c, "%.*s", (int)(s.s->n < 380 ? s.s->n : 380),
                    (const char *)s.s->p);
}

/* strftime() in the C locale; %f, which C does not have, is zero, and a time
 * that says nothing of its zone, as transformers' does not, shows none. */
GLOBAL(strftime_now)
{
    char form[256], to[1024];
    struct val s = show_val(c, p[0]);
    /* GCC has nothing to say of a format that is not a literal, so. */
    size_t (*const show)(char *, size_t, const char *, const struct tm *) =
        strftime;
    size_t n = 0, k;

    (void)self, (void)a;
    if (failed(c))
        return s;
    if (s.s->n > 200)
        return ctx_fail(c, "strftime_now(): a format of more than 200 bytes");
    for (size_t i = 0; i < s.s->n && n + 8 < sizeof form; i++) {
        if (!s.s->p[i])
            return ctx_fail(c, "strftime_now(): embedded null character");
        form[n++] = (char)s.s->p[i];
        if (s.s->p[i] != '%' || i + 1 >= s.s->n)
            continue;
        if (s.s->p[i + 1] >= '0' && s.s->p[i + 1] <= '9')
            return ctx_fail(c, "strftime_now(): widths are not supported");
        i++;
        if (s.s->p[i] == 'f') {
            memcpy(form + n - 1, "000000", 6);
            n += 5;
        } else if (s.s->p[i] == 'z' || s.s->p[i] == 'Z') {
            n--;
        } else {
            form[n++] = (char)s.s->p[i];
        }
    }
    form[n++] = '|'; /* so that nothing is not mistaken for too long */
    form[n] = 0;
    k = show(to, sizeof to, form, &c->vars->now);
    return str_new(c, to, k ? k - 1 : 0, str_any_data(s.s));
}

static struct val make_cycle(struct ctx *c, enum val_type type,
                             const struct val *v, int n)
{
    struct val x = {.type = (uint8_t)type};

    x.cycle = ctx_alloc(c, 1, sizeof *x.cycle);
    if (!x.cycle)
        return VAL_NONE;
    x.cycle->v = ctx_alloc(c, (size_t)n + 1, sizeof *v);
    if (!x.cycle->v)
        return VAL_NONE;
    for (int i = 0; i < n; i++)
        x.cycle->v[i] = v[i];
    x.cycle->n = n;
    return x;
}

GLOBAL(cycler)
{
    UNUSED;
    if (!a->n)
        return ctx_fail(c, "at least one item has to be provided");
    return make_cycle(c, V_CYCLER, a->v, a->n);
}

GLOBAL(joiner)
{
    struct val sep = p[0].type == V_ABSENT ? str_lit(c, ", ") : p[0];

    UNUSED;
    return make_cycle(c, V_JOINER, &sep, 1);
}

GLOBAL(lipsum)
{
    UNUSED;
    return ctx_fail(c, "lipsum() is not supported");
}

static const struct func_def globals[] = {
    {"cycler", g_cycler, NULL, 0},
    {"dict", g_dict, NULL, 0},
    {"joiner", g_joiner, "sep", 0},
    {"lipsum", g_lipsum, NULL, 0},
    {"namespace", g_namespace, NULL, 0},
    {"raise_exception", g_raise_exception, "message", 1},
    {"range", g_range, "start stop step", 1},
    {"strftime_now", g_strftime_now, "format", 1},
    {0},
};

const struct func_def *global_find(const struct str *name)
{
    for (const struct func_def *d = globals; d->name; d++)
        if (str_is(name, d->name))
            return d;
    return NULL;
}

/* ---- loops and cyclers ---- */

GLOBAL(loop_cycle)
{
    (void)p;
    if (!a->n)
        return ctx_fail(c, "no items for cycling given");
    return a->v[self.loop->i % (size_t)a->n];
}

GLOBAL(loop_changed)
{
    struct val now = list_of(c, V_TUPLE, a->v, (size_t)a->n);

    (void)p;
    if (failed(c) || (self.loop->changed.type != V_ABSENT &&
                      val_equal(c, now, self.loop->changed)))
        return val_bool(false);
    self.loop->changed = now;
    return val_bool(true);
}

GLOBAL(cycler_next)
{
    struct val v = self.cycle->v[self.cycle->at];

    UNUSED;
    self.cycle->at = (self.cycle->at + 1) % self.cycle->n;
    return v;
}

GLOBAL(cycler_reset)
{
    UNUSED;
    self.cycle->at = 0;
    return VAL_NONE;
}

static struct val method(struct ctx *c, struct val self,
                         const struct func_def *d)
{
    struct val v = {.type = V_FUNC};

    v.func.def = d;
    v.func.self = ctx_alloc(c, 1, sizeof self);
    if (!v.func.self)
        return VAL_NONE;
    *v.func.self = self;
    return v;
}

static struct val loop_attr(struct ctx *c, struct val x, const struct str *name)
{
    static const struct func_def cycle = {"cycle", g_loop_cycle, NULL, 0},
                                 changed = {"changed", g_loop_changed, NULL, 0};
    const struct loop *l = x.loop;
    const struct {
        const char *name;
        struct val v;
    } attr[] = {
        {"index", val_int((big)l->i + 1)},
        {"index0", val_int((big)l->i)},
        {"revindex", val_int((big)(l->l->n - l->i))},
        {"revindex0", val_int((big)(l->l->n - l->i) - 1)},
        {"first", val_bool(l->i == 0)},
        {"last", val_bool(l->i + 1 == l->l->n)},
        {"length", val_int((big)l->l->n)},
        {"depth", val_int(l->depth + 1)},
        {"depth0", val_int(l->depth)},
        {"previtem", l->i ? l->l->v[l->i - 1] : val_undef(c, NULL, NULL)},
        {"nextitem",
         l->i + 1 < l->l->n ? l->l->v[l->i + 1] : val_undef(c, NULL, NULL)},
    };

    for (size_t i = 0; i < sizeof attr / sizeof *attr; i++)
        if (str_is(name, attr[i].name))
            return attr[i].v;
    if (str_is(name, "cycle"))
        return method(c, x, &cycle);
    if (str_is(name, "changed"))
        return method(c, x, &changed);
    return VAL_ABSENT;
}

struct val global_attr(struct ctx *c, struct val x, const struct str *name)
{
    static const struct func_def next = {"next", g_cycler_next, "", 0},
                                 reset = {"reset", g_cycler_reset, "", 0};

    if (x.type == V_LOOP)
        return loop_attr(c, x, name);
    if (x.type == V_TUPLE && x.l->group && str_is(name, "grouper"))
        return x.l->v[0];
    if (x.type == V_TUPLE && x.l->group && str_is(name, "list"))
        return x.l->v[1];
    if (x.type == V_CYCLER && str_is(name, "next"))
        return method(c, x, &next);
    if (x.type == V_CYCLER && str_is(name, "reset"))
        return method(c, x, &reset);
    if (x.type == V_CYCLER && str_is(name, "current"))
        return x.cycle->v[x.cycle->at];
    if (x.type == V_MACRO && str_is(name, "name") && x.macro->name)
        return val_str((struct str *)(uintptr_t)x.macro->name);
    return VAL_ABSENT;
}
