/* SPDX-License-Identifier: MIT
 * choose.c - which dialect: as the options say, as a template shows, or as the
 * template of the model does that made the stream.  Never a guess. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/model.h"
#include "cmd/parse/parse.h"
#include "tok/tok.h"

enum { MAX_FILE = 64 << 20 };

int read_all(struct buf *b, int fd, const char *name, struct err *e)
{
    for (;;) {
        void *p = buf_reserve(b, 1 << 16);
        ssize_t n;

        if (!p)
            return err_nomem(e);
        n = read(fd, p, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
        if (!n)
            return 0;
        b->n += (size_t)n;
        if (b->n > MAX_FILE)
            return err_set(e, ERR_UNSUPPORTED, "%s: larger than %d bytes", name,
                           MAX_FILE);
    }
}

static void read_file(struct buf *b, const char *operand)
{
    struct err e = {0};
    const char *name;
    int fd = io_open(operand, &name, &e);

    if (fd < 0 || read_all(b, fd, name, &e))
        die(&e);
    if (fd != STDIN_FILENO)
        close(fd);
}

static void names(char *s, size_t n, bool dialects)
{
    size_t at = 0;

    for (size_t i = 0;; i++) {
        const struct chat_dialect *d = chat_dialect_at(i);
        const struct chat_style *t = chat_style_at(i);

        if (dialects ? !d : !t)
            return;
        at += (size_t)snprintf(s + at, n - at, "%s%s", i ? ", " : "",
                               dialects ? chat_dialect_name(d)
                                        : chat_style_name(t));
    }
}

void choose_list(const struct parse *p)
{
    const struct chat_dialect *d;

    for (size_t i = 0; (d = chat_dialect_at(i)); i++) {
        const struct chat_style *s = chat_dialect_style(d);

        if (p->chosen && d != p->o.dialect)
            continue;
        if (p->chosen && p->o.style)
            s = p->o.style;
        printf("%-14s %-12s %s\n", chat_dialect_name(d), chat_style_name(s),
               chat_dialect_models(d));
    }
}

/* The template P[N] of WHAT decides. */
static int by_template(struct parse *p, const char *what, const char *s,
                       size_t n, struct err *e)
{
    const struct chat_dialect *d;
    const struct chat_style *style;
    char all[512];

    if (!chat_recognise(&d, &style, s, n)) {
        names(all, sizeof all, true);
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: its chat template shows no dialect that is known: "
                       "--dialect can be one of %s",
                       what, all);
    }
    if (!p->dialect)
        p->o.dialect = d;
    if (!p->style)
        p->o.style = style;
    p->chosen = true;
    return 0;
}

static int by_model(struct parse *p, const char *what, struct err *e)
{
    struct gguf_str s = {0};
    int got = gguf_get_str(&s, p->g, "tokenizer.chat_template.tool_use", e);

    if (!got)
        got = gguf_get_str(&s, p->g, "tokenizer.chat_template", e);
    if (got < 0)
        return -1;
    if (!got)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: it has no chat template to tell the dialect by: "
                       "use --dialect",
                       what);
    return by_template(p, what, s.p, s.n, e);
}

static int open_tok(struct parse *p, struct err *e)
{
    gguf_vocab_id(p->vocab, p->g);
    return tok_open(&p->tok, p->g, NULL, e);
}

static void load_tools(struct parse *p)
{
    struct buf b = {0};
    struct err e = {0};
    json_error_t je;
    const json_t *tools;

    read_file(&b, p->tools_file);
    p->tools = json_loadb((const char *)b.p, b.n, 0, &je);
    tools = json_is_object(p->tools) ? json_object_get(p->tools, "tools")
                                     : p->tools;
    if (!p->tools)
        err_set(&e, ERR_FORMAT, "%s: line %d: %s", p->tools_file, je.line,
                je.text);
    else if (chat_check_tools(tools, &e))
        err_prefix(&e, "%s", p->tools_file);
    if (e.code)
        die(&e);
    p->o.tools = tools;
    buf_free(&b);
}

void choose_by_options(struct parse *p, const struct cli *c)
{
    struct buf b = {0};
    struct err e = {0};
    char all[512];

    p->o.inside = p->inside;
    if (p->dialect && !strcmp(p->dialect, "auto"))
        p->dialect = NULL;
    if (p->style && !strcmp(p->style, "auto"))
        p->style = NULL;
    if (p->dialect && !(p->o.dialect = chat_dialect(p->dialect))) {
        names(all, sizeof all, true);
        usage_error(c, "--dialect: '%s' is none of auto, %s", p->dialect, all);
    }
    if (p->style && !(p->o.style = chat_style(p->style))) {
        names(all, sizeof all, false);
        usage_error(c, "--reasoning: '%s' is none of auto, %s", p->style, all);
    }
    if (p->tools_file)
        load_tools(p);
    if (p->model) {
        p->g = model_operand(p->model);
        if (open_tok(p, &e))
            die(&e);
    }
    if (p->template) {
        read_file(&b, p->template);
        if (by_template(p, p->template, (const char *)b.p, b.n, &e))
            die(&e);
        buf_free(&b);
    } else if (p->g && !(p->dialect && p->style)) {
        if (by_model(p, p->model, &e) && !p->dialect)
            die(&e);
    }
    p->chosen = p->o.dialect != NULL;
}

int choose_by_header(struct parse *p, const struct wire_header *h,
                     struct err *e)
{
    if (p->model && h)
        return wire_check_vocab(h, p->vocab, e);
    if (p->dialect || p->template)
        return 0;
    if (!h || !h->path)
        return p->chosen ? 0
                         : err_set(e, ERR_USAGE,
                                   "the stream does not say which model made "
                                   "it: use --dialect or --model");
    if (p->path && !strcmp(p->path, h->path))
        return wire_check_vocab(h, p->vocab, e);
    choose_free(p);
    p->chosen = false;
    p->path = strdup(h->path);
    if (!p->path)
        return err_nomem(e);
    if (model_try(&p->g, p->path, e) || open_tok(p, e))
        return -1;
    return wire_check_vocab(h, p->vocab, e) || by_model(p, p->path, e) ? -1 : 0;
}

void choose_free(struct parse *p)
{
    if (p->tok)
        tok_close(p->tok);
    if (p->g)
        gguf_close(p->g);
    free(p->path);
    p->tok = NULL;
    p->g = NULL;
    p->path = NULL;
}
