/* SPDX-License-Identifier: MIT
 * head.c - logits of which the greatest is wanted: bounds are no less than the
 * logits, the greatest is exact, others become so when asked, and who picks the
 * most probable token picks the same, whatever is ruled out or changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "kernels/op/math/half.h"
#include "sample/sample.h"
#include "tests/unit/tap.h"

enum { DIM = 96, VOCAB = 1003, TOKENS = 40, Q8_0 = 8, MOST = 9 };

static uint64_t seed = 11;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* The matrix, and columns: of each token what one row is near to, so that its
 * logit stands out; of every fifth anything. */
static unsigned char head[VOCAB][DIM / 32][34];
static float embed[TOKENS][DIM];

static void make(void)
{
    for (int r = 0; r < VOCAB; r++)
        for (int b = 0; b < DIM / 32; b++) {
            unsigned char *p = head[r][b];

            p[0] = (unsigned char)rnd(256);
            p[1] = (unsigned char)(0x14 + rnd(4));
            for (int i = 2; i < 34; i++)
                p[i] = (unsigned char)(rnd(255) - 127);
        }
    head[17][1][1] |= 0x80; /* a scale below 0, */
    head[18][1][1] |= 0x80;
    head[18][1][9] = 0x80; /* and one that cannot turn */
    for (int t = 0; t < TOKENS; t++) {
        int r = (int)rnd(VOCAB);

        for (int i = 0; i < DIM; i++)
            embed[t][i] =
                (t % 5 ? (float)(int8_t)head[r][i / 32][2 + i % 32] : 0) +
                (float)rnd(200) / 4 - 25;
    }
}

struct dev {
    struct be *be;
    struct be_plan *plan;
};

static int dev_open(struct dev *d, int threads, bool pack, struct err *e)
{
    struct be_opts o = {.threads = threads, .cpu_mask = ~0u, .pack = pack};
    struct be_tensor rows = {.name = "embed",
                             .n_in = DIM,
                             .n_out = TOKENS,
                             .n_mat = 1,
                             .data = embed,
                             .bytes = sizeof embed,
                             .nocache = true},
                     matrix = {.name = "head",
                               .type = Q8_0,
                               .n_in = DIM,
                               .n_out = VOCAB,
                               .n_mat = 1,
                               .data = head,
                               .bytes = sizeof head,
                               .nocache = true};
    struct be_op op[] = {{.op = BE_EMBED, .act = BE_NOACT, .scale = 1},
                         {.op = BE_LOGITS, .act = BE_NOACT, .scale = 1}};
    struct be_plan_desc desc = {
        .op = op, .nop = 2, .n_vocab = VOCAB, .width = {[BE_X] = DIM}};
    struct be_kv_spec kv = {0};

    *d = (struct dev){0};
    if (be_open(&d->be, "cpu", &o, e) || be_kv_init(d->be, &kv, e))
        return -1;
    op[0].w = be_weight(d->be, &rows, BE_ROWS, e);
    op[1].w = be_weight(d->be, &matrix, BE_MATRIX, e);
    return op[0].w && op[1].w ? be_plan_new(&d->plan, d->be, &desc, e) : -1;
}

static void dev_close(struct dev *d)
{
    be_plan_free(d->plan);
    be_close(d->be);
}

/* N columns, of tokens from T on, whose logits are WANTed so. */
static int run(struct dev *d, int t, int n, int want, const float **logits)
{
    int32_t tok[MOST], pos[MOST], seq[MOST];
    uint8_t w[MOST];
    struct be_step s = {
        .ncol = n, .tok = tok, .pos = pos, .seq = seq, .want = w};

    for (int i = 0; i < n; i++) {
        tok[i] = (t + i) % TOKENS;
        pos[i] = i;
        seq[i] = 0;
        w[i] = (uint8_t)want;
    }
    return be_run(d->be, d->plan, &s, logits, NULL);
}

