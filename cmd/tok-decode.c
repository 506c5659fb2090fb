/* SPDX-License-Identifier: MIT
 * tok-decode.c - token streams to text. */
#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/common/text.h"
#include "tok/tok.h"
#include "wire/wire.h"

static int lines, nul, escape, json, raw, special;
static const char *model;
static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, io_file_opts, NULL, NULL},
    {'L', "lines", CLI_FLAG, &lines, NULL, "a newline after each sequence"},
    {'0', "null", CLI_FLAG, &nul, NULL, "a NUL after each sequence"},
    {'e', "escape", CLI_FLAG, &escape, NULL,
     "newlines and backslashes in text as \\n and \\\\"},
    {'J', "jsonl", CLI_FLAG, &json, NULL, "a line of JSON for each sequence"},
    {'m', "model", CLI_STR, &model, "model",
     "make the text of records that have none"},
    {'r', "raw", CLI_FLAG, &raw, NULL,
     "bytes as they come, not in whole characters"},
    {0, "special", CLI_FLAG, &special, NULL,
     "with --model: show control tokens by their spelling"},
    {0},
};
static const struct cli cli = {"tok-decode", "[file ...]",
                               "turn a token stream into text", opts};

struct decoder {
    struct text text;
    struct tok *tok; /* NULL: without a model */
    char vocab[33];
    struct buf tmp;
    int status;
};

static int tokens(struct decoder *d, const struct wire_tokens *r, struct err *e)
{
    const void *p = r->text;
    size_t n = r->ntext;

    if (!p && r->n && !d->tok)
        return err_set(e, ERR_FORMAT,
                       "tokens without text: name their model with -m");
    if (!p && r->n) {
        unsigned flags = (special ? TOK_SHOW_SPECIAL : 0u) |
                         (text_starts(&d->text, r->seq) ? TOK_AT_START : 0u);

        d->tmp.n = 0;
        if (tok_decode(&d->tmp, d->tok, r->ids, r->n, flags, e))
            return -1;
        p = d->tmp.p;
        n = d->tmp.n;
    }
    if (d->tok && r->n)
        text_set_starts(&d->text, r->seq,
                        tok_starts_text(d->tok, r->ids[r->n - 1]));
    text_add(&d->text, r->seq, p, n, r->n);
    return 0;
}

static void error(struct decoder *d, const struct wire_rec *r, const char *name)
{
    const char *msg = *r->error.msg ? r->error.msg : r->error.code;

    d->status = 1;
    if (!r->has_seq) {
        warn("%s: %s", name, msg);
        return;
    }
    warn("%s: sequence %llu: %s", name, (unsigned long long)r->seq, msg);
    text_error(&d->text, r->seq, msg);
}

static int record(struct decoder *d, const struct wire_rec *r, const char *name,
                  struct err *e)
{
    int got;

    switch (r->kind) {
    case WIRE_HEADER:
        text_end_all(&d->text); /* another stream, with its own numbers */
        return d->tok ? wire_check_vocab(&r->header, d->vocab, e) : 0;
    case WIRE_TOKENS:
        return tokens(d, &r->tokens, e);
    case WIRE_SET:
        d->tmp.n = 0;
        got = wire_get_json(&d->tmp, r, "id", e);
        text_id(&d->text, r->seq, d->tmp.p, d->tmp.n);
        return got < 0 ? -1 : 0;
    case WIRE_END:
        text_end(&d->text, r->seq, r->end.why);
        return 0;
    case WIRE_ERROR:
        error(d, r, name);
        return 0;
    default:
        return 0;
    }
}

static void before_read(void *unused)
{
    (void)unused;
    text_flush();
}

/* One input: a stream of its own. */
static int decode(void *arg, int fd, const char *name, struct err *e)
{
    struct decoder *d = arg;
    struct wire_rec r;
    struct wire_in *in;
    int got;

    if (wire_in_open(&in, fd, name, e))
        return -1;
    wire_in_before(in, before_read, NULL);
    while ((got = wire_next(in, &r, e)) > 0)
        if (record(d, &r, name, e)) {
            err_prefix(e, "%s: record %llu", name,
                       (unsigned long long)r.number);
            break;
        }
    text_end_all(&d->text);
    text_flush();
    wire_in_close(in);
    return got ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct decoder d = {0};
    struct err e = {0};
    struct gguf *g = NULL;
    int i = cli_parse(&cli, argc, argv), st;

    if (json && (lines || nul || escape))
        usage_error(&cli,
                    "--jsonl goes with none of --lines, --null, --escape");
    d.text.newline = lines;
    d.text.nul = nul;
    d.text.raw = raw;
    d.text.escape = escape;
    d.text.json = json;
    if (model) {
        g = model_operand(model);
        if (tok_open(&d.tok, g, NULL, &e))
            die(&e);
        gguf_vocab_id(d.vocab, g);
    }
    io_output();
    st = io_each(argv + i, argc - i, decode, &d);
    if (d.tok)
        tok_close(d.tok);
    if (g)
        gguf_close(g);
    buf_free(&d.tmp);
    return cli_finish(st > d.status ? st : d.status);
}
