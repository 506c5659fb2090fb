/* SPDX-License-Identifier: MIT
 * parse.c - expressions, by recursive descent.
 *
 * From loosest to tightest: a if b else c; or; and; not; comparisons; + -; ~;
 * * / // %; **, from the left; signs; what follows an operand; filters and
 * tests, which take in the sign before them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "jinja/jinja_impl.h"

enum { MAX_NESTED = 150 };

void parse_fail(struct parser *p, const char *fmt, ...)
{
    char msg[300];
    va_list ap;

    if (failed(p->c))
        return;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_set(&p->c->err, ERR_FORMAT, "line %d: %s", p->line, msg);
}

struct node *parse_new(struct parser *p, enum node_type type)
{
    struct node *n = ctx_alloc(p->c, 1, sizeof *n);

    if (!n) /* failed: nobody will look at it */
        return &p->none;
    n->type = (uint8_t)type;
    n->line = p->tok.line;
    return n;
}

static struct node *new_const(struct parser *p, struct val v)
{
    struct node *n = parse_new(p, N_CONST);
    struct val *k = ctx_alloc(p->c, 1, sizeof *k);

    if (k) {
        *k = v;
        n->k = k;
    }
    return n;
}

static struct node *new_op(struct parser *p, enum node_type type, int op,
                           struct node *a, struct node *b)
{
    struct node *n = parse_new(p, type);

    if (failed(p->c))
        return n;
    n->op = (uint8_t)op;
    n->a = a;
    n->b = b;
    return n;
}

/* Names are few: templates of hundreds of lines have some 30. */
int parse_name(struct parser *p, const char *s, size_t n)
{
    struct jinja *t = p->t;
    struct val v;

    for (int i = 0; i < t->nname; i++)
        if (t->name[i]->n == n && !memcmp(t->name[i]->p, s, n))
            return i;
    ctx_step(p->c, (size_t)t->nname);
    v = str_new(p->c, s, n, false);
    if ((t->nname & (t->nname - 1)) == 0) {
        struct str **to =
            ctx_alloc(p->c, t->nname ? 2 * (size_t)t->nname : 1, sizeof *to);

        if (!to)
            return 0;
        if (t->nname)
            memcpy(to, t->name, (size_t)t->nname * sizeof *to);
        t->name = to;
    }
    if (failed(p->c))
        return 0;
    t->name[t->nname] = v.s;
    return t->nname++;
}

bool parse_is_op(const struct parser *p, int op)
{
    return p->tok.kind == T_OP && p->tok.op == op;
}

bool parse_skip_op(struct parser *p, int op)
{
    if (!parse_is_op(p, op) || failed(p->c))
        return false;
    lex_next(p);
    return true;
}

bool parse_expect_op(struct parser *p, int op)
{
    char got[40];

    if (parse_skip_op(p, op))
        return true;
    parse_fail(p, "expected token '%c', got '%s'", op,
               lex_show(&p->tok, got, sizeof got));
    return false;
}

static bool spelled(const struct lexed *t, const char *s)
{
    return t->kind == T_NAME && t->n == strlen(s) && !memcmp(t->p, s, t->n);
}

bool parse_is_name(const struct parser *p, const char *s)
{
    return spelled(&p->tok, s);
}

bool parse_skip_name(struct parser *p, const char *s)
{
    if (!parse_is_name(p, s) || failed(p->c))
        return false;
    lex_next(p);
    return true;
}

static struct val token_str(struct parser *p)
{
    return str_new(p->c, p->tok.p, p->tok.n, false);
}

/* A list of items: where the next goes. */
struct tail {
    struct node *first, **next;
};

static void tail_add(struct parser *p, struct tail *t, struct node *n)
{
    if (failed(p->c))
        return;
    if (!t->first)
        t->first = n;
    else
        *t->next = n;
    t->next = &n->next;
}

/* ---- operands ---- */

static struct node *list_items(struct parser *p, enum node_type type, int end)
{
    struct node *n = parse_new(p, type);
    struct tail t = {0};

