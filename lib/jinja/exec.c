/* SPDX-License-Identifier: MIT
 * exec.c - what a statement does.
 */
#include "jinja/jinja_impl.h"

/* ---- names ---- */

void exec_bind(struct ctx *c, struct scope *s, int name, struct val v)
{
    for (int i = 0; i < s->n; i++)
        if (s->b[i].name == name) {
            s->b[i].v = v;
            return;
        }
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 4;
        struct bind *b = ctx_alloc(c, (size_t)cap, sizeof *b);

        if (!b)
            return;
        if (s->n)
            memcpy(b, s->b, (size_t)s->n * sizeof *b);
        s->b = b;
        s->cap = cap;
    }
    s->b[s->n++] = (struct bind){name, v};
}

const struct val *exec_find(struct ctx *c, int name)
{
    for (const struct scope *s = c->scope; s; s = s->up) {
        for (int i = 0; i < s->n; i++)
            if (s->b[i].name == name)
                return &s->b[i].v;
        if (!ctx_step(c, (size_t)s->n / 16))
            break;
    }
    return NULL;
}

static struct scope *scope_new(struct ctx *c, struct scope *up)
{
    struct scope *s = ctx_alloc(c, 1, sizeof *s);

    if (s)
        s->up = up;
    return s;
}

/* BODY with its own names. */
static void exec_inside(struct ctx *c, struct scope *s, const struct node *body)
{
    struct scope *was = c->scope;

    c->scope = s;
    exec_block(c, body);
    c->scope = was;
}

/* What BODY writes, as a string. */
static struct val capture(struct ctx *c, struct scope *s,
                          const struct node *body)
{
    size_t from = c->out.n;

    if (failed(c))
        return VAL_NONE;
    exec_inside(c, s, body);
    return ctx_take(c, from);
}

/* ---- set ---- */

static void assign(struct ctx *c, struct scope *s, const struct node *target,
                   struct val v);

static void unpack(struct ctx *c, struct scope *s, const struct node *target,
                   struct val v)
{
    const struct list *l = val_iter(c, v);
    size_t n = 0;

    for (const struct node *t = target->a; t; t = t->next)
        n++;
    if (!l)
        return;
    if (l->n != n) {
        ctx_fail(c,
                 l->n < n ? "not enough values to unpack (expected %zu, "
                            "got %zu)"
                          : "too many values to unpack (expected %zu, got "
                            "%zu)",
                 n, l->n);
        return;
    }
    n = 0;
    for (const struct node *t = target->a; t && !failed(c); t = t->next)
        assign(c, s, t, l->v[n++]);
}

static void assign(struct ctx *c, struct scope *s, const struct node *target,
                   struct val v)
{
    const struct val *ns;

    if (failed(c))
        return;
    if (target->type == N_NAME) {
        exec_bind(c, s, target->name, v);
    } else if (target->type == N_ATTR) {
        ns = exec_find(c, target->a->name);
        if (!ns || ns->type != V_SPACE)
            ctx_fail(c, "cannot assign attribute on non-namespace object");
        else
            dict_put(c, ns->d, *target->k, v);
    } else {
        unpack(c, s, target, v);
    }
}

/* V through the filters of a block. */
static struct val filtered(struct ctx *c, const struct node *filters,
                           struct val v)
{
    if (!filters || failed(c))
        return v;
    c->subject = v;
    return eval(c, filters);
}

static void exec_setblock(struct ctx *c, const struct node *n)
{
    struct val v = capture(c, scope_new(c, c->scope), n->c);

    if (c->flow == FLOW_ON)
        assign(c, c->scope, n->a, filtered(c, n->b, v));
}

/* ---- loops ---- */

static struct list *kept(struct ctx *c, const struct node *head,
                         struct list *all, struct scope *up)
{
    struct val l = list_new(c, V_LIST, all->n, all->data);
    struct scope *s = scope_new(c, up), *was = c->scope;

