/* SPDX-License-Identifier: MIT
 * block.c - statements: what stands between {% and %}, and the text around.
 */
#include <stdio.h>

#include "jinja/jinja_impl.h"

enum { MAX_BLOCKS = 150 };

static struct node *parse_body(struct parser *p, const char *const *ends,
                               int *which);

static bool expect_end(struct parser *p)
{
    char got[40];

    if (failed(p->c))
        return false;
    if (p->tok.kind != T_BLOCK_END) {
        parse_fail(p, "expected token 'end of statement block', got '%s'",
                   lex_show(&p->tok, got, sizeof got));
        return false;
    }
    lex_next(p);
    return true;
}

/* The body of a block, up to and with its end tag. */
static struct node *parse_until(struct parser *p, const char *end)
{
    const char *const ends[] = {end, NULL};
    struct node *n;
    int which;

    if (!expect_end(p))
        return NULL;
    n = parse_body(p, ends, &which);
    expect_end(p);
    return n;
}

static int expect_name(struct parser *p)
{
    char got[40];
    int name = 0;

    if (p->tok.kind != T_NAME)
        parse_fail(p, "expected token 'name', got '%s'",
                   lex_show(&p->tok, got, sizeof got));
    else
        name = parse_name(p, p->tok.p, p->tok.n);
    lex_next(p);
    return name;
}

/* a: test, b: body, c: what else: a body, or with FLAG another if. */
static struct node *parse_if(struct parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct node *first = parse_new(p, N_IF), *n = first, *more;
    int which;

    n->a = parse_tuple(p, false, false);
    while (expect_end(p)) {
        n->b = parse_body(p, ends, &which);
        if (failed(p->c))
            break;
        if (which == 0) {
            more = parse_new(p, N_IF);
            n->flag = true;
            n->c = more;
            n = more;
            n->a = parse_tuple(p, false, false);
            continue;
        }
        if (which == 1)
            n->c = parse_until(p, "endif");
        else
            expect_end(p);
        break;
    }
    return first;
}

/* a: target and test, b: what to go over, c: body, d: else; FLAG: recursive. */
static struct node *parse_for(struct parser *p)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    struct node *n = parse_new(p, N_FOR), *head = parse_new(p, N_PAIR);
    char got[40];
    int which;

    n->a = head;
    head->a = parse_target(p);
    if (!parse_skip_name(p, "in"))
        parse_fail(p, "expected token 'in', got '%s'",
                   lex_show(&p->tok, got, sizeof got));
    n->b = parse_tuple(p, false, false);
    if (parse_skip_name(p, "if"))
        head->b = parse_expr(p);
    n->flag = parse_skip_name(p, "recursive");
    if (!expect_end(p))
        return n;
    p->loops++;
    n->c = parse_body(p, ends, &which);
    p->loops--;
    if (failed(p->c))
        return n;
    if (which == 0)
        n->d = parse_until(p, "endfor");
    else
        expect_end(p);
    return n;
}

/* a: target, b: value; or the filters of what the body c gives. */
static struct node *parse_set(struct parser *p)
{
    struct node *n = parse_new(p, N_SET);

    n->a = parse_target(p);
    if (parse_skip_op(p, '=')) {
        n->b = parse_tuple(p, true, false);
        expect_end(p);
        return n;
    }
    n->type = N_SETBLOCK;
    n->b = parse_filters(p, NULL, false);
    n->c = parse_until(p, "endset");
    return n;
}

/* Parameters: names; a: default. */
static struct node *parse_params(struct parser *p)
{
    struct node *first = NULL, **next = &first, *n;

    parse_expect_op(p, '(');
    while (!failed(p->c) && !parse_is_op(p, ')')) {
        n = parse_new(p, N_NAME);
        n->name = expect_name(p);
        if (parse_skip_op(p, '='))
            n->a = parse_expr(p);
        *next = n;
        next = &n->next;
        if (!parse_skip_op(p, ','))
            break;
    }
    parse_expect_op(p, ')');
    return first;
}

/* A body that is called: break does not leave it, and what it uses counts. */
static void parse_callable(struct parser *p, struct node *n, const char *end)
{
    int loops = p->loops, uses = p->uses;

    p->loops = p->uses = 0;
    n->c = parse_until(p, end);
    n->op = (uint8_t)p->uses;
    p->loops = loops;
    p->uses = uses;
}

static struct node *parse_macro(struct parser *p)
{
    struct node *n = parse_new(p, N_MACRO);

    n->name = expect_name(p);
    n->a = parse_params(p);
    parse_callable(p, n, "endmacro");
    return n;
}

/* b: the call. */
static struct node *parse_callblock(struct parser *p)
{
    struct node *n = parse_new(p, N_CALLBLOCK);

    if (parse_is_op(p, '('))
        n->a = parse_params(p);
    n->b = parse_expr(p);
    if (!failed(p->c) && n->b->type != N_CALL)
        parse_fail(p, "expected call");
    parse_callable(p, n, "endcall");
    return n;
}

static struct node *parse_filterblock(struct parser *p)
{
    struct node *n = parse_new(p, N_FILTERBLOCK);