    while (!failed(p->c) && !parse_is_op(p, end)) {
        struct node *k = parse_expr(p);

        if (type == N_DICT) {
            struct node *pair = parse_new(p, N_PAIR);

            parse_expect_op(p, ':');
            if (!failed(p->c)) {
                pair->a = k;
                pair->b = parse_expr(p);
            }
            k = pair;
        }
        tail_add(p, &t, k);
        if (!parse_skip_op(p, ','))
            break;
    }
    parse_expect_op(p, end);
    if (!failed(p->c))
        n->a = t.first;
    return n;
}

static struct node *name_or_const(struct parser *p)
{
    static const struct {
        const char *name;
        struct val v;
    } word[] = {
        {"true", {.type = V_BOOL, .i = 1}},  {"True", {.type = V_BOOL, .i = 1}},
        {"false", {.type = V_BOOL, .i = 0}}, {"False", {.type = V_BOOL}},
        {"none", {.type = V_NONE}},          {"None", {.type = V_NONE}},
    };
    struct node *n;

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (parse_is_name(p, word[i].name)) {
            n = new_const(p, word[i].v);
            lex_next(p);
            return n;
        }
    n = parse_new(p, N_NAME);
    if (!failed(p->c))
        n->name = parse_name(p, p->tok.p, p->tok.n);
    p->uses |= parse_is_name(p, "varargs")  ? 1
               : parse_is_name(p, "kwargs") ? 2
               : parse_is_name(p, "caller") ? 4
                                            : 0;
    lex_next(p);
    return n;
}

static struct node *string_const(struct parser *p)
{
    struct val v = val_str(p->tok.s);
    struct node *n = new_const(p, v);

    while (lex_next(p) && p->tok.kind == T_STRING) {
        v = str_concat(p->c, v.s, p->tok.s);
        if (!failed(p->c))
            ((struct val *)(uintptr_t)n->k)->s = v.s;
    }
    return n;
}

static struct node *parse_primary(struct parser *p)
{
    struct node *n = NULL;
    char got[40];

    switch (p->tok.kind) {
    case T_NAME:
        return name_or_const(p);
    case T_STRING:
        return string_const(p);
    case T_INT:
    case T_FLOAT:
        n = new_const(p, p->tok.v);
        lex_next(p);
        return n;
    default:
        break;
    }
    if (parse_skip_op(p, '(')) {
        n = parse_is_op(p, ')') ? parse_new(p, N_TUPLE)
                                : parse_tuple(p, true, false);
        parse_expect_op(p, ')');
    } else if (parse_skip_op(p, '[')) {
        n = list_items(p, N_LIST, ']');
    } else if (parse_skip_op(p, '{')) {
        n = list_items(p, N_DICT, '}');
    } else {
        parse_fail(p, "unexpected '%s'", lex_show(&p->tok, got, sizeof got));
    }
    return n ? n : parse_new(p, N_CONST);
}

struct node *parse_call_args(struct parser *p)
{
    struct tail t = {0};
    bool named = false;

    parse_expect_op(p, '(');
    while (!failed(p->c) && !parse_is_op(p, ')')) {
        struct node *n;
        int star = parse_skip_op(p, '*')             ? N_STAR
                   : parse_skip_op(p, OP2('*', '*')) ? N_STARSTAR
                                                     : 0;

        if (star) {
            n = new_op(p, (enum node_type)star, 0, parse_expr(p), NULL);
        } else if (p->tok.kind == T_NAME && lex_peek(p)->kind == T_OP &&
                   lex_peek(p)->op == '=') {
            n = new_const(p, token_str(p));
            lex_next(p);
            lex_next(p);
            if (!failed(p->c)) {
                n->type = N_KEYWORD;
                n->a = parse_expr(p);
            }
        } else {
            n = parse_expr(p);
            if (named)
                parse_fail(p, "invalid syntax for function call expression");
        }
        named |= n->type == N_KEYWORD || n->type == N_STARSTAR;
        tail_add(p, &t, n);
        if (!parse_skip_op(p, ','))
            break;
    }
    parse_expect_op(p, ')');
    return t.first;
}

