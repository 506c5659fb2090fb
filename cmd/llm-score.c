/* SPDX-License-Identifier: MIT
 * llm-score.c - how probable a model finds tokens, and how far it is from
 * another one. */
#include <stdio.h>
#include <string.h>

#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/common/wanted.h"
#include "cmd/score/score.h"
#include "run/run.h"
#include "score/imatrix.h"

enum { UNSAID = -2 };

static struct program prog = {.logprobs = UNSAID, .keep = 64, .batch = 8};
static int requests, letters, no_bos, chunk = RUN_CHUNK, quiet, verbose;
static const char *against, *save, *imatrix;
static struct score_imatrix *collected;
static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {0, "", CLI_GROUP, load_opts, NULL, NULL},
    {0, "logprobs", CLI_INT, &prog.logprobs, "count",
     "tell of each token, and of this many others; -1: of none"},
    {0, "stride", CLI_INT, &prog.windows.stride, "count",
     "how far one window is from the next; default: half of one"},
    {0, "skip", CLI_INT, &prog.windows.skip, "count",
     "score none of the first tokens of a window"},
    {0, "against", CLI_STR, &against, "model", "compare with this model"},
    {0, "save", CLI_STR, &save, "file", "keep the run there, for --base"},
    {0, "save-top", CLI_INT, &prog.keep, "count",
     "keep so many tokens of each position; default: 64"},
    {0, "base", CLI_STR, &prog.base, "file", "compare with the run kept there"},
    {0, "imatrix", CLI_STR, &imatrix, "file",
     "write an importance matrix there, for gguf-quantize"},
    {'J', "requests", CLI_FLAG, &requests, NULL,
     "read texts with continuations, or questions, as lines of JSON"},
    {0, "letters", CLI_FLAG, &letters, NULL,
     "ask for the letter of an answer, not for its text"},
    {0, "no-bos", CLI_FLAG, &no_bos, NULL,
     "do not put BOS before the texts of -J"},
    {'b', "batch", CLI_INT, &prog.batch, "count",
     "windows or continuations at once; default: 8"},
    {0, "chunk", CLI_INT, &chunk, "count",
     "tokens to run at once; default: 512"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no progress"},
    {'v', "verbose", CLI_FLAG, &verbose, NULL, "say how it went"},
    {0},
};
static const struct cli cli = {"llm-score", "model [file ...]",
                               "score tokens, compare models", opts};

static void check_options(int nfile)
{
    const struct windows *w = &prog.windows;

    if (prog.logprobs < UNSAID || prog.logprobs > WANTED_MAX_LOGPROBS)
        usage_error(&cli, "--logprobs must be 0 to %d, or -1 for none",
                    WANTED_MAX_LOGPROBS);
    if (w->stride < 0 || w->skip < 0)
        usage_error(&cli, "--stride and --skip must be at least 0");
    if (prog.batch < 1 || prog.batch > 1024)
        usage_error(&cli, "--batch must be 1 to 1024");
    if (chunk < 1 || chunk > LOAD_MAX_CHUNK)
        usage_error(&cli, "--chunk must be 1 to %d", LOAD_MAX_CHUNK);
    if (prog.keep < 1)
        usage_error(&cli, "--save-top must be at least 1");
    if (prog.base && (against || save || requests))
        usage_error(&cli, "--base excludes --against, --save and --requests");
    if (prog.base && (nfile || w->stride || w->skip))
        usage_error(&cli, "with --base the run says which tokens, in which "
                          "windows");
    if (imatrix && (prog.base || save || w->stride || w->skip))
        usage_error(&cli, "--imatrix excludes --base, --save, --stride and "
                          "--skip");
    if (requests && (against || save || imatrix || w->stride || w->skip))
        usage_error(&cli, "--requests excludes --against, --save, --imatrix, "
                          "--stride and --skip");
    if ((letters || no_bos) && !requests)
        usage_error(&cli, "--letters and --no-bos are for --requests");
    /* One window after the other: sums depend on their order. */
    if (imatrix)
        prog.batch = 1;
    prog.letters = letters;
    prog.no_bos = no_bos;
    prog.prog = cli.prog;
    prog.queue.end = &prog.queue.first;
}

