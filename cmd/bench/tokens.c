/* SPDX-License-Identifier: MIT
 * tokens.c - reading prompts and continuing them, in this process. */
#include "cmd/bench/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "run/step.h"

/* N tokens that no prompt before began with: nothing of them is known. */
static void draw_tokens(struct bench_ready *r, int32_t *ids, int n)
{
    int all = model_n_vocab(r->load.model), named = (int)tok_count(r->load.tok);

    if (named > 0 && named < all)
        all = named;
    r->b->drawn++;
    for (int i = 0; i < n; i++)
        ids[i] = (int32_t)(rng_unit(0, r->b->drawn, (uint64_t)i) * all);
}

int bench_add(struct run *run, uint64_t seq, const int32_t *ids, int nids,
              struct kv_seq *state, int64_t n, struct err *e)
{
    struct run_request q = {.seq = seq,
                            .prompt = ids,
                            .nprompt = nids,
                            .state = state,
                            .n = n,
                            .ignore_eos = true,
                            .logprobs = -1};

    sample_defaults(&q.sampling);
    q.sampling.temp = 0;
    return run_add(run, &q, e);
}

/* ---- contexts ---- */

static void drop_contexts(struct bench_ready *r)
{
    for (int i = 0; i < r->nbase; i++)
        kv_seq_free(r->base[i]);
    free(r->base);
    r->base = NULL;
    r->nbase = 0;
}

static int read_context(struct step *step, struct kv_seq *s, const int32_t *ids,
                        int n, struct err *e)
{
    const float *logits;

    for (int at = 0; at < n && !bench_interrupted; at += RUN_CHUNK) {
        struct step_part p = {.seq = s, .tok = ids + at, .want = STEP_NONE};

        p.n = n - at < RUN_CHUNK ? n - at : RUN_CHUNK;

        if (step_run(step, &p, 1, &logits, e))
            return -1;
    }
    return 0;
}

/* Contexts of DEPTH tokens for so many sequences, where they are not there
 * already. */
static int need_contexts(struct bench_ready *r, int depth, int count,
                         struct err *e)
{
    struct step *step;
    int32_t *ids;
    int rc = 0;

    if (r->b->shared)
        count = 1;
    if (!depth || (depth == r->depth && count <= r->nbase))
        return 0;
    drop_contexts(r);
    r->depth = depth;
    r->base = calloc((size_t)count, sizeof(struct kv_seq *));
    ids = malloc((size_t)depth * sizeof *ids);
    step = step_new(r->load.model, r->load.kv, e);
    if (!r->base || !ids || !step)
        rc = err_nomem(e);
    for (; !rc && r->nbase < count && !bench_interrupted; r->nbase++) {
        struct kv_seq *s = kv_seq_new(r->load.kv);

        if (!s) {
            rc = err_nomem(e);
            break;
        }
        r->base[r->nbase] = s;
        draw_tokens(r, ids, depth);
        rc = read_context(step, s, ids, depth, e);
    }
    step_free(step);
    free(ids);
    return rc || bench_interrupted ? -1 : 0;
}

/* The Ith sequence's tokens, with N new ones behind its context, and a state of
 * that. */
static int begin(struct bench_ready *r, int i, int n, int64_t count,
                 struct err *e)
{
    struct kv_seq *base = r->t->depth ? r->base[r->b->shared ? 0 : i] : NULL;
    struct kv_seq *state = base ? kv_seq_fork(base) : NULL;
    int depth = base ? kv_seq_n(base) : 0, rc;
    int32_t *ids = malloc((size_t)(depth + n) * sizeof *ids);

    if (!ids || (base && !state)) {
        free(ids);
        kv_seq_free(state);
        return err_nomem(e);
    }
    if (base)
        memcpy(ids, kv_seq_tokens(base), (size_t)depth * sizeof *ids);
    draw_tokens(r, ids + depth, n);
    rc = bench_add(r->run, (uint64_t)i, ids, depth + n, state, count, e);
    free(ids);
    return rc;
}

/* ---- runs ---- */

/* How many prompts have been read. */
static int on_event(void *arg, const struct run_event *ev, struct err *e)
{
    int *begun = arg;

    if (ev->kind == RUN_END && ev->error) {
        *e = *ev->error;
        return -1;
    }
    *begun += ev->kind == RUN_PROMPT && ev->done == ev->of;
    return 0;
}

static int on_end(void *arg, const struct run_event *ev, struct err *e)
{
    (void)arg;
    (void)ev;
    (void)e;
    return 0;
}

static int prefill_run(void *arg, struct bench_one *o, struct err *e)
{
    struct bench_ready *r = arg;
    double cpu, from;
    int read = 0;

    if (begin(r, 0, r->t->prompt, 1, e))
        return -1;
    cpu = machine_cpu_time();
    from = machine_now();
    while (run_busy(r->run) && !bench_interrupted)
        if (run_step(r->run, on_event, &read, e))
            return -1;
    o->ms[0] = 1e3 * (machine_now() - from);
    o->nms = 1;
    o->value = 1e3 * r->t->prompt / o->ms[0];
    o->cpu = machine_cpu_time() - cpu;
    run_interrupt(r->run, on_end, NULL, e);
    return bench_interrupted ? -1 : 0;
}

