/* SPDX-License-Identifier: MIT
 * jinja_impl.h - what the files of the interpreter share.
 *
 * 1. A value never changes once it can be seen, but for namespaces, loops and
 *    their like.  All of it lives in one arena until the rendering ends.
 * 2. An error sticks: after it every function returns at once, and what it
 *    returns means nothing.  Loops look at failed().
 * 3. Text is put together at the end of one buffer, ctx.out, with an origin
 *    beside each byte; what is made for a string is taken off again.
 * 4. Recursion counts in ctx.depth, work in ctx.steps.
 */
#ifndef LLM_JINJA_IMPL_H
#define LLM_JINJA_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "jinja/jinja.h"

typedef __int128 big;

/* ---- the parsed template ---- */

enum node_type {
    /* expressions */
    N_CONST,
    N_NAME,
    N_LIST,
    N_TUPLE,
    N_DICT,
    N_ATTR,
    N_ITEM,
    N_SLICE,
    N_CALL,
    N_FILTER,
    N_TEST,
    N_NOT,
    N_NEG,
    N_POS,
    N_BINARY,
    N_CONCAT,
    N_COMPARE,
    N_AND,
    N_OR,
    N_COND,
    N_KEYWORD,
    N_STAR,
    N_STARSTAR,
    N_PAIR,
    N_OPERAND,
    /* statements */
    N_TEXT,
    N_PRINT,
    N_IF,
    N_FOR,
    N_SET,
    N_SETBLOCK,
    N_MACRO,
    N_CALLBLOCK,
    N_FILTERBLOCK,
    N_WITH,
    N_SCOPE,
    N_BREAK,
    N_CONTINUE
};

/* N_BINARY and N_OPERAND of an N_COMPARE. */
enum op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR,
    OP_MOD,
    OP_POW,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOTIN
};

/* What A to D are: parse.c and block.c say where they make one.  NEXT links
 * lists. */
struct node {
    uint8_t type, op;
    bool flag;
    int line, name;
    struct node *a, *b, *c, *d, *next;
    const struct val *k;
    const void *what; /* a filter or test */
};

struct jinja {
    struct arena mem;
    struct node *body;
    struct str **name; /* by id */
    int nname;
};

/* ---- values ---- */

enum val_type {
    V_UNDEF,
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_STR,
    V_BYTES,
    V_LIST,
    V_TUPLE,
    V_DICT,
    V_VIEW,
    V_RANGE,
    V_GEN,
    V_SPACE,
    V_FUNC,
    V_MACRO,
    V_LOOP,
    V_CYCLER,
    V_JOINER,
    V_ABSENT, /* an argument that was not given */
};

struct val {
    uint8_t type;
    bool data;   /* a scalar that comes from data */
    bool markup; /* a string that is HTML already */
    union {
        big i; /* V_BOOL, too */
        double f;
        struct str *s;
        struct list *l; /* LIST, TUPLE, GEN, RANGE */
        struct dict *d; /* DICT, SPACE */
        struct {
            struct dict *d;
            int kind; /* 'i', 'k', 'v' */
        } view;
        struct {
            const struct str *name;
            const char *owner; /* its type, where an attribute was looked for */
        } undef;
        struct {
            const struct func_def *def;
            struct val *self;
        } func;
        struct macro *macro;
        struct loop *loop;
        struct cycle *cycle;
    };
};

/* Room behind a string or list that its last owner may grow into. */
struct room {
    size_t used, cap;
};

/* N bytes of UTF-8.  MARK[i] says whether byte i is data; without, all are as
 * DATA says. */
struct str {
    const unsigned char *p, *mark;
    size_t n;
    bool data, ascii;
    struct room *room;
};

struct list {
    struct val *v;
    size_t n;
    bool data;
    bool group; /* a pair that groupby made */
    struct room *room;
    size_t taken;   /* V_GEN: how many are gone */
    big from, step; /* V_RANGE */
};

struct pair {
    struct val k, v;
    uint64_t hash;
};

struct dict {
    struct pair *e; /* in order */
    size_t n, cap;
    uint32_t *index; /* by hash: place in E and 1; NINDEX, a power of 2 */
    size_t nindex;
    bool data;
};

struct bind {
    int name;
    struct val v;
};