/* Behind "[": an index, a slice, or several as a tuple. */
static struct node *parse_index(struct parser *p)
{
    struct node *part[3] = {0}, *n;
    int i = 0;

    if (!parse_is_op(p, ':')) {
        part[0] = parse_expr(p);
        if (parse_is_op(p, ',')) {
            struct node *t = parse_new(p, N_TUPLE);
            struct tail tail = {0};

            tail_add(p, &tail, part[0]);
            while (parse_skip_op(p, ','))
                tail_add(p, &tail, parse_expr(p));
            if (!failed(p->c))
                t->a = tail.first;
            return t;
        }
        if (!parse_is_op(p, ':'))
            return part[0];
    }
    while (!failed(p->c) && i < 2 && parse_skip_op(p, ':')) {
        i++;
        if (!parse_is_op(p, ':') && !parse_is_op(p, ']'))
            part[i] = parse_expr(p);
    }
    n = parse_new(p, N_SLICE);
    if (!failed(p->c)) {
        n->a = part[0];
        n->b = part[1];
        n->c = part[2];
    }
    return n;
}

static struct node *parse_attr(struct parser *p, struct node *x)
{
    struct node *n;

    if (p->tok.kind == T_NAME) {
        n = new_const(p, token_str(p));
        n->type = N_ATTR;
    } else if (p->tok.kind == T_INT) {
        struct node *k = new_const(p, p->tok.v);

        n = new_op(p, N_ITEM, 0, x, k);
    } else {
        parse_fail(p, "expected name or number");
        return x;
    }
    lex_next(p);
    if (!failed(p->c))
        n->a = x;
    return n;
}

static struct node *parse_call(struct parser *p, struct node *f)
{
    struct node *n = parse_new(p, N_CALL), *args = parse_call_args(p);

    if (!failed(p->c)) {
        n->a = f;
        n->b = args;
    }
    return n;
}

static struct node *parse_postfix(struct parser *p, struct node *n)
{
    while (!failed(p->c)) {
        if (parse_skip_op(p, '.')) {
            n = parse_attr(p, n);
        } else if (parse_skip_op(p, '[')) {
            n = new_op(p, N_ITEM, 0, n, parse_index(p));
            parse_expect_op(p, ']');
        } else if (parse_is_op(p, '(')) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}

/* ---- filters and tests ---- */

/* A filter's or test's name, with dots. */
static struct node *parse_what(struct parser *p, enum node_type type,
                               struct node *x)
{
    struct node *n;
    struct val name;
    char got[40];

    if (p->tok.kind != T_NAME) {
        parse_fail(p, "expected token 'name', got '%s'",
                   lex_show(&p->tok, got, sizeof got));
        return parse_new(p, type);
    }
    name = token_str(p);
    lex_next(p);
    n = new_const(p, name);
    if (failed(p->c))
        return n;
    n->type = (uint8_t)type;
    n->a = x;
    n->what = type == N_FILTER ? filter_find(name.s) : test_find(name.s);
    return n;
}

struct node *parse_filters(struct parser *p, struct node *x, bool first)
{
    while (!failed(p->c) && (first || parse_skip_op(p, '|'))) {
        x = parse_what(p, N_FILTER, x);
        if (parse_is_op(p, '('))
            x->b = parse_call_args(p);
        first = false;
    }
    return x;
}

static struct node *parse_test(struct parser *p, struct node *x)
{
    bool negated = parse_skip_name(p, "not");
    struct node *n = parse_what(p, N_TEST, x), *arg;
    enum tok_kind k = p->tok.kind;

