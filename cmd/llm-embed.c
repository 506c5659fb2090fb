/* SPDX-License-Identifier: MIT
 * llm-embed.c - vectors of texts, and which texts are near to a query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/embed/embed.h"
#include "run/run.h"

static struct program prog = {.batch = 32, .label = -1};
static int by_line, keep_length, dimensions, chunk = RUN_CHUNK, quiet, verbose;
static const char *form, *pooling, *number = "f32", *prefix = "",
                                   *query_prefix = "", *similar, *pair, *label;
static const struct cli_opt opts[] = {
    {'f', "format", CLI_STR, &form, "text|json|cbor|npy",
     "write this form; default: text on a terminal, else cbor"},
    {0, "", CLI_GROUP, io_file_opts, NULL, NULL},
    {0, "", CLI_GROUP, load_opts, NULL, NULL},
    {'L', "lines", CLI_FLAG, &by_line, NULL, "read a text per line"},
    {'J', "requests", CLI_FLAG, &prog.requests, NULL,
     "read lines of JSON, with \"text\", or \"query\" and \"document\""},
    {0, "rerank", CLI_FLAG, &prog.rerank, NULL,
     "read lines of JSON, with \"query\" and \"documents\", and rank these"},
    {0, "similar", CLI_STR, &similar, "query",
     "rank all texts by how near they are to this one"},
    {0, "top", CLI_INT, &prog.top, "count",
     "of what is ranked, tell so many; default: all"},
    {0, "pooling", CLI_STR, &pooling, "none|mean|cls|last|rank",
     "make a vector so; default: what the model says"},
    {0, "no-normalize", CLI_FLAG, &keep_length, NULL,
     "do not make the length of vectors 1"},
    {0, "dimensions", CLI_INT, &dimensions, "count",
     "keep the first numbers of a vector only"},
    {0, "dtype", CLI_STR, &number, "f32|f16|int8", "write such numbers"},
    {0, "prefix", CLI_STR, &prefix, "text", "put this before each text"},
    {0, "query-prefix", CLI_STR, &query_prefix, "text",
     "put this before each query"},
    {0, "pair", CLI_STR, &pair, "text",
     "how {query} and {document} are joined; default: what the model says"},
    {0, "label", CLI_STR, &label, "name",
     "the output by which to rank, by name or number"},
    {0, "probabilities", CLI_FLAG, &prog.probabilities, NULL,
     "rank by probabilities, not by logits"},
    {0, "truncate", CLI_FLAG, &prog.truncate, NULL,
     "cut off what is longer than the context"},
    {'b', "batch", CLI_INT, &prog.batch, "count", "texts at once; default: 32"},
    {0, "chunk", CLI_INT, &chunk, "count",
     "tokens to run at once; default: 512"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no progress"},
    {'v', "verbose", CLI_FLAG, &verbose, NULL, "say how it went"},
    {0},
};
static const struct cli cli = {"llm-embed", "model [file ...]",
                               "turn texts into vectors, rank texts", opts};

static const char *const pools[] = {
    [MODEL_POOL_NONE] = "none", [MODEL_POOL_MEAN] = "mean",
    [MODEL_POOL_CLS] = "cls",   [MODEL_POOL_LAST] = "last",
    [MODEL_POOL_RANK] = "rank", [MODEL_POOL_RANK + 1] = NULL};

static struct gguf_str string(const char *s)
{
    return (struct gguf_str){s, s ? strlen(s) : 0};
}

static void check_options(void)
{
    static const char *const types[] = {
        [WIRE_F32] = "f32", [WIRE_F16] = "f16", [WIRE_INT8] = "int8", NULL};

    prog.type = (enum wire_numbers)cli_choice(&cli, "dtype", number, types);
    prog.npy = form && !strcmp(form, "npy");
    if (prog.batch < 1 || prog.batch > 1024)
        usage_error(&cli, "--batch must be 1 to 1024");
    if (chunk < 1 || chunk > LOAD_MAX_CHUNK)
        usage_error(&cli, "--chunk must be 1 to %d", LOAD_MAX_CHUNK);
    if (by_line + prog.requests + prog.rerank > 1)
        usage_error(&cli, "--lines, --requests and --rerank exclude each "
                          "other");
    if (similar && prog.rerank)
        usage_error(&cli, "--similar and --rerank exclude each other");
    if ((similar || prog.rerank) && (prog.npy || prog.type != WIRE_F32))
        usage_error(&cli, "--dtype and -f npy are for vectors, which --similar "
                          "and --rerank do not write");
    if (prog.top && !similar && !prog.rerank)
        usage_error(&cli, "--top is for --similar and --rerank");
    if (prog.top < 0 || dimensions < 0)
        usage_error(&cli, "--top and --dimensions must be at least 1");
    if (*prefix && !by_line && !prog.requests && !prog.rerank)
        usage_error(&cli, "--prefix is for texts: --lines, --requests or "
                          "--rerank");
    if (*query_prefix && !similar && !prog.rerank)
        usage_error(&cli, "--query-prefix is for --similar and --rerank");
    if (pair && (!strstr(pair, "{query}") || !strstr(pair, "{document}")))
        usage_error(&cli, "--pair must have {query} and {document}");
    prog.requests |= prog.rerank;
    prog.prefix = string(prefix);
    prog.query_prefix = string(query_prefix);
    prog.similar = string(similar);
    prog.prog = cli.prog;
    prog.queue.end = &prog.queue.first;
}

static void open_all(const char *model)
{
    struct embed_config c = {.dims = dimensions,
                             .normal = !keep_length,
                             .batch = prog.batch,
                             .chunk = chunk,
                             .end = unit_ended,
                             .arg = &prog};
    struct err e = {0};

    if (pooling)
        c.pool =
            (enum model_pooling)cli_choice(&cli, "pooling", pooling, pools);
    load_open(&prog.load, &cli, model, prog.batch, chunk, false);
    if (!pooling)
        c.pool = embed_pool_of(prog.load.model);
    c.model = prog.load.model;
    c.kv = prog.load.kv;
    prog.rank = c.pool == MODEL_POOL_RANK;
    if (embed_new(&prog.embed, &c, &e))
        die(&e);
    rank_open(&cli, &prog, pair, label, dimensions || *prefix || *query_prefix,
              similar || prog.rerank);
    if ((similar || prog.rerank) && c.pool == MODEL_POOL_NONE)
        usage_error(&cli, "vectors of single tokens are not ranked: "
                          "--pooling");
    if (similar && prog.rank && !by_line && !prog.requests)
        usage_error(&cli, "with a model that ranks, --similar needs --lines "
                          "or --requests");
    prog.enc = tok_enc_new(prog.load.tok, 0, &e);
    if (!prog.enc)
        die(&e);
    if (verbose)
        warn("pooling: %s, %d numbers", pools[c.pool], embed_width(prog.embed));
}

static void open_output(void)
{
    if (!prog.npy) {
        io_form(form);
        io_stream(&cli, &prog.out);
        if (prog.out)
            load_header(prog.out, cli.prog, &prog.load);
        return;
    }
    io_output();
    if (isatty(STDOUT_FILENO))
        usage_error(&cli, "standard output is a terminal, and npy is not for "
                          "reading: use -o or a pipe");
}

static void close_all(void)
{
    embed_free(prog.embed);
    queue_drop(&prog.queue); /* after a failure */
    ranking_free(&prog.found);
    free(prog.query);
    tok_enc_free(prog.enc);
    buf_free(&prog.array);
    buf_free(&prog.bytes);
    load_close(&prog.load);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int i, st;

    /* It is the model that speaks, not what is saved in its cache. */
    load_kv_type("f32");
    load_embed();
    i = cli_parse(&cli, argc, argv);
    if (i == argc)
        usage_error(&cli, "a model is missing");
    check_options();
    progress_init(quiet);
    open_all(argv[i++]);
    open_output();
    if (similar && !prog.rank && vector_query(&prog, &e))
        die(&e);
    st = io_each(argv + i, argc - i,
                 by_line || prog.requests ? line_input : stream_input, &prog);
    if (prog.worst > st)
        st = prog.worst;
    /* Half an array would be taken for a whole one. */
    if (prog.npy && st)
        exit(st);
    if (similar && ranking_put(&prog, &prog.found, NULL, NULL, &e)) {
        warn("%s", e.msg);
        st = status(&e);
    }
    if (verbose)
        load_report(&prog.load);
    if (prog.npy)
        write_array(&prog);
    io_stream_close(prog.out, st);
    close_all();
    return cli_finish(st);
}
