/* SPDX-License-Identifier: MIT
 * eval.c - what an expression is.
 */
#include "base/utf8.h"
#include "jinja/jinja_impl.h"

/* ---- arguments ---- */

static void add_keywords(struct ctx *c, struct args *a, struct val v)
{
    struct named *kw;

    if (v.type != V_DICT) {
        ctx_fail(c, "argument after ** must be a mapping, not %s",
                 val_type_name(v));
        return;
    }
    kw = ctx_alloc(c, (size_t)a->nkw + v.d->n + 1, sizeof *kw);
    if (!kw)
        return;
    if (a->nkw)
        memcpy(kw, a->kw, (size_t)a->nkw * sizeof *kw);
    for (size_t i = 0; i < v.d->n; i++) {
        if (v.d->e[i].k.type != V_STR) {
            ctx_fail(c, "keywords must be strings");
            return;
        }
        kw[a->nkw++] = (struct named){v.d->e[i].k.s, v.d->e[i].v};
    }
    a->kw = kw;
}

static void add_stars(struct ctx *c, struct args *a, struct val v, int more)
{
    const struct list *l = val_iter(c, v);
    struct val *to;

    if (!l)
        return;
    to = ctx_alloc(c, (size_t)a->n + l->n + (size_t)more + 1, sizeof *to);
    if (!to)
        return;
    if (a->n)
        memcpy(to, a->v, (size_t)a->n * sizeof *to);
    if (l->n)
        memcpy(to + a->n, l->v, l->n * sizeof *to);
    a->v = to;
    a->n += (int)l->n;
}

static bool eval_args(struct ctx *c, struct args *a, const struct node *list)
{
    int n = 0;

    *a = (struct args){0};
    for (const struct node *i = list; i; i = i->next)
        n++;
    if (!n)
        return true;
    a->v = ctx_alloc(c, (size_t)n + 1, sizeof *a->v);
    a->kw = ctx_alloc(c, (size_t)n + 1, sizeof *a->kw);
    for (const struct node *i = list; i && !failed(c); i = i->next, n--) {
        if (i->type == N_KEYWORD)
            a->kw[a->nkw++] = (struct named){i->k->s, eval(c, i->a)};
        else if (i->type == N_STAR)
            add_stars(c, a, eval(c, i->a), n);
        else if (i->type == N_STARSTAR)
            add_keywords(c, a, eval(c, i->a));
        else
            a->v[a->n++] = eval(c, i);
    }
    return !failed(c);
}

/* Which parameter of PARAMS is KEY; -1. */
static int param_index(const char *params, const struct str *key)
{
    for (int i = 0; *params; i++) {
        size_t n = strcspn(params, " ");

        if (n == key->n && !memcmp(params, key->p, n))
            return i;
        params += n + (params[n] == ' ');
    }
    return -1;
}

static int param_count(const char *params)
{
    int n = *params != 0;

    for (; *params; params++)
        n += *params == ' ';
    return n;
}

struct val eval_def(struct ctx *c, const struct func_def *d, struct val self,
                    const struct args *a)
{
    struct val p[MAX_PARAMS];
    int n, i;

    if (failed(c))
        return VAL_NONE;
    if (!d->params)
        return d->fn(c, self, NULL, a);
    n = param_count(d->params);
    for (i = 0; i < MAX_PARAMS; i++)
        p[i] = VAL_ABSENT;
    if (a->n > n)
        return ctx_fail(c, "%s() takes at most %d arguments (%d given)",
                        d->name, n, a->n);
    for (i = 0; i < a->n; i++)
        p[i] = a->v[i];
    for (int k = 0; k < a->nkw; k++) {
        const struct str *key = a->kw[k].key;

        i = param_index(d->params, key);
        if (i < 0)
            return ctx_fail(c, "%s() got an unexpected keyword argument '%.*s'",
                            d->name, (int)(key->n & 127), (const char *)key->p);
        if (p[i].type != V_ABSENT)
            return ctx_fail(c, "%s() got multiple values for argument '%.*s'",
                            d->name, (int)(key->n & 127), (const char *)key->p);
        p[i] = a->kw[k].v;
    }
    for (i = 0; i < d->need; i++)
        if (p[i].type == V_ABSENT)
            return ctx_fail(c, "%s() misses a required argument", d->name);
    return d->fn(c, self, p, a);
}