struct scope {
    struct scope *up;
    struct bind *b;
    int n, cap;
    bool kept; /* a macro sees it */
};

/* The first names of every template. */
enum { NAME_LOOP, NAME_VARARGS, NAME_KWARGS, NAME_CALLER, NAME_OWN };

struct macro {
    const struct node *def; /* N_MACRO or N_CALLBLOCK */
    struct scope *scope;
    const struct str *name; /* NULL for the body of a call block */
};

struct loop {
    const struct list *l;
    size_t i;
    int depth;
    const struct node *def;
    struct scope *scope; /* around the loop */
    struct val changed;
};

struct cycle { /* cycler and joiner */
    struct val *v;
    int n, at;
};

/* Arguments of a call. */
struct named {
    const struct str *key;
    struct val v;
};
struct args {
    struct val *v;
    int n;
    struct named *kw;
    int nkw;
};

struct ctx;
/* P holds the arguments by parameter. */
typedef struct val func_fn(struct ctx *c, struct val self, const struct val *p,
                           const struct args *a);
/* A function, method, filter or test.  PARAMS are their names, with spaces
 * between; NULL: FN looks at the arguments itself.  NEED of them must be
 * given. */
struct func_def {
    const char *name;
    func_fn *fn;
    const char *params;
    int need;
};
enum { MAX_PARAMS = 8 };

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

struct ctx {
    struct arena mem;
    struct err err;
    int line;
    long steps;
    int depth;
    struct buf out, mark;
    struct scope *scope, root;
    enum flow flow;
    bool raised;
    const struct jinja *t;
    const struct jinja_vars *vars;
    struct val subject;     /* of filters that have none of their own */
    struct str one[2][128]; /* strings of one character, by origin */
};

static inline bool failed(const struct ctx *c)
{
    return c->err.code != ERR_NONE;
}

/* ---- ctx.c: errors, limits, memory, the buffer ---- */

