/* SPDX-License-Identifier: MIT
 * guesses.c - continuing a text that repeats, with guesses and without. */
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/tokens.h"
#include "run/draft_model.h"

/* A list, and its beginning again: a model goes on with what it has read. */
static const char text[] =
    "Ships in the harbour, as the harbour master wrote them down:\n"
    "1. Albatross, from Bergen, 14 metres, 3 men, herring\n"
    "2. Blue Heron, from Esbjerg, 22 metres, 6 men, timber\n"
    "3. Cormorant, from Aberdeen, 19 metres, 5 men, nothing\n"
    "4. Dunlin, from Varberg, 11 metres, 2 men, oysters\n"
    "5. Eider, from Reykjavik, 31 metres, 9 men, wool\n"
    "6. Fulmar, from Lerwick, 17 metres, 4 men, coal\n"
    "\n"
    "The same list, copied by his clerk word for word:\n"
    "1. Albatross, from Bergen, 14 metres, 3 men, herring\n"
    "2. Blue Heron, from";
enum { LEAST_REPEAT = 2, SMALL_CHUNK = 512 };

struct guessing {
    struct bench_ready *r;
    struct run *with, *without;
    struct draft *draft;
    struct draft_stats before;
    int32_t *ids;
    int nids, turn;
};

/* A token is a byte at least, and BOS and EOS may be added. */
int bench_spec_context(const struct bench_lists *l)
{
    return (int)sizeof text + 8 + l->n + DRAFT_MAX;
}

struct answer {
    double begin, last;
    double *ms;
    size_t n;
    uint64_t hash; /* of its tokens */
};

static int on_token(void *arg, const struct run_event *ev, struct err *e)
{
    struct answer *a = arg;
    double now;

    if (ev->kind == RUN_END && ev->error) {
        *e = *ev->error;
        return -1;
    }
    if (ev->kind != RUN_TOKEN)
        return 0;
    now = machine_now();
    if (!a->n)
        a->begin = now;
    else if (a->ms)
        a->ms[a->n - 1] = 1e3 * (now - a->last);
    a->n++;
    a->last = now;
    a->hash = (a->hash ^ ev->id) * UINT64_C(0x100000001b3);
    return 0;
}

/* Tokens a second after the first one. */
static int answer(double *rate, struct answer *a, const struct guessing *g,
                  struct run *run, struct err *e)
{
    if (bench_add(run, 0, g->ids, g->nids, NULL, g->r->t->n, e))
        return -1;
    while (run_busy(run) && !bench_interrupted)
        if (run_step(run, on_token, a, e))
            return -1;
    if (bench_interrupted)
        return -1;
    *rate = a->n > 1 && a->last > a->begin
                ? (double)(a->n - 1) / (a->last - a->begin)
                : 0;
    return 0;
}

static int spec_run(void *arg, struct bench_one *o, struct err *e)
{
    struct guessing *g = arg;
    struct answer with = {.ms = o->ms}, without = {0};
    bool first = g->turn++ % 2 != 0;
    double cpu;

    if (first && answer(&o->plain, &without, g, g->without, e))
        return -1;
    cpu = machine_cpu_time();
    if (answer(&o->value, &with, g, g->with, e))
        return -1;
    o->cpu = machine_cpu_time() - cpu;
    if (!first && answer(&o->plain, &without, g, g->without, e))
        return -1;
    o->nms = with.n ? with.n - 1 : 0;
    if (with.n != without.n || with.hash != without.hash)
        return err_set(e, ERR_IO, "guesses have changed the tokens");
    return 0;
}

/* What was guessed since the first run. */
static void spec_after(void *arg, struct bench_result *r)
{
    struct guessing *g = arg;
    struct draft_stats s = {0};

    draft_stats(&s, g->draft, 0);
    if (!r) {
        g->before = s;
        return;
    }
    for (int i = 0; i < DRAFT_MAX; i++) {
        int64_t run = s.run[i] - g->before.run[i];
        int64_t taken = s.taken[i] - g->before.taken[i];

        r->guessed += run;
        r->right += taken;
        r->place[i] = run ? (double)taken / (double)run : -1;
    }
}

static int measure(struct guessing *g, struct bench_test *t,
                   struct drafter *drafter, struct err *e)
{
    struct draft_config d = {.v = &drafter, .n = 1, .most = DRAFT_MAX};
    struct run_config c = {.model = g->r->load.model,
                           .kv = g->r->load.kv,
                           .tok = g->r->load.tok,
                           .batch = 1,
                           .chunk = RUN_CHUNK};
    int rc;

    if (!drafter)
        return -1;
    t->drafter = drafter->name;
    t->prompt = g->nids;
    g->r->t = t;
    if (draft_new(&g->draft, &d, e))
        return -1;
    rc = run_new(&g->without, &c, e);
    c.draft = g->draft;
    rc = rc || run_new(&g->with, &c, e) ||
                 bench_measure(g->r->b, t, spec_run, spec_after, g, e)
             ? -1
             : 0;
    run_free(g->with);
    run_free(g->without);
    g->with = g->without = NULL;
    draft_free(g->draft);
    return rc;
}

static int by_model(struct guessing *g, struct bench_test *t, struct err *e)
{
    const struct load *l = &g->r->load;
    struct draft_model_opts o = {.chunk = SMALL_CHUNK};
    struct load small;
    int rc;

    load_plain(&small, g->r->b->cli, g->r->lists->draft, 1, SMALL_CHUNK, false);
    o.model = small.model;
    o.kv = small.kv;
    o.tok = small.tok;
    if (strcmp(small.vocab, l->vocab) != 0)
        o.target = l->tok;
    rc = measure(g, t, draft_model(&o, e), e);
    load_close(&small);
    return rc;
}

static int text_tokens(struct guessing *g, struct err *e)
{
    struct tok_enc *enc = tok_enc_new(g->r->load.tok, TOK_NO_EOS, e);
    struct tok_ids ids = {0};
    int rc = !enc || tok_encode(enc, &ids, text, sizeof text - 1, e) ? -1 : 0;

    /* A vocabulary of a few letters may have none of these. */
    if (!rc && !ids.n)
        rc = err_set(e, ERR_UNSUPPORTED, "--spec: the text has no tokens");
    if (!rc && !(g->ids = malloc(ids.n * sizeof *g->ids)))
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < ids.n; i++)
        g->ids[i] = (int32_t)ids.p[i];
    g->nids = (int)ids.n;
    tok_ids_free(&ids);
    tok_enc_free(enc);
    return rc;
}

int bench_spec(struct bench_ready *r, struct bench_test *t, struct err *e)
{
    struct guessing g = {.r = r};
    int rc = text_tokens(&g, e);

    rc = rc || measure(&g, t, draft_ngram(LEAST_REPEAT, e), e) ||
                 (r->lists->draft && by_model(&g, t, e))
             ? -1
             : 0;
    free(g.ids);
    return rc;
}