struct val eval_call(struct ctx *c, struct val f, const struct args *a)
{
    struct val v = VAL_NONE;

    if (!ctx_enter(c))
        return v;
    switch (f.type) {
    case V_FUNC:
        v = eval_def(c, f.func.def, f.func.self ? *f.func.self : VAL_NONE, a);
        break;
    case V_MACRO:
        v = exec_macro(c, f.macro, a);
        break;
    case V_LOOP:
        if (a->n != 1 || a->nkw)
            ctx_fail(c, "loop() takes one argument");
        else
            v = exec_again(c, f.loop, a->v[0]);
        break;
    case V_JOINER:
        v = f.cycle->at++ ? f.cycle->v[0] : str_lit(c, "");
        break;
    case V_UNDEF:
        val_undefined(c, f);
        break;
    default:
        ctx_fail(c, "'%s' object is not callable", val_type_name(f));
        break;
    }
    ctx_leave(c);
    return v;
}

struct val eval_call_with(struct ctx *c, const struct node *n,
                          const struct val *caller)
{
    static const struct str name = {.p = (const unsigned char *)"caller",
                                    .n = 6};
    struct val f = eval(c, n->a);
    struct args a;

    if (failed(c) || !eval_args(c, &a, n->b))
        return VAL_NONE;
    if (caller) {
        struct named *kw = ctx_alloc(c, (size_t)a.nkw + 1, sizeof *kw);

        if (!kw)
            return VAL_NONE;
        if (a.nkw)
            memcpy(kw, a.kw, (size_t)a.nkw * sizeof *kw);
        kw[a.nkw++] = (struct named){&name, *caller};
        a.kw = kw;
    }
    c->line = n->line;
    return eval_call(c, f, &a);
}

/* ---- attributes and items ---- */

static struct val bound(struct ctx *c, const struct func_def *d,
                        struct val self)
{
    struct val v = {.type = V_FUNC}, *copy = ctx_alloc(c, 1, sizeof *copy);

    if (!copy)
        return VAL_NONE;
    *copy = self;
    v.func.def = d;
    v.func.self = copy;
    return v;
}

/* An attribute by Python's look-up; V_ABSENT. */
static struct val find_attr(struct ctx *c, struct val x, const struct str *name)
{
    static const char *const unsafe[] = {
        "!Undefined", "!NoneType", "!bool", "!int",   "!float",
        "!str",       "!bytes",    "!list", "!tuple", "!dict"};
    const struct func_def *d;

    if ((name->n >= 2 && !memcmp(name->p, "__", 2)) || method_unsafe(x, name))
        return val_undef(c, x.type <= V_DICT ? unsafe[x.type] : "!object",
                         name);
    d = method_find(x, name);
    return d ? bound(c, d, x) : global_attr(c, x, name);
}

struct val eval_attr(struct ctx *c, struct val x, const struct str *name)
{
    const struct val *got = NULL;
    struct val v;

    if (failed(c))
        return VAL_NONE;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    v = x.type == V_SPACE ? VAL_ABSENT : find_attr(c, x, name);
    if (v.type != V_ABSENT)
        return v;
    if (x.type == V_DICT || x.type == V_SPACE)
        got = dict_find(c, x.d, val_str((struct str *)(uintptr_t)name));
    return got ? *got : val_undef(c, val_type_name(x), name);
}

static struct val no_item(struct ctx *c, struct val x, struct val i)
{
    struct val v = VAL_ABSENT;

    if (failed(c))
        return VAL_NONE;
    if (i.type == V_STR && x.type == V_SPACE)
        return eval_attr(c, x, i.s);
    if (i.type == V_STR)
        v = find_attr(c, x, i.s);
    if (v.type != V_ABSENT)
        return v;
    return val_undef(c, val_type_name(x), show_val(c, i).s);
}

struct val eval_item(struct ctx *c, struct val x, struct val i)
{
    const struct val *got;
    long long n;
    size_t at, to;
    uint32_t cp;

