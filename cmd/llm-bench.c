/* SPDX-License-Identifier: MIT
 * llm-bench.c - how fast models run: loading, first token, prompts, decoding,
 * guesses; beside another program, and beside what was measured before. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cmd/bench/bench.h"
#include "cmd/common/io.h"

enum { MOST_TOKENS = 1 << 24, MOST_BATCH = 256, MOST_REPEAT = 10000 };
static const double busy_load = 0.5;

static const char *threads, *prompts = "512", *depths = "0", *batches = "1",
                            *only, *draft, *baseline, *vs, *vs_regex,
                            *form = "text";
static int count = 64, repeat = 5, shared, cold, spec, fail, quiet;
static float noise = 3, read_mb = -1;
static const struct cli_opt opts[] = {
    {'p', "prompt", CLI_STR, &prompts, "count[,...]",
     "read prompts of so many tokens; 0: none; default: 512"},
    {'n', "count", CLI_INT, &count, "count",
     "decode so many tokens; 0: none; default: 64"},
    {0, "depth", CLI_STR, &depths, "count[,...]",
     "behind so many tokens that are read already; default: 0"},
    {'b', "batch", CLI_STR, &batches, "count[,...]",
     "decode so many sequences at once; default: 1"},
    {0, "shared", CLI_FLAG, &shared, NULL,
     "sequences of a batch have what --depth reads in common"},
    {'t', "threads", CLI_STR, &threads, "count[,...]",
     "use so many threads; default: the performance cores it may use"},
    {'r', "repeat", CLI_INT, &repeat, "count",
     "runs of each test, after one that does not count; default: 5"},
    {0, "only", CLI_STR, &only, "test[,...]",
     "no other tests than these of load, first, prefill, decode and spec"},
    {0, "cold", CLI_FLAG, &cold, NULL,
     "load and first also with the file out of the page cache"},
    {0, "spec", CLI_FLAG, &spec, NULL,
     "continue a text that repeats, with guesses and without"},
    {0, "draft", CLI_STR, &draft, "model",
     "--spec, and guess by this smaller model, too"},
    {0, "", CLI_GROUP, load_memory_opts, NULL, NULL},
    {0, "baseline", CLI_STR, &baseline, "file",
     "say what has changed since these lines of -f json"},
    {0, "noise", CLI_FLOAT, &noise, "percent",
     "what differs by no more is no change; default: 3"},
    {0, "fail-on-regression", CLI_FLAG, &fail, NULL,
     "exit with 1 when something is slower than in --baseline"},
    {0, "vs", CLI_STR, &vs, "command",
     "run this, too, in turns with each test"},
    {0, "vs-regex", CLI_STR, &vs_regex, "regex",
     "its result is the number that this matches last, not its time"},
    {0, "read-mb", CLI_FLOAT, &read_mb, "count",
     "megabytes to read to measure the memory; 0: do not measure"},
    {'f', "format", CLI_STR, &form, "text|json|markdown",
     "write this form; default: text"},
    {0, "", CLI_GROUP, io_file_opts, NULL, NULL},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no warning of a busy machine"},
    {0},
};
static const struct cli cli = {"llm-bench", "model ...",
                               "measure how fast models run", opts};

static struct bench_lists lists;
static struct bench bench;

/* The first Ctrl-C ends after a step; the next one at once. */
static void on_interrupt(int sig)
{
    bench_interrupted = 1;
    signal(sig, SIG_DFL);
}

static void catch_interrupt(void)
{
    struct sigaction a = {.sa_handler = on_interrupt};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* ---- options ---- */

/* Numbers from LEAST to MOST, between commas; their count. */
static int numbers(int v[BENCH_LIST], const char *option, const char *s,
                   int least, int most)
{
    int n = 0;

    for (char *end; n < BENCH_LIST; s = end + 1) {
        long x;

        errno = 0;
        x = strtol(s, &end, 10);
        if (errno || end == s || (*end && *end != ',') || x < least || x > most)
            break;
        v[n++] = (int)x;
        if (!*end)
            return n;
    }
    usage_error(&cli,
                "--%s must be numbers of %d to %d between commas, at most %d",
                option, least, most, BENCH_LIST);
}

static void choose_tests(void)
{
    char word[16];

    for (int i = 0; i < BENCH_SPEC; i++)
        lists.only[i] = !only;
    for (const char *s = only; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : 0) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(s, ",") % 16, s);
        lists.only[cli_choice(&cli, "only", word, bench_word)] = true;
    }
    lists.only[BENCH_SPEC] |= spec || draft;
    if (lists.nprompt == 1 && !lists.prompt[0])
        lists.only[BENCH_PREFILL] = false;
    if (!count)
        lists.only[BENCH_DECODE] = lists.only[BENCH_SPEC] = false;
}