    if (failed(p->c))
        return n;
    if (parse_is_op(p, '(')) {
        arg = parse_call_args(p);
        if (!failed(p->c))
            n->b = arg;
    } else if ((k == T_NAME || k == T_STRING || k == T_INT || k == T_FLOAT ||
                parse_is_op(p, '[') || parse_is_op(p, '{')) &&
               !parse_is_name(p, "else") && !parse_is_name(p, "or") &&
               !parse_is_name(p, "and")) {
        if (parse_is_name(p, "is"))
            parse_fail(p, "You cannot chain multiple tests with is");
        arg = parse_postfix(p, parse_primary(p));
        if (!failed(p->c))
            n->b = arg;
    }
    return negated ? new_op(p, N_NOT, 0, n, NULL) : n;
}

struct node *parse_unary(struct parser *p, bool filters)
{
    struct node *n;

    if (!ctx_enter(p->c) || p->c->depth > MAX_NESTED) {
        parse_fail(p, "more than %d levels deep", MAX_NESTED);
        return parse_new(p, N_CONST);
    }
    if (parse_is_op(p, '-') || parse_is_op(p, '+')) {
        int type = p->tok.op == '-' ? N_NEG : N_POS;

        lex_next(p);
        n = new_op(p, (enum node_type)type, 0, parse_unary(p, false), NULL);
    } else {
        n = parse_postfix(p, parse_primary(p));
    }
    while (filters && !failed(p->c)) {
        if (parse_is_op(p, '|'))
            n = parse_filters(p, n, false);
        else if (parse_skip_name(p, "is"))
            n = parse_test(p, n);
        else if (parse_is_op(p, '('))
            n = parse_call(p, n);
        else
            break;
    }
    ctx_leave(p->c);
    return n;
}

/* ---- operators ---- */

static struct node *parse_pow(struct parser *p)
{
    struct node *n = parse_unary(p, true);

    while (parse_skip_op(p, OP2('*', '*')))
        n = new_op(p, N_BINARY, OP_POW, n, parse_unary(p, true));
    return n;
}

static struct node *parse_mul(struct parser *p)
{
    struct node *n = parse_pow(p);

    for (;;) {
        int op = parse_is_op(p, '*')             ? OP_MUL
                 : parse_is_op(p, '/')           ? OP_DIV
                 : parse_is_op(p, OP2('/', '/')) ? OP_FLOOR
                 : parse_is_op(p, '%')           ? OP_MOD
                                                 : -1;

        if (op < 0 || failed(p->c))
            return n;
        lex_next(p);
        n = new_op(p, N_BINARY, op, n, parse_pow(p));
    }
}

static struct node *parse_concat(struct parser *p)
{
    struct node *n = parse_mul(p);
    struct tail t = {0};

    if (!parse_is_op(p, '~'))
        return n;
    tail_add(p, &t, n);
    while (parse_skip_op(p, '~'))
        tail_add(p, &t, parse_mul(p));
    return new_op(p, N_CONCAT, 0, t.first, NULL);
}

static struct node *parse_add(struct parser *p)
{
    struct node *n = parse_concat(p);

    for (;;) {
        int op = parse_is_op(p, '+')   ? OP_ADD
                 : parse_is_op(p, '-') ? OP_SUB
                                       : -1;

        if (op < 0 || failed(p->c))
            return n;
        lex_next(p);
        n = new_op(p, N_BINARY, op, n, parse_concat(p));
    }
}

static int compare_op(struct parser *p)
{
    static const struct {
        int spelling, op;
    } ops[] = {
        {OP2('=', '='), OP_EQ}, {OP2('!', '='), OP_NE}, {OP2('<', '='), OP_LE},
        {OP2('>', '='), OP_GE}, {'<', OP_LT},           {'>', OP_GT},
    };

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (parse_skip_op(p, ops[i].spelling))
            return ops[i].op;
    if (parse_skip_name(p, "in"))
        return OP_IN;
    if (parse_is_name(p, "not") && spelled(lex_peek(p), "in")) {
        lex_next(p);
        lex_next(p);
        return OP_NOTIN;
    }
    return -1;
}

static struct node *parse_compare(struct parser *p)
{
    struct node *n = parse_add(p);
    struct tail t = {0};
    int op;

