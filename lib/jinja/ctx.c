/* SPDX-License-Identifier: MIT
 * ctx.c - one rendering: its limits, its memory, its buffer.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "jinja/jinja_impl.h"

struct val ctx_fail(struct ctx *c, const char *fmt, ...)
{
    char msg[400];
    va_list ap;

    if (failed(c))
        return VAL_NONE;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_set(&c->err, ERR_FORMAT, "template line %d: %s", c->line, msg);
    return VAL_NONE;
}

bool ctx_step(struct ctx *c, size_t n)
{
    if (n < JINJA_MAX_STEPS && (c->steps += (long)n) <= JINJA_MAX_STEPS)
        return !failed(c);
    ctx_fail(c, "more than %d steps", JINJA_MAX_STEPS);
    return false;
}

bool ctx_enter(struct ctx *c)
{
    if (++c->depth > JINJA_MAX_DEPTH)
        ctx_fail(c, "more than %d levels deep", JINJA_MAX_DEPTH);
    return !failed(c);
}

void *ctx_alloc(struct ctx *c, size_t n, size_t size)
{
    void *p;

    if (failed(c))
        return NULL;
    if (n > JINJA_MAX_MEMORY / size || c->mem.total > JINJA_MAX_MEMORY ||
        n * size > JINJA_MAX_MEMORY - c->mem.total) {
        ctx_fail(c, "more than %d MB of memory", JINJA_MAX_MEMORY >> 20);
        return NULL;
    }
    p = arena_alloc(&c->mem, n * size);
    if (!p)
        err_nomem(&c->err);
    return p;
}

/* Room for N bytes and their origins. */
static unsigned char *put_room(struct ctx *c, size_t n, unsigned char **mark)
{
    unsigned char *p;

    if (failed(c) || !ctx_step(c, 1 + n / 32))
        return NULL;
    if (n > JINJA_MAX_OUTPUT - c->out.n) {
        ctx_fail(c, "more than %d MB of output", JINJA_MAX_OUTPUT >> 20);
        return NULL;
    }
    p = buf_add(&c->out, n);
    *mark = buf_add(&c->mark, n);
    if (!p || !*mark) {
        err_nomem(&c->err);
        return NULL;
    }
    return p;
}

void ctx_put(struct ctx *c, const void *p, size_t n, bool data)
{
    unsigned char *mark, *to = n ? put_room(c, n, &mark) : NULL;

    if (!to)
        return;
    memcpy(to, p, n);
    memset(mark, data, n);
}

void ctx_puts(struct ctx *c, const char *s, bool data)
{
    ctx_put(c, s, strlen(s), data);
}

void ctx_put_part(struct ctx *c, const struct str *s, size_t at, size_t n)
{
    unsigned char *mark, *to = n ? put_room(c, n, &mark) : NULL;

    if (!to)
        return;
    memcpy(to, s->p + at, n);
    if (s->mark)
        memcpy(mark, s->mark + at, n);
    else
        memset(mark, s->data, n);
}

void ctx_put_str(struct ctx *c, const struct str *s)
{
    ctx_put_part(c, s, 0, s->n);
}

void ctx_put_cp(struct ctx *c, uint32_t cp, bool data)
{
    unsigned char s[4];

    ctx_put(c, s, utf8_put(s, cp), data);
}

static bool all_ascii(const unsigned char *p, size_t n)
{
    unsigned char any = 0;

    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any < 0x80;
}

struct val ctx_take(struct ctx *c, size_t from)
{
    struct str *s = ctx_alloc(c, 1, sizeof *s);
    size_t n = failed(c) ? 0 : c->out.n - from;
    unsigned char *p = ctx_alloc(c, n ? n : 1, 1), *mark = NULL;

    if (!s || !p)
        return VAL_NONE;
    memcpy(p, c->out.p ? c->out.p + from : p, n);
    s->data = n && c->mark.p[from];
    if (n && memchr(c->mark.p + from, !s->data, n)) {
        if (!(mark = ctx_alloc(c, n, 1)))
            return VAL_NONE;
        memcpy(mark, c->mark.p + from, n);
    }
    s->p = p;
    s->mark = mark;
    s->n = n;
    s->ascii = all_ascii(p, n);
    c->out.n = c->mark.n = from;
    return val_str(s);
}