    if (failed(c))
        return VAL_NONE;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (x.type == V_DICT) {
        if (i.type == V_LIST || i.type == V_DICT)
            return no_item(c, x, i);
        got = dict_find(c, x.d, i);
        return got ? *got : no_item(c, x, i);
    }
    if (!val_is_int(i) || (x.type != V_STR && x.type != V_LIST &&
                           x.type != V_TUPLE && x.type != V_RANGE))
        return no_item(c, x, i);
    n = val_length(c, x);
    if (i.i < 0)
        i.i += n;
    if (i.i < 0 || i.i >= n)
        return val_undef(c, val_type_name(x), show_val(c, i).s);
    if (x.type != V_STR)
        return x.l->v[(size_t)i.i];
    at = str_offset(x.s, (size_t)i.i);
    if (!x.s->ascii)
        ctx_step(c, at / 32);
    to = at + utf8_get(x.s->p + at, x.s->n - at, &cp);
    return str_part(c, x.s, at, to - at);
}

/* One bound of a slice, in LO to HI. */
static big slice_bound(struct ctx *c, const struct node *n, big none, big len,
                       big lo, big hi)
{
    struct val v = n ? eval(c, n) : VAL_NONE;

    if (v.type == V_NONE)
        return none;
    if (v.type == V_UNDEF)
        val_undefined(c, v);
    else if (!val_is_int(v))
        ctx_fail(c, "slice indices must be integers or None");
    if (failed(c))
        return 0;
    if (v.i < 0)
        v.i += len;
    return v.i < lo ? lo : v.i > hi ? hi : v.i;
}

static struct val slice_str(struct ctx *c, const struct str *s, big from,
                            big to, big step)
{
    size_t start = c->out.n;

    if (step == 1) {
        size_t at = str_offset(s, (size_t)from),
               end = to > from ? str_offset(s, (size_t)to) : at;

        return str_part(c, s, at, end - at);
    }
    for (big i = from; step > 0 ? i < to : i > to; i += step) {
        size_t at = str_offset(s, (size_t)i);
        uint32_t cp;

        if (!ctx_step(c, s->ascii ? 1 : 1 + at / 16))
            break;
        ctx_put_part(c, s, at, utf8_get(s->p + at, s->n - at, &cp));
    }
    return ctx_take(c, start);
}

static struct val eval_slice(struct ctx *c, struct val x, const struct node *n)
{
    struct val step = n->c ? eval(c, n->c) : VAL_NONE, l;
    big by = step.type == V_NONE ? 1 : step.i, len, from, to;

    if (failed(c))
        return VAL_NONE;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (x.type != V_STR && x.type != V_LIST && x.type != V_TUPLE &&
        x.type != V_RANGE)
        return ctx_fail(c, "'%s object' cannot be sliced", val_type_name(x));
    if (step.type != V_NONE && !val_is_int(step))
        return ctx_fail(c, "slice indices must be integers or None");
    if (by == 0)
        return ctx_fail(c, "slice step cannot be zero");
    len = val_length(c, x);
    from = slice_bound(c, n->a, by > 0 ? 0 : len - 1, len, by > 0 ? 0 : -1,
                       by > 0 ? len : len - 1);
    to = slice_bound(c, n->b, by > 0 ? len : -1, len, by > 0 ? 0 : -1,
                     by > 0 ? len : len - 1);
    if (failed(c))
        return VAL_NONE;
    if (by > len || by < -len) /* one at most: no overflow below */
        by = by > 0 ? len + 1 : -len - 1;
    if (x.type == V_STR)
        return slice_str(c, x.s, from, to, by);
    l = list_new(c, x.type == V_TUPLE ? V_TUPLE : V_LIST, 0, x.l->data);
    for (big i = from; (by > 0 ? i < to : i > to) && ctx_step(c, 1); i += by)
        list_add(c, &l, x.l->v[(size_t)i]);
    return l;
}

/* ---- operators ---- */

static struct val repeat(struct ctx *c, struct val x, big n)
{
    size_t from = c->out.n;
    struct val l;