/* Sequences begin one after the other; when all of them have, each step is a
 * token of every one. */
static int decode_run(void *arg, struct bench_one *o, struct err *e)
{
    struct bench_ready *r = arg;
    double cpu, from, begin_at, last;
    int begun = 0;

    for (int i = 0; i < r->t->batch; i++)
        if (begin(r, i, 1, -1, e))
            return -1;
    while (begun < r->t->batch && !bench_interrupted)
        if (run_step(r->run, on_event, &begun, e))
            return -1;
    cpu = machine_cpu_time();
    begin_at = last = machine_now();
    while (o->nms < (size_t)r->t->n && !bench_interrupted) {
        from = last;
        if (run_step(r->run, on_event, &begun, e))
            return -1;
        last = machine_now();
        o->ms[o->nms++] = 1e3 * (last - from);
    }
    o->cpu = machine_cpu_time() - cpu;
    o->value = (double)o->nms * r->t->batch / (last - begin_at);
    if (run_interrupt(r->run, on_end, NULL, e))
        return -1;
    return bench_interrupted ? -1 : 0;
}

static int measure(struct bench_ready *r, struct bench_test *t,
                   bench_run_fn *fn, struct err *e)
{
    struct run_config c = {.model = r->load.model,
                           .kv = r->load.kv,
                           .tok = r->load.tok,
                           .batch = t->batch,
                           .chunk = RUN_CHUNK};
    int rc;

    r->t = t;
    if (need_contexts(r, t->depth, t->batch, e) || run_new(&r->run, &c, e))
        return -1;
    rc = bench_measure(r->b, t, fn, NULL, r, e);
    run_free(r->run);
    return rc;
}

/* ---- all of them ---- */

static int most_of(const int *v, int n)
{
    int most = 0;

    for (int i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

/* Positions that a sequence needs; at most 1 << 30, by the options' limits. */
static int need_context(const struct bench_lists *l)
{
    int prompt =
        l->only[BENCH_PREFILL] ? most_of(l->prompt, l->nprompt) + 1 : 0;
    int n = l->only[BENCH_DECODE] ? l->n + most_of(l->batch, l->nbatch) + 2 : 0;
    int spec = l->only[BENCH_SPEC] ? bench_spec_context(l) : 0;
    int most = most_of(l->depth, l->ndepth) + (n > prompt ? n : prompt);

    return most > spec ? most : spec;
}

static int at_depth(struct bench_ready *r, int depth, struct err *e)
{
    const struct bench_lists *l = r->lists;
    struct bench_test t = {.threads = r->b->model->stats.threads,
                           .depth = depth};
    int rc = 0;

    t.kind = BENCH_PREFILL;
    t.batch = 1;
    for (int i = 0; l->only[t.kind] && i < l->nprompt && !rc; i++) {
        t.prompt = l->prompt[i];
        rc = measure(r, &t, prefill_run, e);
    }
    t.kind = BENCH_DECODE;
    t.prompt = 0;
    t.n = l->n;
    for (int i = 0; l->only[t.kind] && i < l->nbatch && !rc; i++) {
        t.batch = l->batch[i];
        rc = measure(r, &t, decode_run, e);
    }
    return rc;
}

/* The first step packs the weights. */
static int pack(struct bench_ready *r, struct err *e)
{
    struct step *step = step_new(r->load.model, r->load.kv, e);
    struct kv_seq *s = kv_seq_new(r->load.kv);
    int32_t id = 0;
    int rc = !step || !s ? err_nomem(e) : read_context(step, s, &id, 1, e);

    kv_seq_free(s);
    step_free(step);
    be_stats(&r->b->model->stats, r->load.be);
    return rc;
}

int bench_tokens(struct bench *b, const struct bench_lists *l, int threads,
                 struct err *e)
{
    struct bench_ready r = {.b = b, .lists = l};
    int batch = most_of(l->batch, l->nbatch), rc;

    if (!l->only[BENCH_PREFILL] && !l->only[BENCH_DECODE] &&
        !l->only[BENCH_SPEC])
        return 0;
    load_set(threads, need_context(l));
    /* Contexts are sequences, too. */
    load_open(&r.load, b->cli, b->model->operand, 2 * batch + 1,
              RUN_CHUNK + batch + DRAFT_MAX, false);
    rc = pack(&r, e);
    for (int i = 0; i < l->ndepth && !rc; i++)
        rc = at_depth(&r, l->depth[i], e);
    if (!rc && l->only[BENCH_SPEC]) {
        struct bench_test t = {.kind = BENCH_SPEC,
                               .threads = b->model->stats.threads,
                               .n = l->n,
                               .batch = 1};

        rc = bench_spec(&r, &t, e);
    }
    drop_contexts(&r);
    load_close(&r.load);
    return rc;
}
