/* SPDX-License-Identifier: MIT
 * llm-sample.c - logits to tokens.
 *
 * A record of logits becomes one of a token, written at once: whoever makes the
 * next logits may be waiting for it.  A sequence's tokens that come in are
 * what penalties look back to; they are not written again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/io.h"
#include "cmd/sample/sample.h"

static struct settings common = {.w = {.count = -1, .logprobs = -1}};
static long long count = -1;
static int logprobs = -1, ignore_eos, verbose;
static const char *eos;
static const struct cli_opt opts[] = {
    {'n', "count", CLI_LONG, &count, "count",
     "end a sequence after this many tokens"},
    {0, "eos", CLI_STR, &eos, "id[,id...]",
     "end a sequence where one of these is drawn"},
    {0, "ignore-eos", CLI_FLAG, &ignore_eos, NULL, "never draw such tokens"},
    {0, "logprobs", CLI_INT, &logprobs, "count",
     "log-probability of each token, and of this many others"},
    {0, "", CLI_GROUP, sampling_opts, NULL, NULL},
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {'v', "verbose", CLI_FLAG, &verbose, NULL, "say what the seed is"},
    {0},
};
static const struct cli cli = {"llm-sample", "[file ...]",
                               "draw tokens by their logits", opts};

static struct wire_out *out; /* NULL: text */
static int worst;            /* exit status */

/* ---- records ---- */

static int put_end(struct seq *q, const char *why, struct err *e)
{
    struct wire_end end = {.seq = q->number,
                           .why = why,
                           .ntokens = q->made,
                           .nprompt = q->npast - q->made};

    seq_over(q);
    return out ? wire_put_end(out, &end, e) : 0;
}

/* The sequence fails, and the others go on. */
static int put_failure(struct seq *q, const struct wire_rec *r,
                       const char *name, const struct err *why, struct err *e)
{
    struct wire_error rec = {
        .seq = q->number, .code = err_word(why->code), .msg = why->msg};

    warn("%s: record %llu: %s", name, (unsigned long long)r->number, why->msg);
    if (status(why) > worst)
        worst = status(why);
    if (out && wire_put_error(out, &rec, e))
        return -1;
    return put_end(q, "error", e);
}

static int put_token(const struct seq *q, const struct seq_token *t,
                     struct err *e)
{
    struct wire_tokens rec = {.seq = q->number, .ids = &t->id, .n = 1};

    if (out) {
        rec.lp = q->set.w.logprobs >= 0 ? &t->lp : NULL;
        rec.top = q->set.w.logprobs > 0 ? t->top : NULL;
        rec.ntop = t->ntop;
        return wire_put_tokens(out, &rec, e);
    }
    printf("%llu\t%lu", (unsigned long long)q->number, (unsigned long)t->id);
    if (q->set.w.logprobs >= 0)
        printf("\t%.4f", (double)t->lp);
    for (size_t i = 0; i < t->ntop; i++)
        printf("\t%lu:%.4f", (unsigned long)t->top[i].id, (double)t->top[i].lp);
    putchar('\n');
    if (fflush(stdout))
        exit(cli_finish(1));
    return 0;
}

/* What a record says to its sequence.  Failures of the sequence are in *MINE.
 */
static int of_sequence(struct seq *q, const struct wire_rec *r,
                       struct err *mine, struct err *e)
{
    static struct seq_token t;
    const char *why;
    int got;

    if (r->kind == WIRE_TOKENS)
        return seq_add(q, r->tokens.ids, r->tokens.n, mine);
    if (r->kind == WIRE_SET) {
        if (settings_set(&q->set, r, mine))
            return -1;
        return out ? wire_put(out, r, e) : 0;
    }
    got = seq_draw(&t, &why, q, r, mine);
    if (got < 0)
        return -1;
    if (out && !q->begun &&
        sampling_put_seed(out, q->number, &q->set.w.sampling, e))
        return -1;
    q->begun = true;
    if (got && put_token(q, &t, e))
        return -1;
    return why ? put_end(q, why, e) : 0;
}