    n->b = parse_filters(p, NULL, true);
    n->c = parse_until(p, "endfilter");
    return n;
}

/* a: pairs of target and value. */
static struct node *parse_with(struct parser *p)
{
    struct node *n = parse_new(p, N_WITH), **next = &n->a, *pair;

    while (!failed(p->c) && p->tok.kind != T_BLOCK_END) {
        if (next != &n->a)
            parse_expect_op(p, ',');
        pair = parse_new(p, N_PAIR);
        pair->a = parse_new(p, N_NAME);
        pair->a->name = expect_name(p);
        parse_expect_op(p, '=');
        pair->b = parse_expr(p);
        *next = pair;
        next = &pair->next;
    }
    n->c = parse_until(p, "endwith");
    return n;
}

static struct node *parse_generation(struct parser *p)
{
    struct node *n = parse_new(p, N_SCOPE);

    n->c = parse_until(p, "endgeneration");
    return n;
}

static struct node *parse_flow(struct parser *p, enum node_type type)
{
    struct node *n = parse_new(p, type);

    if (!p->loops)
        parse_fail(p, "%s outside of a loop",
                   type == N_BREAK ? "break" : "continue");
    expect_end(p);
    return n;
}

static struct node *parse_break(struct parser *p)
{
    return parse_flow(p, N_BREAK);
}

static struct node *parse_continue(struct parser *p)
{
    return parse_flow(p, N_CONTINUE);
}

static const struct {
    const char *name;
    struct node *(*parse)(struct parser *p); /* NULL: not without a loader */
} tags[] = {
    {"if", parse_if},
    {"for", parse_for},
    {"set", parse_set},
    {"macro", parse_macro},
    {"call", parse_callblock},
    {"filter", parse_filterblock},
    {"with", parse_with},
    {"generation", parse_generation},
    {"break", parse_break},
    {"continue", parse_continue},
    {"include", NULL},
    {"import", NULL},
    {"from", NULL},
    {"extends", NULL},
    {"block", NULL},
    {"autoescape", NULL},
};

static struct node *parse_statement(struct parser *p)
{
    char got[40] = "";

    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (!parse_is_name(p, tags[i].name))
            continue;
        if (!tags[i].parse) {
            err_set(&p->c->err, ERR_UNSUPPORTED,
                    "line %d: tag '%s' is not supported", p->line,
                    tags[i].name);
            return NULL;
        }
        lex_next(p);
        return tags[i].parse(p);
    }
    if (p->tok.kind != T_NAME)
        parse_fail(p, "tag name expected");
    parse_fail(p, "Encountered unknown tag '%s'.",
               lex_show(&p->tok, got, sizeof got));
    return NULL;
}

static struct node *parse_print(struct parser *p)
{
    struct node *n = parse_new(p, N_PRINT);
    char got[40];

    n->a = parse_tuple(p, true, false);
    if (!failed(p->c) && p->tok.kind == T_EOF)
        parse_fail(p, "unexpected end of template, expected 'end of print "
                      "statement'.");
    if (!failed(p->c) && p->tok.kind != T_VAR_END)
        parse_fail(p, "expected token 'end of print statement', got '%s'",
                   lex_show(&p->tok, got, sizeof got));
    lex_next(p);
    return n;
}

static struct node *parse_text(struct parser *p)
{
    struct node *n = parse_new(p, N_TEXT);
    struct val *k = ctx_alloc(p->c, 1, sizeof *k);

    if (k) {
        *k = val_str(p->tok.s);
        n->k = k;
    }
    lex_next(p);
    return n;
}

/* Is this one of the tags that end the body?  Its place in ENDS; -1. */
static int end_tag(const struct parser *p, const char *const *ends)
{
    for (int i = 0; ends && ends[i]; i++)
        if (parse_is_name(p, ends[i]))
            return i;
    return -1;
}

/* Everything up to one of ENDS, whose name is skipped, or to the end of the
 * template where there are none. */
static struct node *parse_body(struct parser *p, const char *const *ends,
                               int *which)
{
    struct node *first = NULL, **next = &first, *n;

    *which = -1;
    if (!ctx_enter(p->c) || p->c->depth > MAX_BLOCKS) {
        parse_fail(p, "more than %d levels deep", MAX_BLOCKS);
        return NULL;
    }
    while (!failed(p->c)) {
        enum tok_kind kind = p->tok.kind;

        if (kind == T_EOF && !ends)
            break;
        if (kind == T_EOF) {
            parse_fail(p, "Unexpected end of template: '%s' is missing",
                       ends[ends[1] ? 1 + !!ends[2] : 0]);
            break;
        }
        if (kind != T_TEXT)
            lex_next(p);
        if (kind == T_BLOCK && (*which = end_tag(p, ends)) >= 0) {
            lex_next(p);
            break;
        }
        n = kind == T_TEXT    ? parse_text(p)
            : kind == T_BLOCK ? parse_statement(p)
                              : parse_print(p);
        if (failed(p->c))
            break;
        *next = n;
        next = &n->next;
    }
    ctx_leave(p->c);
    return first;
}

struct node *parse_block_file(struct parser *p)
{
    int which;

    lex_next(p);
    return parse_body(p, NULL, &which);
}