    for (size_t i = 0; i < all->n && !failed(c); i++) {
        s->n = 0;
        assign(c, s, head->a, all->v[i]);
        c->scope = s;
        if (!failed(c) && val_true(c, eval(c, head->b)))
            list_add(c, &l, all->v[i]);
        c->scope = was;
    }
    return failed(c) ? NULL : l.l;
}

static void exec_items(struct ctx *c, const struct node *n, struct scope *up,
                       struct val items, int depth)
{
    struct list *l = val_iter(c, items);
    struct loop *loop = ctx_alloc(c, 1, sizeof *loop);
    struct scope *s = scope_new(c, up);
    struct val v = {.type = V_LOOP, .loop = loop};

    if (l && n->a->b)
        l = kept(c, n->a, l, up);
    if (!l || failed(c))
        return;
    *loop = (struct loop){l, 0, depth, n, up, VAL_ABSENT};
    for (; loop->i < l->n && ctx_step(c, 1); loop->i++) {
        if (s->kept)
            s = scope_new(c, up);
        if (failed(c))
            return;
        s->n = 0;
        exec_bind(c, s, NAME_LOOP, v);
        assign(c, s, n->a->a, l->v[loop->i]);
        exec_inside(c, s, n->c);
        if (c->flow == FLOW_BREAK)
            break;
        c->flow = FLOW_ON;
    }
    c->flow = FLOW_ON;
    if (!l->n && n->d)
        exec_inside(c, scope_new(c, up), n->d);
}

struct val exec_again(struct ctx *c, const struct loop *l, struct val items)
{
    size_t from = c->out.n;
    enum flow was = c->flow;

    if (!l->def->flag)
        return ctx_fail(c, "The loop must have the 'recursive' marker to be "
                           "called recursively.");
    exec_items(c, l->def, l->scope, items, l->depth + 1);
    c->flow = was;
    return ctx_take(c, from);
}

/* ---- macros ---- */

static const struct val *find_kw(const struct args *a, const struct str *key)
{
    for (int i = 0; i < a->nkw; i++)
        if (str_same(a->kw[i].key, key))
            return &a->kw[i].v;
    return NULL;
}

static bool is_param(struct ctx *c, const struct node *params,
                     const struct str *key)
{
    for (; params; params = params->next)
        if (str_same(c->t->name[params->name], key))
            return true;
    return false;
}

/* The arguments that no parameter takes. */
static void bind_rest(struct ctx *c, const struct macro *m, struct scope *s,
                      const struct args *a, int n)
{
    int uses = m->def->op;
    struct val kw = dict_new(c, false);
    const struct str *name = m->name ? m->name : str_lit(c, "caller").s;

    if (failed(c))
        return;
    for (int i = 0; i < a->nkw && !failed(c); i++) {
        const struct str *key = a->kw[i].key;

        if (is_param(c, m->def->a, key))
            continue;
        if (str_is(key, "caller") && uses & 4)
            exec_bind(c, s, NAME_CALLER, a->kw[i].v);
        else if (uses & 2)
            dict_put(c, kw.d, val_str((struct str *)(uintptr_t)key),
                     a->kw[i].v);
        else
            ctx_fail(c, "macro '%.*s' takes no keyword argument '%.*s'",
                     (int)(name->n & 127), (const char *)name->p,
                     (int)(key->n & 127), (const char *)key->p);
    }
    if (uses & 2)
        exec_bind(c, s, NAME_KWARGS, kw);
    if (uses & 1)
        exec_bind(c, s, NAME_VARARGS,
                  list_of(c, V_TUPLE, a->n > n ? a->v + n : NULL,
                          (size_t)(a->n - n)));
    else if (a->n > n)
        ctx_fail(c, "macro '%.*s' takes not more than %d argument(s)",
                 (int)(name->n & 127), (const char *)name->p, n);
}