    while (!failed(p->c) && (op = compare_op(p)) >= 0)
        tail_add(p, &t, new_op(p, N_OPERAND, op, parse_add(p), NULL));
    return t.first ? new_op(p, N_COMPARE, 0, n, t.first) : n;
}

static struct node *parse_not(struct parser *p)
{
    struct node *n;

    if (!parse_is_name(p, "not"))
        return parse_compare(p);
    lex_next(p);
    if (!ctx_enter(p->c) || p->c->depth > MAX_NESTED)
        parse_fail(p, "more than %d levels deep", MAX_NESTED);
    n = new_op(p, N_NOT, 0, failed(p->c) ? NULL : parse_not(p), NULL);
    ctx_leave(p->c);
    return n;
}

static struct node *parse_and(struct parser *p)
{
    struct node *n = parse_not(p);

    while (parse_skip_name(p, "and"))
        n = new_op(p, N_AND, 0, n, parse_not(p));
    return n;
}

static struct node *parse_or(struct parser *p)
{
    struct node *n = parse_and(p);

    while (parse_skip_name(p, "or"))
        n = new_op(p, N_OR, 0, n, parse_and(p));
    return n;
}

struct node *parse_expr(struct parser *p)
{
    struct node *n, *cond;

    if (!ctx_enter(p->c) || p->c->depth > MAX_NESTED) {
        parse_fail(p, "more than %d levels deep", MAX_NESTED);
        return parse_new(p, N_CONST);
    }
    n = parse_or(p);
    while (parse_skip_name(p, "if")) {
        cond = new_op(p, N_COND, 0, parse_or(p), n);
        if (parse_skip_name(p, "else") && !failed(p->c))
            cond->c = parse_expr(p);
        n = cond;
    }
    ctx_leave(p->c);
    return n;
}

/* Where a tuple without brackets ends. */
static bool tuple_ends(const struct parser *p, bool targets)
{
    return p->tok.kind == T_VAR_END || p->tok.kind == T_BLOCK_END ||
           p->tok.kind == T_EOF || parse_is_op(p, ')') ||
           (targets && (parse_is_name(p, "in") || parse_is_op(p, '='))) ||
           parse_is_name(p, "recursive");
}

struct node *parse_tuple(struct parser *p, bool cond, bool targets)
{
    struct tail t = {0};
    bool comma = false;
    struct node *n;
    char got[40];

    while (!failed(p->c) && !tuple_ends(p, targets)) {
        tail_add(p, &t,
                 targets ? parse_postfix(p, parse_primary(p))
                 : cond  ? parse_expr(p)
                         : parse_or(p));
        if (!parse_skip_op(p, ','))
            break;
        comma = true;
    }
    if (!t.first)
        parse_fail(p, "Expected an expression, got '%s'",
                   lex_show(&p->tok, got, sizeof got));
    if (!comma || failed(p->c))
        return t.first ? t.first : parse_new(p, N_CONST);
    n = parse_new(p, N_TUPLE);
    if (!failed(p->c))
        n->a = t.first;
    return n;
}

/* What may be assigned to: a name, name.name, or a tuple of them. */
static bool can_assign(struct parser *p, const struct node *n)
{
    if (n->type == N_NAME && n->name == NAME_LOOP && p->loops)
        parse_fail(p, "can't assign to the special variable loop");
    if (n->type == N_NAME)
        return true;
    if (n->type == N_ATTR && n->a->type == N_NAME)
        return true;
    if (n->type != N_TUPLE && n->type != N_LIST)
        return false;
    for (n = n->a; n; n = n->next)
        if (!can_assign(p, n))
            return false;
    return true;
}

struct node *parse_target(struct parser *p)
{
    struct node *n = parse_tuple(p, false, true);

    if (!failed(p->c) && !can_assign(p, n))
        parse_fail(p, "can't assign to %s",
                   n->type == N_CONST ? "'const'" : "an expression");
    return n;
}
