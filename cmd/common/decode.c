/* SPDX-License-Identifier: MIT */
#include "cmd/common/decode.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/answer.h"
#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/common/state.h"

enum { READ_AHEAD = 2 }; /* whole prompts that wait, for each that runs */

static struct asked common = {.w = {.count = -1, .logprobs = -1}};
static long long count = -1;
static int batch = 1, unordered, ignore_eos, logprobs = -1, strict, echo, times,
           quiet, verbose, keep_tokens, zstd, chunk = RUN_CHUNK;
static const char *kv_both, *kv_in, *kv_out, *overflow = "error";
static struct cli_list stops, bans, ban_patterns;
const struct cli_opt decode_opts[] = {
    {'n', "count", CLI_LONG, &count, "count",
     "at most this many tokens a sequence; default: no limit"},
    {0, "stop", CLI_LIST, &stops, "text", "end before this text"},
    {0, "ban-string", CLI_LIST, &bans, "text",
     "go on otherwise where this text would come"},
    {0, "ban-regex", CLI_LIST, &ban_patterns, "pattern",
     "go on otherwise where a text would match this"},
    {0, "", CLI_GROUP, constrain_opts, NULL, NULL},
    {0, "", CLI_GROUP, constrain_trigger_opts, NULL, NULL},
    {0, "ignore-eos", CLI_FLAG, &ignore_eos, NULL,
     "never end by the model's own end tokens"},
    {0, "", CLI_GROUP, sampling_opts, NULL, NULL},
    {0, "logprobs", CLI_INT, &logprobs, "count",
     "log-probability of each token, and of this many others"},
    {'b', "batch", CLI_INT, &batch, "count", "sequences at once; default: 1"},
    {0, "unordered", CLI_FLAG, &unordered, NULL,
     "write tokens as they come, not in the order of the prompts"},
    {0, "echo", CLI_FLAG, &echo, NULL, "the prompt before its answer"},
    {0, "overflow", CLI_STR, &overflow, "error|stop|shift|slide",
     "what a full context is; default: error"},
    {0, "keep", CLI_INT, &keep_tokens, "count",
     "tokens that --overflow shift leaves at the front"},
    {0, "strict", CLI_FLAG, &strict, NULL,
     "exit with 6 when a context was full"},
    {0, "kv", CLI_STR, &kv_both, "file", "--kv-in and --kv-out"},
    {0, "kv-in", CLI_STR, &kv_in, "file", "begin with the state in this file"},
    {0, "kv-out", CLI_STR, &kv_out, "file", "leave the state there at the end"},
    {0, "", CLI_GROUP, state_cache_opts, NULL, NULL},
    {0, "zstd", CLI_FLAG, &zstd, NULL, "compress the state"},
    {0, "chunk", CLI_INT, &chunk, "count",
     "tokens of a prompt to run at once; default: 512"},
    {0, "timings", CLI_FLAG, &times, NULL, "seconds, in the end records"},
    {0, "", CLI_GROUP, load_opts, NULL, NULL},
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no progress, no notes"},
    {'v', "verbose", CLI_FLAG, &verbose, NULL, "say how it went"},
    {0},
};
static const struct cli *cli;

static struct program {
    struct load load;
    struct run *run;
    struct answers answers;
    struct kv_disk *cache;
    struct draft *draft;
    struct constrain_cache *grammars;
    int sequences;
} prog;

static volatile sig_atomic_t interrupted;

/* The first Ctrl-C ends after a whole token; the next one at once. */
static void on_interrupt(int sig)
{
    interrupted = 1;
    signal(sig, SIG_DFL);
}

/* ---- events ---- */

/* A state that cannot be written is no reason to lose the answer's end. */
static int keep_state(const struct kv_seq *s, struct err *e)
{
    struct err mine = {0};

    if (prog.cache && state_cache_save(prog.cache, s, e))
        return -1;
    if (!kv_out || !state_write(kv_out, cli->prog, &prog.load, s,
                                zstd ? KV_ZSTD : 0, &mine))
        return 0;
    warn("%s", mine.msg);
    if (status(&mine) > prog.answers.worst)
        prog.answers.worst = status(&mine);
    return 0;
}