struct val exec_macro(struct ctx *c, const struct macro *m,
                      const struct args *a)
{
    struct scope *s = scope_new(c, m->scope), *was = c->scope;
    enum flow flow = c->flow;
    struct val v = VAL_NONE;
    int n = 0;

    if (failed(c))
        return v;
    for (const struct node *p = m->def->a; p && !failed(c); p = p->next, n++) {
        const struct val *kw = find_kw(a, c->t->name[p->name]);

        if (n < a->n && kw)
            ctx_fail(c, "a macro got two values for one argument");
        v = n < a->n ? a->v[n] : kw ? *kw : VAL_ABSENT;
        c->scope = s;
        if (v.type == V_ABSENT)
            v = p->a ? eval(c, p->a) : val_undef(c, NULL, c->t->name[p->name]);
        c->scope = was;
        exec_bind(c, s, p->name, v);
    }
    bind_rest(c, m, s, a, n < a->n ? n : a->n);
    v = capture(c, s, m->def->c);
    c->flow = flow;
    return v;
}

static struct val make_macro(struct ctx *c, const struct node *n,
                             const struct str *name)
{
    struct macro *m = ctx_alloc(c, 1, sizeof *m);

    if (!m)
        return VAL_NONE;
    *m = (struct macro){n, c->scope, name};
    for (struct scope *s = c->scope; s && !s->kept; s = s->up)
        s->kept = true;
    return (struct val){.type = V_MACRO, .macro = m};
}

static void exec_callblock(struct ctx *c, const struct node *n)
{
    struct val caller = make_macro(c, n, NULL);

    if (!failed(c))
        show_str(c, eval_call_with(c, n->b, &caller));
}

/* ---- the others ---- */

static void exec_if(struct ctx *c, const struct node *n)
{
    while (n && !failed(c)) {
        c->line = n->line;
        if (val_true(c, eval(c, n->a))) {
            exec_block(c, n->b);
            return;
        }
        if (!n->flag) {
            exec_block(c, n->c);
            return;
        }
        n = n->c;
    }
}

static void exec_with(struct ctx *c, const struct node *n)
{
    struct scope *s = scope_new(c, c->scope);

    for (const struct node *p = n->a; p && !failed(c); p = p->next)
        assign(c, s, p->a, eval(c, p->b));
    exec_inside(c, s, n->c);
}

static void exec_node(struct ctx *c, const struct node *n)
{
    struct val v;

    switch ((enum node_type)n->type) {
    case N_TEXT:
        ctx_put_str(c, n->k->s);
        break;
    case N_PRINT:
        show_str(c, eval(c, n->a));
        break;
    case N_IF:
        exec_if(c, n);
        break;
    case N_FOR:
        exec_items(c, n, c->scope, eval(c, n->b), 0);
        break;
    case N_SET:
        assign(c, c->scope, n->a, eval(c, n->b));
        break;
    case N_SETBLOCK:
        exec_setblock(c, n);
        break;
    case N_MACRO:
        exec_bind(c, c->scope, n->name, make_macro(c, n, c->t->name[n->name]));
        break;
    case N_CALLBLOCK:
        exec_callblock(c, n);
        break;
    case N_FILTERBLOCK:
        v = capture(c, scope_new(c, c->scope), n->c);
        if (c->flow == FLOW_ON)
            show_str(c, filtered(c, n->b, v));
        break;
    case N_WITH:
        exec_with(c, n);
        break;
    case N_SCOPE:
        exec_inside(c, scope_new(c, c->scope), n->c);
        break;
    case N_BREAK:
        c->flow = FLOW_BREAK;
        break;
    case N_CONTINUE:
        c->flow = FLOW_CONTINUE;
        break;
    default:
        ctx_fail(c, "not a statement");
        break;
    }
}

void exec_block(struct ctx *c, const struct node *n)
{
    if (ctx_enter(c))
        for (; n && c->flow == FLOW_ON && ctx_step(c, 1); n = n->next) {
            c->line = n->line;
            exec_node(c, n);
        }
    ctx_leave(c);
}