static void read_options(void)
{
    lists.nprompt = numbers(lists.prompt, "prompt", prompts, 0, MOST_TOKENS);
    lists.ndepth = numbers(lists.depth, "depth", depths, 0, MOST_TOKENS);
    lists.nbatch = numbers(lists.batch, "batch", batches, 1, MOST_BATCH);
    if (threads)
        lists.nthread = numbers(lists.threads, "threads", threads, 1, POOL_MAX);
    for (int i = 0; i < lists.nprompt && lists.nprompt > 1; i++)
        if (!lists.prompt[i])
            usage_error(&cli, "--prompt: 0 is for no other prompts");
    if (count < 0 || count == 1 || count > MOST_TOKENS)
        usage_error(&cli, "--count must be 0, or 2 to %d", MOST_TOKENS);
    if (repeat < 1 || repeat > MOST_REPEAT)
        usage_error(&cli, "--repeat must be 1 to %d", MOST_REPEAT);
    if (!(noise >= 0 && noise <= 100))
        usage_error(&cli, "--noise must be 0 to 100");
    if (!(read_mb == -1 || (read_mb >= 0 && read_mb < 1e6f)))
        usage_error(&cli, "--read-mb must be 0 to 1000000");
    if (fail && !baseline)
        usage_error(&cli, "--fail-on-regression wants --baseline");
    if (vs_regex && !vs)
        usage_error(&cli, "--vs-regex wants --vs");
    lists.n = count;
    lists.cold = cold;
    lists.draft = draft;
    choose_tests();
}

static void prepare(void)
{
    static const char *const forms[] = {"text", "json", "markdown", NULL};

    bench.cli = &cli;
    bench.version = LLM_VERSION;
    bench.as = (enum show_as)cli_choice(&cli, "format", form, forms);
    bench.repeat = repeat;
    bench.noise = (double)noise / 100;
    bench.read_mb = read_mb < 0 ? limits_far_mb() : (double)read_mb;
    bench.shared = shared;
    bench.quiet = quiet;
    if (vs)
        bench.other = other_new(&cli, vs, vs_regex);
    if (baseline)
        bench.baseline = baseline_read(baseline);
    bench.load = machine_load();
    if (bench.load > busy_load && !quiet) {
        bench.warned = true;
        warn("the machine is busy: its load is %.2f; figures vary", bench.load);
    }
}

/* ---- tests ---- */

static int one_model(const char *operand, struct err *e)
{
    static struct bench_model m;
    int rc = 0;

    bench_model_open(&m, &cli, operand);
    bench.model = &m;
    if (!threads) {
        lists.threads[0] = m.stats.threads;
        lists.nthread = 1;
    }
    rc = show_begin(&bench);
    for (int i = 0; i < lists.nthread && !rc && !bench_interrupted; i++) {
        struct bench_test t = {.threads = lists.threads[i], .batch = 1};

        for (int c = 0; c <= cold && !rc; c++) {
            t.cold = c;
            if (lists.only[BENCH_LOAD])
                rc = bench_load(&bench, &t, e);
        }
        for (int c = 0; c <= cold && !rc; c++) {
            t.cold = c;
            if (lists.only[BENCH_FIRST])
                rc = bench_first(&bench, &t, e);
        }
        rc = rc ? rc : bench_tokens(&bench, &lists, t.threads, e);
    }
    if (show_end(&bench))
        rc = -1; /* as cli_finish() will say */
    bench_model_close(&m);
    return rc;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int i = cli_parse(&cli, argc, argv), rc = 0, st = 0;

    if (i == argc)
        usage_error(&cli, "a model is missing");
    read_options();
    prepare();
    io_output();
    catch_interrupt();
    for (; i < argc && !rc && !bench_interrupted; i++)
        rc = one_model(argv[i], &e);
    if (e.code) {
        warn("%s", e.msg);
        st = status(&e);
    }
    if (!st && fail && bench.slower)
        st = 1;
    other_free(bench.other);
    json_decref(bench.baseline);
    st = cli_finish(st);
    return bench_interrupted ? 130 : st;
}
