/* SPDX-License-Identifier: MIT
 * grammar-check.c - texts against a grammar, a schema or a regular expression.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/check/check.h"
#include "cmd/common/io.h"
#include "cmd/common/model.h"

static const char *prefix, *model;
static int print, compile, nul, quiet;
static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, constrain_opts, NULL, NULL},
    {0, "next", CLI_STR, &prefix, "prefix",
     "list what may come after this text"},
    {0, "print", CLI_FLAG, &print, NULL, "print what was compiled"},
    {'c', "compile", CLI_FLAG, &compile, NULL, "only see whether it compiles"},
    {'m', "model", CLI_STR, &model, "model",
     "take texts as the tokens of this model"},
    {'0', "null", CLI_FLAG, &nul, NULL, "texts on standard input end in NUL"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "only the exit status"},
    {0},
};
static const struct cli cli = {"grammar-check", "[text ...]",
                               "check texts against a grammar", opts};

static struct check check;
static struct buf vocab_text;
static bool all = true; /* texts match */

/* ---- texts ---- */

static void text(const void *p, size_t n)
{
    size_t bad;

    if (!quiet)
        all &= check_text(&check, p, n);
    else if (all)
        all = grammar_ends(check.g, check_state(&check, p, n, &bad)) &&
              bad == SIZE_MAX;
}

/* Texts of B that are whole; what is left stays. */
static void texts(struct buf *b, bool last)
{
    size_t from = 0;

    while (from < b->n) {
        unsigned char *p = b->p + from,
                      *end = memchr(p, nul ? 0 : '\n', b->n - from);

        if (!end && !last)
            break;
        text(p, end ? (size_t)(end - p) : b->n - from);
        from += end ? (size_t)(end - p) + 1 : b->n - from;
    }
    if (from)
        memmove(b->p, b->p + from, b->n - from);
    b->n -= from;
}

static void standard_input(void)
{
    struct buf b = {0};
    struct err e = {0};

    for (;;) {
        void *to = buf_reserve(&b, 65536);
        ssize_t n = to ? read(STDIN_FILENO, to, 65536) : 0;

        if (!to)
            die(&(struct err){ERR_NOMEM, "out of memory"});
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(&e, ERR_IO, "standard input: %s", strerror(errno));
            die(&e);
        }
        b.n += (size_t)n;
        texts(&b, n == 0);
        if (n == 0)
            break;
    }
    buf_free(&b);
}

/* ---- what is asked ---- */

static bool list_next(void)
{
    size_t bad;
    uint32_t s = check_state(&check, prefix, strlen(prefix), &bad);

    if (bad != SIZE_MAX) {
        if (!quiet)
            warn("byte %zu of the prefix may not stand there", bad);
        return false;
    }
    if (!quiet)
        check_next(&check, s);
    return true;
}

static void print_grammar(void)
{
    struct buf out = {0};
    struct err e = {0};

    if (grammar_print(&out, check.g, &e))
        die(&e);
    fwrite(out.p, 1, out.n, stdout);
    buf_free(&out);
}

static void open_model(struct gguf **g, struct tok **tok)
{
    struct err e = {0};

    *g = model_operand(model);
    if (tok_open(tok, *g, NULL, &e) ||
        constrain_vocab(&check.vocab, &vocab_text, *tok, &e) ||
        !(check.enc =
              tok_enc_new(*tok, TOK_SPECIAL | TOK_NO_BOS | TOK_NO_EOS, &e)))
        die(&e);
    check.tok = *tok;
}

static void open_grammar(void)
{
    struct constrain c;
    struct err e = {0};

    constrain_init(&c, &cli);
    if (c.kind == CONSTRAIN_NONE)
        usage_error(&cli, "one of --grammar, --json, --schema and --regex is "
                          "needed");
    if (constrain_compile(&check.g, &c, check.tok ? &check.vocab : NULL, &e))
        die(&e);
    constrain_fini(&c);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv);
    struct gguf *g = NULL;
    struct tok *tok = NULL;

    if (compile + !!prefix + (i < argc) > 1)
        usage_error(&cli, "only one of --compile, --next and texts");
    if (model)
        open_model(&g, &tok);
    open_grammar();
    if (print)
        print_grammar();
    if (prefix)
        all = list_next();
    for (int k = i; k < argc; k++)
        text(argv[k], strlen(argv[k]));
    if (i == argc && !prefix && !print && !compile)
        standard_input();
    grammar_free(check.g);
    buf_free(&vocab_text);
    tok_enc_free(check.enc);
    tok_close(tok);
    gguf_close(g);
    return cli_finish(all ? 0 : 1);
}