/* ---- opening and rendering ---- */

/* Newlines become \n, and one at the very end goes. */
static char *normalise(struct ctx *c, const char *s, size_t *n)
{
    char *p = ctx_alloc(c, *n + 1, 1);
    size_t k = 0;

    if (!p)
        return NULL;
    for (size_t i = 0; i < *n; i++) {
        if (s[i] == '\r' && i + 1 < *n && s[i + 1] == '\n')
            continue;
        p[k++] = s[i] == '\r' ? '\n' : s[i];
    }
    *n = k - (k && p[k - 1] == '\n');
    return p;
}

static void drop(struct ctx *c)
{
    arena_free(&c->mem);
    buf_free(&c->out);
    buf_free(&c->mark);
}

static void prepare(struct ctx *c)
{
    unsigned char *p = ctx_alloc(c, 128, 1);

    for (int i = 0; p && i < 256; i++) {
        p[i & 127] = (unsigned char)(i & 127);
        c->one[i >> 7][i & 127] = (struct str){
            .p = p + (i & 127), .n = 1, .data = i >> 7, .ascii = true};
    }
}

static const char *const first_names[] = {"loop", "varargs", "kwargs",
                                          "caller"};

int jinja_open(struct jinja **out, const char *source, size_t n, struct err *e)
{
    struct jinja *t = calloc(1, sizeof *t);
    struct ctx *c = calloc(1, sizeof *c);
    struct parser p = {.t = t, .c = c, .line = 1, .line_start = true};
    int rc = -1;

    if (!t || !c) {
        err_nomem(e);
        goto done;
    }
    if (n > JINJA_MAX_TEMPLATE) {
        err_set(e, ERR_FORMAT, "longer than %d bytes", JINJA_MAX_TEMPLATE);
        goto done;
    }
    if (!utf8_all((const unsigned char *)source, n)) {
        err_set(e, ERR_FORMAT, "not UTF-8");
        goto done;
    }
    c->line = 1;
    prepare(c);
    p.n = n;
    p.p = normalise(c, source, &p.n);
    for (int i = 0; i < NAME_OWN; i++)
        parse_name(&p, first_names[i], strlen(first_names[i]));
    if (!failed(c))
        t->body = parse_block_file(&p);
    buf_free(&p.brackets);
    if (failed(c)) {
        err_set(e, c->err.code, "%s", c->err.msg);
        goto done;
    }
    t->mem = c->mem;
    c->mem = (struct arena){0};
    *out = t;
    t = NULL;
    rc = 0;
done:
    jinja_close(t);
    if (c)
        drop(c);
    free(c);
    return rc;
}

void jinja_close(struct jinja *t)
{
    if (!t)
        return;
    arena_free(&t->mem);
    free(t);
}

/* Bind those variables that the template names. */
static void bind_vars(struct ctx *c, const struct json_t *from, bool data)
{
    for (int i = 0; i < c->t->nname && from; i++) {
        const struct str *s = c->t->name[i];
        json_t *v = json_object_getn(from, (const char *)s->p, s->n);

        if (v)
            exec_bind(c, &c->root, i, load_json(c, v, data));
    }
}

/* All of FROM behind TO; it may be large. */
static void hand_over(struct buf *to, struct buf *from)
{
    struct buf was = *to;

    if (to->n) {
        buf_put(to, from->p, from->n);
    } else {
        *to = *from;
        *from = was;
    }
}

int jinja_render(struct jinja_text *out, const struct jinja *t,
                 const struct jinja_vars *v, struct err *e)
{
    struct ctx *c = calloc(1, sizeof *c);
    int rc = -1;

    if (!c)
        return err_nomem(e);
    c->t = t;
    c->vars = v;
    c->line = 1;
    c->scope = &c->root;
    prepare(c);
    bind_vars(c, v->own, false);
    bind_vars(c, v->data, true);
    exec_block(c, t->body);
    if (failed(c)) {
        err_set(e, c->err.code, "%s", c->err.msg);
        out->raised = c->raised;
    } else {
        hand_over(&out->text, &c->out);
        hand_over(&out->data, &c->mark);
        rc = buf_ok(&out->text, e) || buf_ok(&out->data, e) ? -1 : 0;
    }
    drop(c);
    free(c);
    return rc;
}