static int end(struct seq *q, const struct wire_rec *r, const char *name,
               struct err *e)
{
    bool over = q && q->over;
    struct err none = {ERR_FORMAT, "there are no logits to draw from"};
    int rc = 0;

    if (!over && !strcmp(r->end.why, "input")) {
        if (!q && !(q = seq_find(r->seq, &common, e)))
            return -1;
        rc = q->begun ? put_end(q, "length", e)
                      : put_failure(q, r, name, &none, e);
    } else if (!over && out) {
        rc = wire_put(out, r, e);
    }
    if (q)
        seq_forget(q);
    return rc;
}

static int record(const struct wire_rec *r, const char *name, struct err *e)
{
    bool ours =
        r->kind == WIRE_TOKENS || r->kind == WIRE_LOGITS || r->kind == WIRE_SET;
    struct err mine = {0};
    struct seq *q;

    if (r->kind == WIRE_HEADER)
        seq_forget_all(); /* another stream, with its own numbers */
    q = r->kind == WIRE_HEADER ? NULL
                               : seq_find(r->seq, ours ? &common : NULL, e);
    if (ours && !q)
        return -1;
    if (r->kind == WIRE_END)
        return end(q, r, name, e);
    if (q && q->over)
        return 0;
    if (!ours) {
        if (r->kind == WIRE_ERROR && !out)
            warn("%s: %s", name, r->error.msg);
        return out ? wire_put(out, r, e) : 0;
    }
    if (!of_sequence(q, r, &mine, e))
        return 0;
    if (e->code || mine.code == ERR_NOMEM)
        return err_set(e, mine.code, "%s", mine.msg);
    return put_failure(q, r, name, &mine, e);
}

/* One input: a stream of its own. */
static int input(void *arg, int fd, const char *name, struct err *e)
{
    struct wire_in *in;
    struct wire_rec r;
    int got;

    (void)arg;
    if (wire_in_open(&in, fd, name, e))
        return -1;
    while ((got = wire_next(in, &r, e)) > 0)
        if (record(&r, name, e)) {
            got = -1;
            break;
        }
    seq_forget_all();
    wire_in_close(in);
    return got;
}

/* ---- options ---- */

/* "1,2,3" */
static void parse_eos(void)
{
    const char *p = eos;
    char *stop;

    for (;; p = stop + 1) {
        unsigned long long id;
        uint32_t *ids;

        errno = 0;
        id = strtoull(p, &stop, 10);
        if (*p < '0' || *p > '9' || errno || id > UINT32_MAX ||
            (*stop && *stop != ','))
            usage_error(&cli, "--eos: '%s' is not a list of ids", eos);
        ids = realloc(common.eos.p, (common.eos.n + 1) * sizeof *ids);
        if (!ids)
            die(&(struct err){ERR_NOMEM, "out of memory"});
        ids[common.eos.n++] = (uint32_t)id;
        common.eos.p = ids;
        if (!*stop)
            break;
    }
    common.own_eos = true;
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), st;

    if (count < -1)
        usage_error(&cli, "--count: not a count, nor -1 for no limit");
    if (logprobs < -1 || logprobs > WANTED_MAX_LOGPROBS)
        usage_error(&cli, "--logprobs: not in 0 to %d, nor -1 for none",
                    WANTED_MAX_LOGPROBS);
    common.w.count = count;
    common.w.logprobs = logprobs;
    common.w.ignore_eos = ignore_eos;
    if (eos)
        parse_eos();
    sampling_init(&common.w.sampling, &cli, NULL);
    if (verbose)
        warn("seed %llu", (unsigned long long)common.w.sampling.o.seed);
    io_stream(&cli, &out);
    st = io_each(argv + i, argc - i, input, NULL);
    io_stream_close(out, st);
    settings_fini(&common);
    return cli_finish(st > worst ? st : worst);
}