/* What the two models have in common. */
static void open_other(void)
{
    int most = model_context(prog.load.model), other;
    struct err e = {0};

    prog.windows.context = most;
    if (!against)
        return;
    load_plain(&prog.other, &cli, against, 2 * prog.batch, chunk, false);
    prog.two = true;
    if (strcmp(prog.load.vocab, prog.other.vocab)) {
        err_set(&e, ERR_FORMAT, "%s: its tokens are not those of %s",
                gguf_path(prog.other.gguf), gguf_path(prog.load.gguf));
        die(&e);
    }
    other = model_context(prog.other.model);
    prog.windows.context = most < other ? most : other;
}

static void open_all(const char *model)
{
    struct windows *w = &prog.windows;
    struct be_stats stats;
    struct score_config c = {.batch = prog.batch,
                             .chunk = chunk,
                             .token = item_token,
                             .end = item_ended,
                             .arg = &prog};
    struct err e = {0};

    load_open(&prog.load, &cli, model, 2 * prog.batch, chunk, false);
    open_other();
    if (!w->stride)
        w->stride = w->context > 1 && !imatrix ? w->context / 2 : w->context;
    if (w->stride > w->context)
        usage_error(&cli, "--stride must be at most the context of %d",
                    w->context);
    be_stats(&stats, prog.load.be);
    c.threads = stats.threads_batch;
    c.context = w->context;
    c.model[0] = prog.load.model;
    c.kv[0] = prog.load.kv;
    if (prog.two) {
        c.model[1] = prog.other.model;
        c.kv[1] = prog.other.kv;
    }
    if (score_new(&prog.score, &c, &e))
        die(&e);
    if (imatrix && score_imatrix_new(&collected, prog.load.be, &e))
        die(&e);
    if (prog.keep > model_n_vocab(prog.load.model))
        prog.keep = model_n_vocab(prog.load.model);
}

static void close_all(void)
{
    score_imatrix_free(collected);
    score_free(prog.score);
    queue_drop(&prog.queue); /* after a failure */
    tally_free(&prog.all);
    if (prog.two)
        load_close(&prog.other);
    load_close(&prog.load);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    const char *data;
    char *base;
    int i, st;

    /* It is the model that is judged, not what is saved in its cache. */
    load_kv_type("f32");
    i = cli_parse(&cli, argc, argv);
    if (i == argc)
        usage_error(&cli, "a model is missing");
    check_options(argc - i - 1);
    progress_init(quiet);
    open_all(argv[i++]);
    io_stream(&cli, &prog.out);
    if (prog.logprobs == UNSAID)
        prog.logprobs = prog.out ? 0 : -1;
    if (save)
        prog.saving = saving_open(save, cli.prog, prog.load.gguf);
    if (prog.out)
        load_header(prog.out, cli.prog, &prog.load);
    base = (char *)(uintptr_t)prog.base;
    data = i < argc ? argv[i] : "-";
    st = io_each(base ? &base : argv + i, base ? 1 : argc - i,
                 requests ? request_input : sequence_input, &prog);
    if (prog.worst > st)
        st = prog.worst;
    if (tally_put(&prog, &prog.all, NULL, &e) ||
        (collected && !st &&
         score_imatrix_write(collected, imatrix, data, prog.windows.context,
                             &e)) ||
        (prog.saving && saving_close(prog.saving, !st, &e))) {
        warn("%s", e.msg);
        st = status(&e);
    }
    if (verbose)
        load_report(&prog.load);
    io_stream_close(prog.out, st);
    close_all();
    return cli_finish(st);
}
