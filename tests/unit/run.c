/* SPDX-License-Identifier: MIT
 * run.c - how sequences share a run: chunks of prompts, and who runs when. */
#include "run/run.h"
#include "tests/unit/model_words.h"
#include "tests/unit/tap.h"

enum { NTOK = 100, NSEQ = 5 };

static struct be *be;
static struct gguf *g;
static struct tok *tok;
static struct model *m;
static int32_t ids[NTOK];

/* What a run told. */
static struct {
    int done, most, parts; /* of prompts, since the last answer began */
    int ended[NSEQ], nended;
} seen;

static int on_event(void *arg, const struct run_event *ev, struct err *e)
{
    (void)arg;
    (void)e;
    if (ev->kind == RUN_PROMPT) {
        int n = ev->done - seen.done;

        seen.most = n > seen.most ? n : seen.most;
        seen.parts++;
        seen.done = ev->done < ev->of ? ev->done : 0;
    } else if (ev->kind == RUN_END) {
        seen.ended[seen.nended++] = (int)ev->seq;
    }
    return 0;
}

/* NSEQ sequences of N tokens each after prompts of LEN; false when a step
 * fails. */
static bool all(int batch, int chunk, int len, int n, struct err *e)
{
    struct kv_config k = *model_kv(m);
    struct kv *kv = NULL;
    struct run *r = NULL;
    struct run_config c = {
        .model = m, .tok = tok, .batch = batch, .chunk = chunk};
    bool good;

    memset(&seen, 0, sizeof seen);
    k.positions = (int64_t)model_context(m) * NSEQ;
    k.max_batch = chunk + batch;
    k.nseq = NSEQ;
    good = !kv_new(&kv, be, &k, e);
    c.kv = kv;
    good = good && !run_new(&r, &c, e);
    for (int i = 0; good && i < NSEQ; i++) {
        int32_t t[NTOK];
        struct run_request q = {.seq = (uint64_t)i,
                                .prompt = t,
                                .nprompt = len,
                                .n = n,
                                .ignore_eos = true,
                                .logprobs = -1};

        sample_defaults(&q.sampling);
        q.sampling.temp = 0;
        memcpy(t, ids, sizeof t);
        t[0] = i; /* nothing in common */
        good = !run_add(r, &q, e);
    }
    while (good && run_busy(r))
        good = !run_step(r, on_event, NULL, e);
    run_free(r);
    kv_free(kv);
    return good;
}

static bool in_order(void)
{
    for (int i = 0; i < NSEQ; i++)
        if (seen.ended[i] != i)
            return false;
    return seen.nended == NSEQ;
}

static bool open_all(struct tiny *y, struct err *e)
{
    struct be_opts bo = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct gguf_str file;

    m_make(y, &m_archs[0], 7);
    y->more = m_vocabulary;
    file = m_pack(y);
    for (int i = 0; i < NTOK; i++)
        ids[i] = (i * 7 + 1) % (M_VOCAB - 1);
    return !gguf_open_memory(&g, "tiny", &file, 1, e) &&
           !tok_open(&tok, g, NULL, e) && !be_open(&be, "cpu", &bo, e);
}

/* A device keeps the pages of one cache at a time. */
static bool again(struct err *e)
{
    struct be_opts bo = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct model_opts mo = {.context = 2 * NTOK};

    model_close(m);
    be_close(be);
    m = NULL;
    be = NULL;
    return !be_open(&be, "cpu", &bo, e) && !model_open(&m, g, be, &mo, e);
}

int main(void)
{
    static const int chunk[] = {1, 7, 31, 32, 40, 99, 100, 512};
    static struct tiny y;
    struct err e = {0};

    if (!ok(open_all(&y, &e), "opens %s", e.msg))
        return tap_done();
    for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++) {
        int c = chunk[i] < NTOK ? chunk[i] : NTOK;

        bool good = again(&e) && all(1, chunk[i], NTOK, 1, &e);

        ok(good && seen.most == c && seen.parts == NSEQ * ((NTOK + c - 1) / c),
           "chunk %d: at most %d at once, %d parts %s", chunk[i], seen.most,
           seen.parts, e.msg);
    }
    /* Beside those that decode. */
    ok(again(&e) && all(3, 1, NTOK, 60, &e) && seen.most == 1 && in_order(),
       "chunk 1, batch 3 %s", e.msg);
    /* All end in the same step, or at once. */
    ok(again(&e) && all(NSEQ, 512, 1, 0, &e) && in_order(), "no tokens %s",
       e.msg);
    ok(again(&e) && all(NSEQ, 512, 1, 3, &e) && in_order(), "three each %s",
       e.msg);
    ok(again(&e) && all(2, 512, 2, 1, &e) && in_order(), "one each %s", e.msg);
    model_close(m);
    be_close(be);
    tok_close(tok);
    gguf_close(g);
    m_free(&y);
    return tap_done();
}
