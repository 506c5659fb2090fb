/* SPDX-License-Identifier: MIT
 * drafters.c - options to drafters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/spec/spec.h"
#include "run/draft_model.h"

enum { SMALL_CHUNK = 512, MOST = 32 };

static int no_ngram, all, ngram_min = 1, most = DRAFT_MAX, least = 1;
static float wait_ms = 20;
static const char *small_model;
static struct cli_list corpora, commands;

const struct cli_opt drafters_opts[] = {
    {0, "no-ngram", CLI_FLAG, &no_ngram, NULL,
     "do not look for repetitions in prompt and answer"},
    {0, "ngram-min", CLI_INT, &ngram_min, "count",
     "tokens that must repeat before a guess; default: 1"},
    {0, "corpus", CLI_LIST, &corpora, "file",
     "guess from this text, or token stream"},
    {0, "draft", CLI_STR, &small_model, "model", "guess by this smaller model"},
    {0, "draft-cmd", CLI_LIST, &commands, "command",
     "guess by this process, which reads and writes token streams"},
    {0, "draft-wait", CLI_FLOAT, &wait_ms, "ms",
     "wait no longer than this for a process; default: 20"},
    {0, "draft-max", CLI_INT, &most, "count",
     "at most this many guesses at once; default: 15"},
    {0, "draft-min", CLI_INT, &least, "count",
     "no fewer than this many at once; default: 1"},
    {0, "draft-all", CLI_FLAG, &all, NULL,
     "run all guesses, whether they pay or not"},
    {0},
};

/* The smaller model. */
static struct load small;

void drafters_check(const struct cli *c)
{
    if (most < 0 || most > DRAFT_MAX)
        usage_error(c, "--draft-max must be 0 to %d", DRAFT_MAX);
    if (least < 1 || least > DRAFT_MAX)
        usage_error(c, "--draft-min must be 1 to %d", DRAFT_MAX);
    if (most && least > most)
        usage_error(c, "--draft-min is more than --draft-max");
    if (ngram_min < 1)
        usage_error(c, "--ngram-min must be at least 1");
    if (!(wait_ms >= 0 && wait_ms <= 60000))
        usage_error(c, "--draft-wait must be 0 to 60000");
    if (corpora.n + commands.n > MOST - 2)
        usage_error(c, "no more than %d drafters", MOST);
}

static void left_out(void *arg, const char *name, const char *why)
{
    (void)arg;
    warn("drafter %s: %s; left out from here on", name, why);
}

static struct drafter *open_corpus(const char *path, const struct load *l)
{
    struct err e = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    struct drafter *d = NULL;

    if (!corpus_read(&ids, &n, path, l, &e))
        d = draft_corpus(path, ids, n, ngram_min, &e);
    if (!d)
        die(&e);
    free(ids);
    return d;
}

static struct drafter *open_small(const struct cli *c, const struct load *l,
                                  int batch)
{
    struct draft_model_opts o = {.chunk = SMALL_CHUNK};
    struct err e = {0};
    struct drafter *d;

    load_plain(&small, c, small_model, batch, SMALL_CHUNK, false);
    o.model = small.model;
    o.kv = small.kv;
    o.tok = small.tok;
    if (strcmp(small.vocab, l->vocab) != 0)
        o.target = l->tok;
    d = draft_model(&o, &e);
    if (!d)
        die(&e);
    return d;
}

static int text_of(struct buf *out, void *arg, const int32_t *t, int at, int n,
                   struct err *e)
{
    bool starts = !at || tok_starts_text(arg, (uint32_t)t[at - 1]);

    return tok_decode(out, arg, (const uint32_t *)t + at, (size_t)n,
                      starts ? TOK_AT_START : 0, e);
}

/* The header of the stream that the process gets. */
static void put_hello(struct buf *b, const struct cli *c, const struct load *l)
{
    const char *path = gguf_path(l->gguf);

    buf_printf(b,
               "{\"llm\":%d,\"by\":\"%s\",\"model\":{\"path\":", WIRE_VERSION,
               c->prog);
    wire_json_string(b, path, strlen(path));
    buf_printf(b, ",\"vocab\":\"%s\"}}", l->vocab);
    buf_putc(b, 0);
}

static struct drafter *open_process(const struct cli *c, const char *command,
                                    const struct load *l)
{
    struct buf hello = {0};
    struct draft_process_opts o = {
        .wait = (double)wait_ms / 1e3, .text = text_of, .arg = l->tok};
    struct err e = {0};
    struct drafter *d = NULL;

    put_hello(&hello, c, l);
    if (!buf_ok(&hello, &e)) {
        o.hello = (char *)hello.p;
        if (!child_start(&o, command, &e))
            d = draft_process(&o, &e);
    }
    if (!d)
        die(&e);
    buf_free(&hello);
    return d;
}

struct draft *drafters_open(const struct cli *c, const struct load *l,
                            int batch)
{
    struct drafter *v[MOST];
    struct draft_config config = {
        .v = v, .most = most, .least = least, .all = all, .warn = left_out};
    struct draft *d;
    struct err e = {0};

    if (!no_ngram) {
        v[config.n] = draft_ngram(ngram_min, &e);
        if (!v[config.n++])
            die(&e);
    }
    for (int i = 0; i < corpora.n; i++)
        v[config.n++] = open_corpus(corpora.v[i], l);
    for (int i = 0; i < commands.n; i++)
        v[config.n++] = open_process(c, commands.v[i], l);
    if (small_model)
        v[config.n++] = open_small(c, l, batch);
    if (draft_new(&d, &config, &e))
        die(&e);
    return d;
}

void drafters_close(struct draft *d)
{
    draft_free(d);
    if (small_model)
        load_close(&small);
}