/* Fail, with the line; the value is none. */
struct val ctx_fail(struct ctx *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Count N more steps; false when the limit is passed. */
bool ctx_step(struct ctx *c, size_t n);
/* One level deeper; false when it is too deep.  Then up again. */
bool ctx_enter(struct ctx *c);
static inline void ctx_leave(struct ctx *c)
{
    c->depth--;
}
/* N * SIZE bytes, zeroed; NULL when it fails. */
void *ctx_alloc(struct ctx *c, size_t n, size_t size);

/* Append bytes of one origin, a string, a part of one, a character. */
void ctx_put(struct ctx *c, const void *p, size_t n, bool data);
void ctx_puts(struct ctx *c, const char *s, bool data);
void ctx_put_part(struct ctx *c, const struct str *s, size_t at, size_t n);
void ctx_put_str(struct ctx *c, const struct str *s);
void ctx_put_cp(struct ctx *c, uint32_t cp, bool data);
/* Take off what was put since the buffer had FROM bytes. */
struct val ctx_take(struct ctx *c, size_t from);

/* ---- val.c ---- */

#define VAL_NONE   ((struct val){.type = V_NONE})
#define VAL_ABSENT ((struct val){.type = V_ABSENT})

static inline struct val val_int(big i)
{
    return (struct val){.type = V_INT, .i = i};
}
static inline struct val val_bool(bool b)
{
    return (struct val){.type = V_BOOL, .i = b};
}
static inline struct val val_float(double f)
{
    return (struct val){.type = V_FLOAT, .f = f};
}
static inline struct val val_str(struct str *s)
{
    return (struct val){.type = V_STR, .s = s};
}
static inline bool val_is_num(struct val v)
{
    return v.type == V_INT || v.type == V_BOOL || v.type == V_FLOAT;
}
static inline bool val_is_int(struct val v)
{
    return v.type == V_INT || v.type == V_BOOL;
}
static inline double val_double(struct val v)
{
    return v.type == V_FLOAT ? v.f : (double)v.i;
}
/* Python's name of the type. */
const char *val_type_name(struct val v);
bool val_true(struct ctx *c, struct val v);
bool val_equal(struct ctx *c, struct val a, struct val b);
/* -1, 0, 1, or 2 where a NaN is one; fails when they have no order. */
int val_compare(struct ctx *c, struct val a, struct val b, const char *op);
bool val_in(struct ctx *c, struct val item, struct val in);
/* Everything of an iterable; NULL, having failed, for others. */
struct list *val_iter(struct ctx *c, struct val v);
bool val_iterable(struct val v);
/* How many; -1 when it has no length. */
long long val_length(struct ctx *c, struct val v);
struct val val_undef(struct ctx *c, const char *owner, const struct str *name);
/* Fail as using an undefined value does. */
struct val val_undefined(struct ctx *c, struct val v);
/* Comes any of it from data? */
bool val_data(struct val v);

/* ---- list.c and dict.c ---- */

struct val list_new(struct ctx *c, enum val_type type, size_t cap, bool data);
/* Only while nobody else has the list. */
void list_add(struct ctx *c, struct val *l, struct val v);
struct val list_of(struct ctx *c, enum val_type type, const struct val *v,
                   size_t n);
struct val list_pair(struct ctx *c, struct val a, struct val b);
struct val list_concat(struct ctx *c, struct val a, struct val b);
struct val dict_new(struct ctx *c, bool data);
void dict_put(struct ctx *c, struct dict *d, struct val k, struct val v);
const struct val *dict_find(struct ctx *c, const struct dict *d, struct val k);
const struct val *dict_get(struct ctx *c, const struct dict *d,
                           const char *key);
/* Sort by V[i].k-style keys: KEY(c, arg, item) is compared. */
void list_sort(struct ctx *c, struct list *l, struct val *keys, bool reverse);

/* ---- str.c ---- */

struct val str_new(struct ctx *c, const void *p, size_t n, bool data);
struct val str_lit(struct ctx *c, const char *s);
/* N bytes of S from AT, shared. */
struct val str_part(struct ctx *c, const struct str *s, size_t at, size_t n);
struct val str_concat(struct ctx *c, const struct str *a, const struct str *b);
bool str_is(const struct str *s, const char *lit);
bool str_same(const struct str *a, const struct str *b);
size_t str_chars(const struct str *s);
/* The byte at which the Ith character begins; S->n for one past the end. */
size_t str_offset(const struct str *s, size_t i);
bool str_marked(const struct str *s, size_t at);
bool str_any_data(const struct str *s);
/* Where NEEDLE is at or after FROM, in bytes; -1. */
ptrdiff_t str_find(struct ctx *c, const struct str *s, size_t from,
                   const struct str *needle);
ptrdiff_t str_rfind(struct ctx *c, const struct str *s,
                    const struct str *needle);
/* Without whitespace, or the characters of CHARS, at the ends that SIDES
 * names: 1 left, 2 right. */
struct val str_strip(struct ctx *c, const struct str *s,
                     const struct str *chars, int sides);
/* Python's str.isspace() of one character. */
bool str_is_space(uint32_t cp);
/* 'u', 'l', 't' (title), 'c' (capitalize), 's' (swap). */
struct val str_case(struct ctx *c, const struct str *s, int how);

/* ---- show.c ---- */

/* As str() and repr() have it, put into the buffer. */
void show_str(struct ctx *c, struct val v);
void show_repr(struct ctx *c, struct val v);
/* str() as a value. */
struct val show_val(struct ctx *c, struct val v);
void show_int(struct ctx *c, big i, bool data);
/* Python's repr of a float, at most 50 bytes. */
void show_real(char *to, double f);
struct show_json {
    int indent; /* -1: one line */
    bool ascii, sort;
    const struct str *item, *key; /* separators */
    const struct str *pad;        /* an indent that is a string */
};
void show_dumps(struct ctx *c, struct val v, const struct show_json *o);

/* ---- num.c ---- */

/* As Python's int() and float() read a string; false when they would not. */
bool num_parse_int(const struct str *s, int base, big *out);
bool num_parse_float(const struct str *s, double *out);
struct val num_binary(struct ctx *c, enum op op, struct val a, struct val b);
/* Checked. */
bool num_mul(big a, big b, big *r);

/* ---- format.c ---- */

/* FORMAT % ARG, and FORMAT.format(...). */
struct val format_percent(struct ctx *c, const struct str *f, struct val arg);
struct val format_braces(struct ctx *c, const struct str *f,
                         const struct args *a);

/* ---- eval.c ---- */

struct val eval(struct ctx *c, const struct node *n);
struct val eval_call(struct ctx *c, struct val f, const struct args *a);
/* N_CALL, with CALLER as one more argument of that name. */
struct val eval_call_with(struct ctx *c, const struct node *n,
                          const struct val *caller);
struct val eval_def(struct ctx *c, const struct func_def *d, struct val self,
                    const struct args *a);
struct val eval_op(struct ctx *c, enum op op, struct val a, struct val b);
/* X.name and X[i]. */
struct val eval_attr(struct ctx *c, struct val x, const struct str *name);
struct val eval_item(struct ctx *c, struct val x, struct val i);

/* ---- exec.c ---- */

void exec_block(struct ctx *c, const struct node *n);
struct val exec_macro(struct ctx *c, const struct macro *m,
                      const struct args *a);
/* loop(items) in a recursive loop. */
struct val exec_again(struct ctx *c, const struct loop *l, struct val items);
void exec_bind(struct ctx *c, struct scope *s, int name, struct val v);
const struct val *exec_find(struct ctx *c, int name);

/* ---- tables ---- */

const struct func_def *method_find(struct val self, const struct str *name);
/* Those of all but strings and bytes; NULL: none. */
const struct func_def *method_seq_table(struct val self);
/* Is it a method that the sandbox does not let near? */
bool method_unsafe(struct val self, const struct str *name);
const struct func_def *filter_find(const struct str *name);
const struct func_def *filter_seq_find(const struct str *name);
const struct func_def *test_find(const struct str *name);
const struct func_def *global_find(const struct str *name);
/* A method of a cycler, a joiner, a loop. */
struct val global_attr(struct ctx *c, struct val x, const struct str *name);

/* ---- load.c ---- */

struct val load_json(struct ctx *c, const struct json_t *j, bool data);

/* ---- lex.c and the parser ---- */

enum tok_kind {
    T_TEXT,
    T_BLOCK,
    T_BLOCK_END,
    T_VAR,
    T_VAR_END,
    T_NAME,
    T_STRING,
    T_INT,
    T_FLOAT,
    T_OP,
    T_EOF
};
struct lexed {
    enum tok_kind kind;
    int op; /* T_OP: its one or two characters */
    int line;
    const char *p; /* T_NAME, T_OP, T_INT, T_FLOAT: the spelling */
    size_t n;
    struct str *s; /* T_TEXT, T_STRING */
    struct val v;  /* T_INT, T_FLOAT */
};
#define OP2(a, b) ((a) << 8 | (b))

struct parser {
    struct jinja *t;
    struct ctx *c; /* for memory, strings and errors */
    const char *p; /* the source, newlines normalised; N bytes */
    size_t n, at;
    int line;
    bool line_start;
    int state; /* 0 text, '%' or '{' inside a tag */
    struct buf brackets;
    struct lexed tok, peek;
    bool peeked;
    int loops;
    int uses;       /* of varargs 1, kwargs 2, caller 4, since a macro began */
    size_t raw_end; /* of a raw block that begins here */
    struct node none; /* in place of what could not be made */
};

bool lex_next(struct parser *p); /* p->tok; false when it failed */
const struct lexed *lex_peek(struct parser *p);
const char *lex_show(const struct lexed *t, char *to, size_t n);
struct node *parse_block_file(struct parser *p);

struct node *parse_new(struct parser *p, enum node_type type);
int parse_name(struct parser *p, const char *s, size_t n);
bool parse_is_op(const struct parser *p, int op);
bool parse_skip_op(struct parser *p, int op);
bool parse_expect_op(struct parser *p, int op);
bool parse_is_name(const struct parser *p, const char *s);
bool parse_skip_name(struct parser *p, const char *s);
void parse_fail(struct parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct node *parse_expr(struct parser *p);
/* The expression, or several with commas as a tuple.  COND: with "if". */
struct node *parse_tuple(struct parser *p, bool cond, bool targets);
struct node *parse_target(struct parser *p);
struct node *parse_call_args(struct parser *p);
/* "|name(...)", one after the other, on X; or, INLINE, "name" first. */
struct node *parse_filters(struct parser *p, struct node *x, bool first);
struct node *parse_unary(struct parser *p, bool filters);

#endif