    n = n < 0 ? 0 : n;
    if (x.type == V_STR) {
        if (x.s->n && n > JINJA_MAX_OUTPUT / (big)x.s->n)
            return ctx_fail(c, "more than %d MB of output",
                            JINJA_MAX_OUTPUT >> 20);
        for (; n && x.s->n && ctx_step(c, 1); n--)
            ctx_put_str(c, x.s);
        return ctx_take(c, from);
    }
    if (x.l->n && n > JINJA_MAX_STEPS / (big)x.l->n)
        return ctx_fail(c, "more than %d steps", JINJA_MAX_STEPS);
    l = list_new(c, (enum val_type)x.type, 0, x.l->data);
    for (; n && x.l->n && ctx_step(c, 1); n--)
        for (size_t i = 0; i < x.l->n && ctx_step(c, 1); i++)
            list_add(c, &l, x.l->v[i]);
    return l;
}

static bool is_seq(struct val v)
{
    return v.type == V_STR || v.type == V_LIST || v.type == V_TUPLE;
}

static struct val escaped(struct ctx *c, struct val v)
{
    static const struct str name = {.p = (const unsigned char *)"e", .n = 1};
    struct args none = {0};

    return v.markup ? v : eval_def(c, filter_find(&name), v, &none);
}

static struct val add(struct ctx *c, struct val a, struct val b)
{
    struct val v;

    if (a.type == V_STR && b.type == V_STR) {
        if (!a.markup && !b.markup)
            return str_concat(c, a.s, b.s);
        a = escaped(c, a);
        b = escaped(c, b);
        v = failed(c) ? VAL_NONE : str_concat(c, a.s, b.s);
        v.markup = true;
        return v;
    }
    if (a.type == b.type && is_seq(a))
        return list_concat(c, a, b);
    if (is_seq(a))
        return ctx_fail(c, "can only concatenate %s (not \"%s\") to %s",
                        val_type_name(a), val_type_name(b), val_type_name(a));
    return VAL_ABSENT;
}

struct val eval_op(struct ctx *c, enum op op, struct val a, struct val b)
{
    static const char *const sign[] = {"+",  "-", "*",          "/",
                                       "//", "%", "** or pow()"};
    struct val v = VAL_ABSENT;

    if (failed(c))
        return VAL_NONE;
    if (op == OP_MOD && a.type == V_STR)
        return format_percent(c, a.s, b);
    if (a.type == V_UNDEF || b.type == V_UNDEF)
        return val_undefined(c, a.type == V_UNDEF ? a : b);
    if (val_is_num(a) && val_is_num(b))
        return num_binary(c, op, a, b);
    if (op == OP_ADD)
        v = add(c, a, b);
    else if (op == OP_MUL && is_seq(a) && val_is_int(b))
        v = repeat(c, a, b.i);
    else if (op == OP_MUL && is_seq(b) && val_is_int(a))
        v = repeat(c, b, a.i);
    if (v.type != V_ABSENT)
        return v;
    return ctx_fail(c, "unsupported operand type(s) for %s: '%s' and '%s'",
                    sign[op], val_type_name(a), val_type_name(b));
}

static bool compare(struct ctx *c, enum op op, struct val a, struct val b)
{
    int r;

    switch (op) {
    case OP_EQ:
        return val_equal(c, a, b);
    case OP_NE:
        return !val_equal(c, a, b);
    case OP_IN:
        return val_in(c, a, b);
    case OP_NOTIN:
        return !val_in(c, a, b);
    case OP_LT:
        return val_compare(c, a, b, "<") == -1;
    case OP_GT:
        return val_compare(c, a, b, ">") == 1;
    case OP_LE:
        r = val_compare(c, a, b, "<=");
        return r == 0 || r == -1;
    default:
        r = val_compare(c, a, b, ">=");
        return r == 0 || r == 1;
    }
}

static struct val eval_compare(struct ctx *c, const struct node *n)
{
    struct val left = eval(c, n->a), right;

    for (n = n->b; n && !failed(c); n = n->next, left = right) {
        right = eval(c, n->a);
        if (failed(c) || !compare(c, (enum op)n->op, left, right))
            return val_bool(false);
    }
    return val_bool(true);
}

static struct val eval_concat(struct ctx *c, const struct node *n)
{
    struct val v = show_val(c, eval(c, n->a));

    for (n = n->a->next; n && !failed(c); n = n->next) {
        struct val more = show_val(c, eval(c, n));

        if (!failed(c))
            v = str_concat(c, v.s, more.s);
    }
    v.markup = false;
    return v;
}

