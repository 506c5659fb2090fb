/* SPDX-License-Identifier: MIT
 * llm-prefill.c - token streams to KV states and logits. */
#include "cmd/prefill/prefill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/common/state.h"

static struct prefill run = {.chunk = RUN_CHUNK};
static int all_logits, no_kv, no_logits, zstd, quiet, verbose;
static const char *kv_both, *kv_in, *kv_out, *follow;
static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {0, "", CLI_GROUP, load_opts, NULL, NULL},
    {0, "all-logits", CLI_FLAG, &all_logits, NULL,
     "logits of every position, not only of the last"},
    {0, "no-logits", CLI_FLAG, &no_logits, NULL, "write no logits"},
    {0, "no-kv", CLI_FLAG, &no_kv, NULL, "write no KV state"},
    {0, "zstd", CLI_FLAG, &zstd, NULL, "compress the KV state"},
    {0, "kv", CLI_STR, &kv_both, "file", "--kv-in and --kv-out"},
    {0, "kv-in", CLI_STR, &kv_in, "file", "begin with the state in this file"},
    {0, "kv-out", CLI_STR, &kv_out, "file",
     "write the KV state there, not into the stream"},
    {0, "", CLI_GROUP, state_cache_opts, NULL, NULL},
    {0, "follow", CLI_STR, &follow, "file",
     "then read tokens from this file, a FIFO, and run each"},
    {0, "chunk", CLI_INT, &run.chunk, "count",
     "tokens to run at once; default: 512"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no progress, no notes"},
    {'v', "verbose", CLI_FLAG, &verbose, NULL, "say how it went"},
    {0},
};
static const struct cli cli = {"llm-prefill", "model [file ...]",
                               "turn tokens into KV states and logits", opts};

/* ---- adapters of a sequence ---- */

static void free_choice(void *data)
{
    lora_choice_fini(data);
    free(data);
}

static int on_open(void *arg, struct prompt *p, struct err *e)
{
    (void)arg;
    p->data = calloc(1, sizeof(struct lora_choice));
    p->free_data = free_choice;
    return p->data ? 0 : err_nomem(e);
}

static int on_set(void *arg, struct prompt *p, const struct wire_rec *r,
                  struct err *e)
{
    (void)arg;
    return lora_set(p->data, &run.load.loras, run.load.model, r, e);
}

/* ---- sequences ---- */

/* What it begins with. */
static int state_of(struct sequence *s, struct err *e)
{
    if (s->prompt->state) {
        if (!s->prompt->n && prompt_of_state(s->prompt, e))
            return -1;
        s->kv = s->prompt->state;
        s->prompt->state = NULL;
    } else if (kv_in &&
               state_read(&s->kv, &run.load, kv_in, kv_both != NULL, e)) {
        return -1;
    }
    if (!s->kv && !(s->kv = kv_seq_new(run.load.kv)))
        return err_nomem(e);
    return kv_seq_adapt(s->kv, lora_chosen(s->prompt->data), e);
}

/* What comes after the tokens of S. */
static int results(struct sequence *s, struct err *e)
{
    if (kv_out)
        return state_write(kv_out, cli.prog, &run.load, s->kv,
                           zstd ? KV_ZSTD : 0, e);
    if (!no_kv && !follow && run.out)
        return kv_save(run.out, s->seq, s->kv, zstd ? KV_ZSTD : 0, e);
    return 0;
}

static int one(struct prompt *p, struct err *e)
{
    struct sequence *s = sequence_new(&run, p, e);
    struct err mine = p->failed;
    int rc;

    if (!s) {
        prompt_free(p);
        return -1;
    }
    if (kv_out && run.count > 1)
        err_set(&mine, ERR_USAGE, "--kv and --kv-out are for one sequence");
    rc = mine.code || state_of(s, &mine) || sequence_read(&run, s, &mine) ||
         results(s, &mine) || sequence_logits(&run, s, &mine);
    load_note(&run.load);
    if (verbose && !mine.code)
        warn("sequence %llu: %d tokens, %d of them reused",
             (unsigned long long)s->seq, kv_seq_n(s->kv), s->reused);
    else if (s->reused && (kv_in || run.cache) && !quiet && !mine.code)
        warn("sequence %llu: %d of %d tokens reused",
             (unsigned long long)s->seq, s->reused, kv_seq_n(s->kv));
    if (rc && mine.code == ERR_NOMEM) {
        *e = mine;
        return -1;
    }
    return sequence_done(&run, s, mine.code ? &mine : NULL, follow != NULL, e);
}

static int input(void *arg, int fd, const char *name, struct err *e)
{
    struct prompts_use use = {.open = on_open,
                              .set = on_set,
                              .kv = run.load.kv,
                              .vocab = run.load.vocab};
    struct prompts *in;
    struct prompt *p;
    int got;

    (void)arg;
    if (prompts_open(&in, fd, name, &use, e))
        return -1;
    while ((got = prompts_next(&p, in, e)) > 0)
        if (got == 1 && one(p, e)) {
            got = -1;
            break;
        }
    if (!got)
        got = prompts_pass(run.out, in, e);
    prompts_close(in);
    return got;
}

static int follow_file(struct err *e)
{
    int fd = open(follow, O_RDONLY), rc;

    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", follow, strerror(errno));
    rc = prefill_follow(&run, fd, follow, e);
    close(fd);
    return rc;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int i = cli_parse(&cli, argc, argv), st;

    if (i == argc)
        usage_error(&cli, "a model is missing");
    if (run.chunk < 1 || run.chunk > LOAD_MAX_CHUNK)
        usage_error(&cli, "--chunk must be 1 to %d", LOAD_MAX_CHUNK);
    if (kv_both && (kv_in || kv_out))
        usage_error(&cli, "--kv is --kv-in and --kv-out of the same name");
    if (all_logits && no_logits)
        usage_error(&cli, "--all-logits and --no-logits exclude each other");
    if (kv_both)
        kv_in = kv_out = kv_both;
    run.all = all_logits;
    run.want = !no_logits;
    run.prog = cli.prog;
    progress_init(quiet);
    load_open(&run.load, &cli, argv[i++], follow ? FOLLOW_MAX : 1, run.chunk,
              false);
    run.cache = state_cache(&cli, &run.load);
    if (prefill_open(&run, &e))
        die(&e);
    io_stream(&cli, &run.out);
    if (run.out)
        load_header(run.out, cli.prog, &run.load);
    st = io_each(argv + i, argc - i, input, NULL);
    /* After an error, too: whoever writes to a FIFO waits for its reader. */
    if (follow && follow_file(&e)) {
        warn("%s", e.msg);
        st = status(&e) > st ? status(&e) : st;
    }
    if (verbose)
        load_report(&run.load);
    io_stream_close(run.out, st);
    prefill_close(&run);
    load_close(&run.load);
    return cli_finish(st > run.worst ? st : run.worst);
}
