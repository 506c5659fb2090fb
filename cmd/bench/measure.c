/* SPDX-License-Identifier: MIT
 * measure.c - the rounds of a test. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/num.h"
#include "cmd/bench/bench.h"

/* Beyond these, figures say more of the machine than of us. */
static const double most_others = 0.25, most_steal = 0.02;
enum { PASSES = 7 };

const char *const bench_word[BENCH_KINDS + 1] = {"load",   "first", "prefill",
                                                 "decode", "spec",  NULL};
volatile sig_atomic_t bench_interrupted;

/* Latencies of one run. */
static size_t latencies(const struct bench_test *t)
{
    return t->kind == BENCH_DECODE || t->kind == BENCH_SPEC ? (size_t)t->n : 1;
}

static int room(struct bench_result *r, int rounds, struct err *e)
{
    size_t n = (size_t)rounds, all;

    if (!mul_ok(n, latencies(&r->test), &all) ||
        !(r->value = calloc(n, sizeof(double))) ||
        !(r->cpu = calloc(n, sizeof(double))) ||
        !(r->plain = calloc(n, sizeof(double))) ||
        !(r->theirs = calloc(n, sizeof(double))) ||
        !(r->ms = calloc(all, sizeof(double))))
        return err_nomem(e);
    return 0;
}

static void release(struct bench_result *r)
{
    free(r->value);
    free(r->cpu);
    free(r->plain);
    free(r->theirs);
    free(r->ms);
}

/* What the machine can do, in the same minute. */
static int limits(const struct bench *b, struct bench_result *r, struct err *e)
{
    const struct limits_op *best, *vector;
    unsigned flags = 0;
    struct team *team;
    double rate[2];

    r->read_gb_s = r->int8_gop_s = -1;
    if (!(b->read_mb > 0) || r->test.threads > LIMITS_THREADS ||
        (r->test.kind != BENCH_PREFILL && r->test.kind != BENCH_DECODE))
        return 0;
    for (const struct cpu_level *l = cpu_level; l->name; l++)
        if (!strcmp(l->name, b->model->stats.isa))
            flags = l->flags;
    team = team_new(r->test.threads, e);
    if (!team)
        return -1;
    if (!limits_read(rate, team, b->read_mb, PASSES))
        r->read_gb_s = rate[0];
    best = limits_best(flags, &vector);
    if (best && r->test.kind == BENCH_PREFILL) {
        r->int8_gop_s = limits_multiply(team, best);
        r->int8 = best->name;
    }
    team_free(team);
    return 0;
}

/* One run of ours, the Ith; WARM: it does not count. */
static int ours(struct bench_result *r, int i, bool warm, bench_run_fn *fn,
                void *arg, struct err *e)
{
    struct bench_one o = {.ms = r->ms + r->nms, .cached = -1};

    if (fn(arg, &o, e))
        return -1;
    if (warm)
        return 0;
    r->value[i] = o.value;
    r->cpu[i] = o.cpu;
    r->plain[i] = o.plain;
    r->nms += o.nms;
    if (o.cached > r->cached)
        r->cached = o.cached;
    if (o.rss > r->rss)
        r->rss = o.rss;
    return 0;
}

static int theirs(const struct bench *b, struct bench_result *r, int i,
                  bool warm, struct err *e)
{
    double value, cpu;
    uint64_t rss;

    if (!b->other || !other_does(b->other, r->test.kind))
        return 0;
    if (other_run(&value, &cpu, &rss, b->other, &r->test, b->model, e))
        return -1;
    if (warm)
        return 0;
    r->theirs[i] = value;
    r->theirs_cpu += cpu;
    if (rss > r->theirs_rss)
        r->theirs_rss = rss;
    return 0;
}

/* A round begins with the one that came last in the round before. */
static int one_round(const struct bench *b, struct bench_result *r, int i,
                     bool warm, bench_run_fn *fn, void *arg, struct err *e)
{
    bool first = i % 2 != 0;

    if ((first && theirs(b, r, i, warm, e)) || ours(r, i, warm, fn, arg, e) ||
        (!first && theirs(b, r, i, warm, e)))
        return -1;
    return bench_interrupted ? -1 : 0;
}

static void warn_busy(struct bench *b, const struct bench_result *r)
{
    if (b->warned || b->quiet ||
        (r->others <= most_others && r->steal <= most_steal))
        return;
    b->warned = true;
    warn("the machine is busy: others kept %.1f processors busy, %.0f %% of "
         "the time was taken from it; figures vary",
         r->others > 0 ? r->others : 0, r->steal > 0 ? 100 * r->steal : 0);
}

static int put(struct bench *b, const struct bench_result *r, struct err *e)
{
    json_t *o = result_json(b, r, e);
    int verdict = o && b->baseline ? baseline_judge(o, b, e) : 0;
    int rc = !o || verdict < 0 ? -1 : show_put(b, o, e);

    b->slower |= verdict == 1;
    json_decref(o);
    return rc;
}

int bench_measure(struct bench *b, const struct bench_test *t, bench_run_fn *fn,
                  bench_after_fn *after, void *arg, struct err *e)
{
    struct bench_result r = {.test = *t, .cached = -1};
    struct machine_mark mark;
    int rc = room(&r, b->repeat, e) || limits(b, &r, e) ? -1 : 0;

    machine_rss_begin();
    rc = rc || one_round(b, &r, 0, true, fn, arg, e) ? -1 : 0;
    if (!rc && after)
        after(arg, NULL);
    machine_begin(&mark);
    for (; !rc && r.runs < b->repeat; r.runs++)
        if ((rc = one_round(b, &r, r.runs, false, fn, arg, e)))
            break;
    machine_since(&r.others, &r.steal, &mark);
    if (!r.rss)
        r.rss = machine_rss();
    if (!e->code && r.runs) {
        if (after)
            after(arg, &r);
        warn_busy(b, &r);
        rc = put(b, &r, e) ? -1 : rc;
    }
    release(&r);
    return rc;
}