static int ended(const struct run_event *ev, struct err *e)
{
    struct answers *a = &prog.answers;
    int bad = 0;

    load_note(&prog.load);
    if (ev->error) {
        warn("sequence %llu: %s", (unsigned long long)ev->seq, ev->error->msg);
        bad = status(ev->error);
    } else if (strict && !strcmp(ev->why, "context")) {
        bad = 6;
    }
    if (bad > a->worst)
        a->worst = bad;
    if (verbose)
        warn("sequence %llu: %s; %lld + %lld tokens, %lld reused; first after "
             "%.3f s, all after %.3f s, %.1f tokens/s",
             (unsigned long long)ev->seq, ev->why, (long long)ev->nprompt,
             (long long)ev->ntokens, (long long)ev->nreused, ev->first_s,
             ev->total_s,
             ev->ntokens > 1
                 ? (double)(ev->ntokens - 1) / (ev->total_s - ev->first_s)
                 : 0.0);
    else if (ev->nreused && answer_had_state(ev->data) && !quiet)
        warn("sequence %llu: %lld of %lld tokens reused",
             (unsigned long long)ev->seq, (long long)ev->nreused,
             (long long)ev->nprompt);
    return ev->state ? keep_state(ev->state, e) : 0;
}

static int on_event(void *arg, const struct run_event *ev, struct err *e)
{
    (void)arg;
    if (ev->kind == RUN_PROMPT) {
        if (ev->done < ev->of)
            progress_show(ev->done, ev->of);
        else
            progress_clear();
        return 0;
    }
    if (ev->kind == RUN_END && ended(ev, e))
        return -1;
    return answer_event(&prog.answers, ev->data, ev, e);
}

/* ---- --cache ---- */

static int before(void *arg, struct kv *kv, struct kv_seq **s,
                  const int32_t *tokens, int n, struct err *e)
{
    (void)kv;
    return kv_disk_load(arg, s, tokens, n, e);
}

static int after(void *arg, const struct kv_seq *s, struct err *e)
{
    return state_cache_save(arg, s, e);
}

/* ---- prompts ---- */

static int on_open(void *arg, struct prompt *p, struct err *e)
{
    (void)arg;
    p->data = asked_new(&common, e);
    p->free_data = asked_free;
    return p->data ? 0 : -1;
}

static int on_set(void *arg, struct prompt *p, const struct wire_rec *r,
                  struct err *e)
{
    (void)arg;
    return asked_set(p->data, r, e);
}

/* Of two sequences with one number, one is over before the other is seen. */
static int wait_for_number(uint64_t seq, struct err *e)
{
    while (unordered && answer_open(&prog.answers, seq) && !interrupted)
        if (run_step(prog.run, on_event, NULL, e))
            return -1;
    return 0;
}