static struct val eval_sign(struct ctx *c, const struct node *n)
{
    struct val v = eval(c, n->a), zero = val_int(0);

    if (failed(c))
        return v;
    if (v.type == V_UNDEF)
        return val_undefined(c, v);
    if (!val_is_num(v))
        return ctx_fail(c, "bad operand type for unary %c: '%s'",
                        n->type == N_NEG ? '-' : '+', val_type_name(v));
    if (v.type == V_FLOAT) {
        v.f = n->type == N_NEG ? -v.f : v.f;
        return v;
    }
    zero = num_binary(c, n->type == N_NEG ? OP_SUB : OP_ADD, zero, v);
    return zero;
}

/* ---- nodes ---- */

static struct val eval_list(struct ctx *c, const struct node *n)
{
    struct val l = list_new(c, n->type == N_TUPLE ? V_TUPLE : V_LIST, 0, false);

    for (n = n->a; n && !failed(c); n = n->next)
        list_add(c, &l, eval(c, n));
    return l;
}

static struct val eval_dict(struct ctx *c, const struct node *n)
{
    struct val d = dict_new(c, false);

    for (n = n->a; n && !failed(c); n = n->next) {
        struct val k = eval(c, n->a);

        dict_put(c, d.d, k, eval(c, n->b));
    }
    return d;
}

static struct val eval_name(struct ctx *c, const struct node *n)
{
    const struct val *v = exec_find(c, n->name);
    const struct str *s = c->t->name[n->name];
    struct val f = {.type = V_FUNC};

    if (v)
        return *v;
    f.func.def = global_find(s);
    return f.func.def ? f : val_undef(c, NULL, s);
}

static struct val eval_filter(struct ctx *c, const struct node *n)
{
    struct val x = n->a ? eval(c, n->a) : c->subject;
    bool test = n->type == N_TEST;
    struct args a;

    if (failed(c))
        return x;
    c->line = n->line;
    if (!n->what)
        return ctx_fail(c, "No %s named '%.*s'.", test ? "test" : "filter",
                        (int)(n->k->s->n & 127), (const char *)n->k->s->p);
    if (!eval_args(c, &a, n->b))
        return x;
    c->line = n->line;
    return eval_def(c, n->what, x, &a);
}

static struct val eval_node(struct ctx *c, const struct node *n)
{
    struct val v, i;

    switch ((enum node_type)n->type) {
    case N_CONST:
        return *n->k;
    case N_NAME:
        return eval_name(c, n);
    case N_LIST:
    case N_TUPLE:
        return eval_list(c, n);
    case N_DICT:
        return eval_dict(c, n);
    case N_ATTR:
        v = eval(c, n->a);
        c->line = n->line;
        return eval_attr(c, v, n->k->s);
    case N_ITEM:
        v = eval(c, n->a);
        if (n->b->type == N_SLICE)
            return eval_slice(c, v, n->b);
        i = eval(c, n->b);
        c->line = n->line;
        return eval_item(c, v, i);
    case N_CALL:
        return eval_call_with(c, n, NULL);
    case N_FILTER:
    case N_TEST:
        return eval_filter(c, n);
    case N_NOT:
        return val_bool(!val_true(c, eval(c, n->a)));
    case N_NEG:
    case N_POS:
        return eval_sign(c, n);
    case N_BINARY:
        v = eval(c, n->a);
        i = eval(c, n->b);
        c->line = n->line;
        return eval_op(c, (enum op)n->op, v, i);
    case N_CONCAT:
        return eval_concat(c, n);
    case N_COMPARE:
        return eval_compare(c, n);
    case N_AND:
    case N_OR:
        v = eval(c, n->a);
        return val_true(c, v) == (n->type == N_OR) ? v : eval(c, n->b);
    case N_COND:
        if (val_true(c, eval(c, n->a)))
            return eval(c, n->b);
        return n->c ? eval(c, n->c) : val_undef(c, NULL, NULL);
    default:
        return ctx_fail(c, "not an expression");
    }
}

struct val eval(struct ctx *c, const struct node *n)
{
    struct val v = VAL_NONE;

    if (ctx_enter(c) && ctx_step(c, 1)) {
        c->line = n->line;
        v = eval_node(c, n);
    }
    ctx_leave(c);
    return v;
}