static int greatest(const float *x)
{
    int best = 0;

    for (int i = 1; i < VOCAB; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Logits X and their peaks against the exact ones: how many differ; -1: one is
 * less, or the greatest is another, or a peak is wrong. */
static int compare(struct dev *d, const float *x, const float *want, int n)
{
    int differ = 0;

    for (int c = 0; c < n; c++) {
        const float *a = x + (size_t)c * VOCAB, *b = want + (size_t)c * VOCAB;
        const float *peak =
            be_peaks(d->be, d->plan) + (size_t)c * be_peaks_n(VOCAB);

        if (greatest(a) != greatest(b) || a[greatest(b)] != b[greatest(b)])
            return -1;
        for (int i = 0; i < VOCAB; i++) {
            if (a[i] < b[i] || !(peak[i / BE_PEAK] >= a[i]))
                return -1;
            differ += a[i] != b[i];
        }
    }
    return differ;
}

static void test_bounds(int threads, bool pack)
{
    static float want[MOST * VOCAB];
    struct dev d, ref;
    struct err e = {0};
    int bad = 0, bounds = 0, more = 0;

    if (dev_open(&d, threads, pack, &e) || dev_open(&ref, 1, false, &e)) {
        ok(0, "opens: %s", e.msg);
        return;
    }
    for (int t = 0; t < TOKENS; t++) {
        int n = 1 + t % MOST, differ;
        const float *x;

        bad += run(&ref, t, n, 1, &x);
        memcpy(want, x, sizeof *want * (size_t)(n * VOCAB));
        bad += run(&d, t, n, t ? 2 : 1, &x);
        differ = compare(&d, x, want, n);
        bad += differ < 0;
        bounds += differ > 0;
        for (int row = 0; row < VOCAB; row += 7)
            more += be_exact(d.be, d.plan, row);
        for (int row = 0; row < VOCAB; row++)
            be_exact(d.be, d.plan, row);
        bad += compare(&d, x, want, n) != 0 || be_exact(d.be, d.plan, 3);
    }
    ok(!bad && (more > 0) == (bounds > 0) && (pack || !bounds),
       "%d threads%s: %d steps with bounds, %d panels made exact", threads,
       pack ? "" : ", not packed", bounds, more);
#if defined(__x86_64__)
    ok(!pack || bounds > 0, "some have them");
#endif
    dev_close(&d);
    dev_close(&ref);
}

/* ---- who picks ---- */

struct lazy {
    float x[VOCAB]; /* what is seen */
    const float *exact;
    bool is[VOCAB / BE_PEAK + 1];
    int asked;
};

static bool make_exact(void *arg, uint32_t id)
{
    struct lazy *l = arg;
    uint32_t from = id / BE_PEAK * BE_PEAK;

    if (l->is[id / BE_PEAK])
        return false;
    l->is[id / BE_PEAK] = true;
    l->asked++;
    for (uint32_t i = from; i < from + BE_PEAK && i < VOCAB; i++)
        l->x[i] = l->exact[i];
    return true;
}

static void test_picks(void)
{
    static float x[VOCAB];
    static struct lazy l;
    static const char *const orders[] = {"penalties", "dry;penalties",
                                         "penalties;top_k;temperature"};
    int same = 0, all = 0, asked = 0;

    for (int round = 0; round < 300; round++) {
        struct sample_opts o;
        struct sample_bias bias[3];
        struct sample_result a = {0}, b = {0};
        uint64_t mask[VOCAB / 64 + 1];
        int32_t past[60];
        struct sampler *s;

        sample_defaults(&o);
        o.temp = 0;
        o.repeat_penalty = 1 + (float)rnd(4) / 4;
        o.presence_penalty = (float)rnd(3) / 2;
        for (int i = 0; i < 3; i++)
            bias[i] = (struct sample_bias){rnd(VOCAB), (float)rnd(9) - 4};
        o.bias = bias;
        o.nbias = round % 2 * 3;
        sample_set_order(&o, orders[round % 3], strlen(orders[round % 3]),
                         NULL);
        for (int i = 0; i < VOCAB; i++) {
            x[i] = (float)rnd(1000) / 50 - 12;
            l.x[i] = x[i] + (float)rnd(4) / 2;
        }
        for (int i = 0; i < 60; i++)
            past[i] = (int32_t)rnd(VOCAB);
        for (size_t i = 0; i < sizeof mask / sizeof *mask; i++)
            mask[i] = (uint64_t)rnd(1u << 30) << 32 | rnd(1u << 30);
        l.exact = x;
        memset(l.is, 0, sizeof l.is);
        l.asked = 0;
        s = sampler_new(&o, VOCAB, NULL);
        if (!s)
            continue;
        all++;
        same += sampler_greedy(s);
        sampler_pick(s, &a, x, 0, 60, past, 60, round % 4 ? mask : NULL, false,
                     NULL);
        sampler_exact(s, make_exact, &l);
        sampler_pick(s, &b, l.x, 0, 60, past, 60, round % 4 ? mask : NULL,
                     false, NULL);
        same += a.id == b.id;
        asked += l.asked;
        sampler_free(s);
    }
    ok(all == 300 && same == 2 * all && asked > all && asked < 30 * all,
       "%d picks of what is made exact as it is needed, %d times", same, asked);
}

int main(void)
{
    make();
    test_bounds(1, true);
    test_bounds(2, true);
    test_bounds(5, true);
    test_bounds(2, false);
    test_picks();
    return tap_done();
}