static int add(struct prompt *p, struct err *e)
{
    struct asked *q = p->data;
    struct run_request req = {.seq = p->seq,
                              .key = q->w.sampling.own_seed ? 0 : p->seq,
                              .sampling = q->w.sampling.o,
                              .stop = q->stop,
                              .ban = q->ban,
                              .n = q->w.count,
                              .ignore_eos = q->w.ignore_eos,
                              .logprobs = q->w.logprobs,
                              .score = echo && q->w.logprobs >= 0,
                              .adapt = lora_chosen(&q->lora)};
    struct answer *x = NULL;
    struct err mine = p->failed;

    if (wait_for_number(p->seq, e) || !(x = answer_new(&prog.answers, p, e))) {
        prompt_free(p);
        return -1;
    }
    if (!mine.code && kv_in && !p->state)
        state_read(&p->state, &prog.load, kv_in, kv_both != NULL, &mine);
    if (!mine.code && (kv_in || kv_out) && prog.sequences++)
        err_set(&mine, ERR_USAGE,
                "--kv, --kv-in and --kv-out are for one sequence");
    if (!mine.code && !p->n && p->state)
        prompt_of_state(p, &mine);
    if (!mine.code && !asked_ready(q, prog.grammars, &mine) && q->grammar) {
        req.grammar = q->grammar;
        req.trigger = q->must.trigger.n ? (char *)q->must.trigger.p : NULL;
        req.ntrigger = q->must.trigger.n;
        req.vocab = constrain_cache_vocab(prog.grammars);
    }
    req.prompt = p->ids;
    req.nprompt = p->n;
    req.state = p->state;
    p->had_state = p->state || prog.cache;
    req.data = x;
    if (!mine.code) {
        p->state = NULL;
        run_add(prog.run, &req, &mine);
    }
    if (!mine.code)
        return 0;
    if (mine.code == ERR_NOMEM) {
        *e = mine;
        return -1;
    }
    warn("sequence %llu: %s", (unsigned long long)p->seq, mine.msg);
    if (status(&mine) > prog.answers.worst)
        prog.answers.worst = status(&mine);
    prompt_no_state(p);
    return answer_failed(&prog.answers, x, &mine, e);
}

/* One input.  Prompts are read as long as some may run or soon will, and
 * never waited for while others run. */
static int input(void *arg, int fd, const char *name, struct err *e)
{
    struct prompts_use use = {.open = on_open,
                              .set = on_set,
                              .kv = prog.load.kv,
                              .vocab = prog.load.vocab};
    struct prompts *in;
    struct prompt *p;
    struct err failed = {0};
    int got = 1, rc = 0;

    (void)arg;
    if (interrupted)
        return 0;
    if (prompts_open(&in, fd, name, &use, e))
        return -1;
    while (!rc && !interrupted && (got > 0 || run_busy(prog.run))) {
        while (!rc && got > 0 && !interrupted &&
               run_busy(prog.run) < batch * READ_AHEAD &&
               prompts_wait(in, run_busy(prog.run) ? 0 : -1)) {
            got = prompts_next(&p, in, &failed);
            if (got == 1)
                rc = add(p, e);
        }
        if (!rc && run_busy(prog.run) && !interrupted)
            rc = run_step(prog.run, on_event, NULL, e);
    }
    progress_clear();
    if (!rc && interrupted)
        rc = run_interrupt(prog.run, on_event, NULL, e);
    if (!rc)
        rc = prompts_pass(prog.answers.out, in, e);
    if (!rc && got < 0 && !interrupted) {
        *e = failed;
        rc = -1;
    }
    prompts_close(in);
    return rc;
}

/* ---- the program ---- */

static void check_options(void)
{
    struct err e = {0};

    if (batch < 1 || batch > 1024)
        usage_error(cli, "--batch must be 1 to 1024");
    if (chunk < 1 || chunk > LOAD_MAX_CHUNK)
        usage_error(cli, "--chunk must be 1 to %d", LOAD_MAX_CHUNK);
    if (count < -1)
        usage_error(cli, "--count must be at least 0");
    if (logprobs < -1 || logprobs > WANTED_MAX_LOGPROBS)
        usage_error(cli, "--logprobs must be 0 to %d", WANTED_MAX_LOGPROBS);
    if (keep_tokens < 0)
        usage_error(cli, "--keep must be at least 0");
    if (kv_both && (kv_in || kv_out))
        usage_error(cli, "--kv is --kv-in and --kv-out of the same name");
    if (kv_both)
        kv_in = kv_out = kv_both;
    common.w.count = count;
    common.w.ignore_eos = ignore_eos;
    common.w.logprobs = logprobs;
    for (int i = 0; i < stops.n; i++)
        if (stop_add(&common.stop, stops.v[i], strlen(stops.v[i]), NULL))
            usage_error(cli, "--stop needs a text");
    for (int i = 0; i < bans.n; i++)
        if (stop_add(&common.ban, bans.v[i], strlen(bans.v[i]), NULL))
            usage_error(cli, "--ban-string needs a text");
    for (int i = 0; i < ban_patterns.n; i++)
        if (stop_add_regex(&common.ban, ban_patterns.v[i],
                           strlen(ban_patterns.v[i]), &e))
            usage_error(cli, "--ban-regex: %s", e.msg);
    constrain_init(&common.must, cli);
}

static void open_all(const char *operand, const struct decode_use *use)
{
    static const char *const words[] = {"error", "stop", "shift", "slide",
                                        NULL};
    int how = cli_choice(cli, "overflow", overflow, words);
    struct run_config c = {.batch = batch,
                           .chunk = chunk,
                           .overflow = how == 3 ? RUN_OVERFLOW_STOP
                                                : (enum run_overflow)how,
                           .keep = keep_tokens};
    int most = use ? batch * (1 + DRAFT_MAX) : batch;
    struct err e = {0};

    /* Those that wait may come with states, which are kept where they will be
     * used. */
    load_open(&prog.load, cli, operand, batch * READ_AHEAD, chunk + most,
              how == 3);
    sampling_init(&common.w.sampling, cli, prog.load.gguf);
    sampling_texts(&common.w.sampling, prog.load.tok);
    if (verbose && sampling_draws(&common.w.sampling))
        warn("seed %llu", (unsigned long long)common.w.sampling.o.seed);
    common.load = &prog.load;
    c.model = prog.load.model;
    c.context = how == 3 ? LOAD_SLIDE : 0;
    c.kv = prog.load.kv;
    c.tok = prog.load.tok;
    prog.cache = state_cache(cli, &prog.load);
    if (prog.cache) {
        c.before = before;
        c.after = after;
        c.cache_arg = prog.cache;
    }
    prog.grammars = constrain_cache_new(prog.load.tok, &e);
    if (!prog.grammars || asked_ready(&common, prog.grammars, &e))
        die(&e);
    if (use)
        c.draft = prog.draft = use->open(&prog.load, batch);
    if (run_new(&prog.run, &c, &e))
        die(&e);
    prog.answers.tok = prog.load.tok;
    prog.answers.unordered = unordered;
    prog.answers.times = times;
    prog.answers.echo = echo;
}

int decode_main(const struct cli *c, int argc, char **argv,
                const struct decode_use *use)
{
    int i = cli_parse(c, argc, argv), st;
    struct err e = {0};

    cli = c;
    if (i == argc)
        usage_error(cli, "a model is missing");
    check_options();
    if (use)
        use->check();
    progress_init(quiet);
    open_all(argv[i++], use);
    io_stream(cli, &prog.answers.out);
    prog.answers.text.newline = !prog.answers.out;
    if (prog.answers.out)
        load_header(prog.answers.out, cli->prog, &prog.load);
    signal(SIGINT, on_interrupt);
    st = io_each(argv + i, argc - i, input, NULL);
    if (verbose)
        load_report(&prog.load);
    if (use && use->report(prog.draft, prog.answers.out, &e)) {
        warn("%s", e.msg);
        st = status(&e);
    }
    if (!prog.answers.out)
        text_end_all(&prog.answers.text);
    io_stream_close(prog.answers.out, st);
    run_free(prog.run);
    if (use)
        use->close(prog.draft);
    kv_disk_close(prog.cache);
    stop_free(&common.stop);
    stop_free(&common.ban);
    constrain_fini(&common.must);
    if (common.grammar)
        constrain_put(common.cache, common.grammar);
    constrain_cache_free(prog.grammars);
    load_close(&prog.load);
    st = cli_finish(st > prog.answers.worst ? st : prog.answers.worst);
    return interrupted ? 130 : st;
}
