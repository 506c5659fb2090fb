/* SPDX-License-Identifier: MIT
 * samplers.c - what each sampler draws, 100,000 times; order, masks, positions
 * that are drawn again, DRY's breakers, hostile scores.  What their
 * distributions should be is in tests/tools/samplers.py. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/select.h"
#include "tests/unit/draws.h"
#include "tests/unit/tap.h"

enum { MAXN = 1000, SOME = 24 };

/* One option by its name. */
struct given {
    const char *name;
    double v;
};

static void set(struct sample_opts *o, const char *name, double v)
{
    for (size_t i = 0; i < sample_noptions; i++) {
        const struct sample_option *t = &sample_options[i];
        float f = (float)v;
        int n;

        if (strcmp(t->name, name))
            continue;
        n = t->integer ? (int)v : 0;
        memcpy((char *)o + t->at, t->integer ? (void *)&n : (void *)&f,
               sizeof f);
    }
}

static const struct sampling_case {
    const char *name;
    struct given o[3];
} cases[] = {
    {"temperature", {{"temp", 1.7}}},
    {"dynamic temperature", {{"temp", 1}, {"dynatemp-range", 0.7}}},
    {"top-k", {{"top-k", 7}}},
    {"top-p", {{"top-p", 0.8}}},
    {"min-p", {{"min-p", 0.1}}},
    {"typical", {{"typical", 0.7}}},
    {"top-n-sigma", {{"top-n-sigma", 1}}},
    {"XTC", {{"xtc-probability", 0.4}, {"xtc-threshold", 0.08}}},
    {"penalties", {{"repeat-penalty", 1.4}, {"frequency-penalty", 0.3}}},
    {"DRY", {{"dry-multiplier", 0.8}, {"dry-allowed-length", 1}}},
    {"mirostat 1", {{"mirostat", 1}, {"mirostat-ent", 2}}},
    {"mirostat 2", {{"mirostat", 2}, {"mirostat-ent", 2}}},
    {"adaptive-p", {{"adaptive-target", 0.3}}},
};
enum { NCASES = sizeof cases / sizeof *cases };

static struct sample_opts options(const struct sampling_case *c)
{
    struct sample_opts o = off();

    for (int i = 0; i < 3 && c->o[i].name; i++)
        set(&o, c->o[i].name, c->o[i].v);
    o.nbreakers = 0;
    return o;
}

static void fill(float *x, int n, double spread)
{
    for (int i = 0; i < n; i++)
        x[i] = normal(spread);
}

/* ---- draws ---- */

/* They are as frequent as the distributions say that they come from. */
static void test_draws(void)
{
    enum { DRAWS = 100000 };
    static const int32_t history[] = {3, 7, 3, 1, 7, 3, 7};
    float x[SOME];

    fill(x, SOME, 1.5);
    for (size_t i = 0; i < NCASES; i++) {
        struct sample_opts o = options(&cases[i]);
        struct sample_top top[SOME];
        struct sample_result r = {.top = top};
        int count[SOME] = {0};
        double p[SOME] = {0};
        struct sampler *s;
        bool good = true;

        o.seed = 7;
        o.lp_sampled = true;
        s = sampler_new(&o, SOME, NULL);
        for (uint64_t pos = 0; s && pos < DRAWS; pos++) {
            r.ntop = SOME;
            good &=
                !sampler_pick(s, &r, x, 0, pos, history, 7, NULL, true, NULL);
            for (int k = 0; k < r.ntop; k++)
                p[top[k].id] += exp((double)top[k].lp) / DRAWS;
            count[r.id]++;
        }
        sampler_free(s);
        ok(s && good && plausible(count, p, SOME, DRAWS),
           "%s: 100,000 draws are as frequent as they should be",
           cases[i].name);
    }
}

/* XTC's chance has nothing to do with the token that is drawn. */
static void test_other(void)
{
    enum { BINS = 10, DRAWS = 100000 };
    int count[BINS * BINS] = {0};
    double p[BINS * BINS];

    for (uint64_t i = 0; i < DRAWS; i++)
        count[(int)(rng_unit(3, 1, i) * BINS) * BINS +
              (int)(rng_other(3, 1, i) * BINS)]++;
    for (int i = 0; i < BINS * BINS; i++)
        p[i] = 1.0 / (BINS * BINS);
    ok(plausible(count, p, BINS * BINS, DRAWS),
       "a place's two random numbers do not depend on each other");
}

/* ---- positions ---- */

/* Positions that are drawn again are what they were, whatever was drawn in
 * between; and what was learned counts. */
static void test_again(void)
{
    enum { STEPS = 60 };
    static float x[STEPS][SOME], y[SOME];
    static const char *const names[] = {"mirostat", "mirostat",
                                        "adaptive-target"};
    static const double v[] = {1, 2, 0.4};

    for (int i = 0; i < STEPS; i++)
        fill(x[i], SOME, 2);
    fill(y, SOME, 0.3);
    for (int k = 0; k < 3; k++) {
        struct sample_opts o = off();
        struct sample_result r = {0};
        struct sampler *s, *other;
        float lp[STEPS];
        int same = 0, learned = 0;

        set(&o, names[k], v[k]);
        o.mirostat_ent = 2;
        o.lp_sampled = true;
        s = sampler_new(&o, SOME, NULL);
        other = sampler_new(&o, SOME, NULL);
        for (uint64_t i = 0; i < STEPS; i++) {
            sampler_pick(s, &r, x[i], 0, i, NULL, 0, NULL, true, NULL);
            lp[i] = r.lp;
            sampler_pick(other, &r, x[i], 0, i, NULL, 0, NULL, true, NULL);
        }
        /* Away from it and back. */
        for (uint64_t i = 20; i < 40; i++)
            sampler_pick(s, &r, y, 0, i, NULL, 0, NULL, true, NULL);
        for (uint64_t i = 20; i < STEPS; i++) {
            sampler_pick(s, &r, x[i], 0, i, NULL, 0, NULL, true, NULL);
            same += r.lp == lp[i];
        }
        sampler_pick(s, &r, x[0], 0, 0, NULL, 0, NULL, true, NULL);
        same += r.lp == lp[0];
        for (uint64_t i = 1; i < STEPS; i++) {
            sampler_pick(s, &r, x[0], 0, i, NULL, 0, NULL, true, NULL);
            sampler_pick(other, &r, x[i], 0, i, NULL, 0, NULL, true, NULL);
            learned += r.lp == lp[i];
        }
        sampler_free(s);
        sampler_free(other);
        ok(same == STEPS - 20 + 1 && learned == STEPS - 1,
           "%s %g: going back forgets what came after (%d, %d)", names[k], v[k],
           same, learned);
    }
}

/* ---- masks ---- */

/* A mask is as if the others were minus infinity. */
static void test_mask(void)
{
    static float x[MAXN], y[MAXN];
    static uint64_t list[MAXN], want[MAXN], mask[MAXN / 64 + 1];
    static float peaks[MAXN / SELECT_PEAK + 1];
    float max[MAXN / 64 + 1], max2[MAXN / 64 + 1], top, top2;
    int same = 0, all = 0;
    bool good = true;

    for (int round = 0; round < 100; round++) {
        struct sample_opts o = options(&cases[round % NCASES]);
        struct sample_result r = {0}, q = {0};
        int n = 1 + (int)(rnd() * (MAXN - 1));
        double part = round % 4 == 3 ? 0.02 : round % 4 * 0.5;
        struct sampler *s = sampler_new(&o, n, NULL);

        fill(x, n, 2);
        memset(mask, 0, sizeof mask);
        for (int i = 0; i < n; i++) {
            bool is = !i || rnd() < part || (part > 0.9 && i < 500);

            mask[i / 64] |= (uint64_t)is << i % 64;
            y[i] = is ? x[i] : -INFINITY;
        }
        good &= select_scan(max, &top, x, (size_t)n, mask, NULL);
        for (size_t k = 1; k <= (size_t)n; k = 2 * k + 1) {
            size_t m, m2;

            good &= select_scan(max, &top, x, (size_t)n, mask, NULL);
            m = select_top(list, k, max, x, (size_t)n, mask);
            good &= select_scan(max, &top2, y, (size_t)n, NULL, NULL);
            m2 = select_top(want, k, max, y, (size_t)n, NULL);
            good &= m == m2 && top == top2 && !memcmp(list, want, m * 8);
        }
        for (int i = 0; i < n; i += SELECT_PEAK) {
            peaks[i / SELECT_PEAK] = -INFINITY;
            for (int j = i; j < i + SELECT_PEAK && j < n; j++)
                if (x[j] > peaks[i / SELECT_PEAK])
                    peaks[i / SELECT_PEAK] = x[j];
        }
        for (int k = 0; k < 2; k++) {
            select_scan(max, &top, x, (size_t)n, k ? mask : NULL, NULL);
            good &= select_scan(max2, &top2, x, (size_t)n, k ? mask : NULL,
                                peaks) &&
                    top == top2 &&
                    !memcmp(max, max2, select_blocks((size_t)n) * sizeof *max);
        }
        good &= select_scan(max, &top, x, (size_t)n, mask, NULL) &&
                mask[select_first(max, top, x, (size_t)n, mask) / 64] != 0;
        for (uint64_t pos = 0; s && pos < 20; pos++) {
            all++;
            same +=
                !sampler_pick(s, &r, x, 0, pos, NULL, 0, mask, false, NULL) &&
                !sampler_pick(s, &q, y, 0, pos, NULL, 0, NULL, false, NULL) &&
                r.id == q.id;
        }
        sampler_free(s);
    }
    ok(good, "the greatest of those that a mask has");
    ok(all == 2000 && same == all, "%d of %d masked draws are right", same,
       all);
}

static void test_mask_errors(void)
{
    static const uint64_t none[2], last[2] = {0, 1}, first[2] = {1, 0};
    static const uint32_t never[] = {0, 64, 99};
    struct sample_opts o = off();
    struct sample_result r = {0};
    float x[65] = {0};
    struct err e = {0};
    struct sampler *s = sampler_new(&o, 65, NULL);

    ok(sampler_pick(s, &r, x, 0, 0, NULL, 0, none, false, &e) < 0 &&
           e.code == ERR_FORMAT && strstr(e.msg, "ruled out"),
       "all masked: %s", e.msg);
    ok(!sampler_pick(s, &r, x, 0, 0, NULL, 0, last, false, NULL) && r.id == 64,
       "one left, the last");
    x[30] = NAN;
    ok(sampler_pick(s, &r, x, 0, 0, NULL, 0, last, false, NULL) < 0,
       "NaN where the mask has nothing");
    x[30] = INFINITY;
    ok(sampler_pick(s, &r, x, 0, 0, NULL, 0, last, false, NULL) < 0,
       "and infinity");
    x[30] = 0;
    sampler_free(s);
    o.never = never;
    o.nnever = 3;
    s = sampler_new(&o, 65, NULL);
    ok(!sampler_pick(s, &r, x, 0, 0, NULL, 0, NULL, false, NULL) && r.id &&
           r.id != 64,
       "ids that are never drawn, some of no token");
    ok(sampler_pick(s, &r, x, 0, 0, NULL, 0, first, false, NULL) < 0,
       "a mask and such a list together leave nothing");
    sampler_free(s);
}

/* ---- order ---- */

/* Which tokens are drawn at positions 0 to 999, as bits. */
static uint32_t support(const struct sample_opts *o, const float *x, int n)
{
    struct sampler *s = sampler_new(o, n, NULL);
    struct sample_result r = {0};
    uint32_t seen = 0;

    for (uint64_t pos = 0; s && pos < 1000; pos++)
        if (!sampler_pick(s, &r, x, 0, pos, NULL, 0, NULL, false, NULL))
            seen |= 1u << r.id;
    sampler_free(s);
    return seen;
}

static int order(struct sample_opts *o, const char *names)
{
    return sample_set_order(o, names, strlen(names), NULL);
}

static void test_order(void)
{
    static const float three[] = {3, 2, 1};
    struct sample_opts o = off();
    struct buf text = {0};
    struct err e = {0};

    sample_put_order(&text, &o);
    ok(!strcmp(buf_str(&text),
               "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;"
               "temperature;adaptive_p"),
       "the usual order");
    text.n = 0;
    ok(!order(&o, "Top-K, typical ;minp,,nucleus;temp"), "other spellings");
    sample_put_order(&text, &o);
    ok(!strcmp(buf_str(&text), "top_k;typ_p;min_p;top_p;temperature"),
       "are the same samplers");
    buf_free(&text);
    ok(sample_set_order(&o, "top_k;infill", 12, &e) < 0 &&
           e.code == ERR_USAGE && strstr(e.msg, "'infill' is none of"),
       "%s", e.msg);
    ok(order(&o, "xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;xtc;"
                 "xtc;xtc") < 0,
       "17 of them are too many");
    o = off();
    o.top_p = 0.8f;
    o.temp = 0.5f;
    ok(support(&o, three, 3) == 3, "top-p before the temperature");
    order(&o, "temperature;top_p");
    ok(support(&o, three, 3) == 1, "and after it");
    order(&o, "temperature");
    ok(support(&o, three, 3) == 7, "a sampler that is not named does nothing");
    order(&o, "");
    ok(support(&o, three, 3) == 7, "nor do any if none is");
}

static void test_min_keep(void)
{
    static const float three[] = {3, 2, 1}, five[] = {4, 3.5f, 3, 0, -0.5f};
    struct sample_opts o;

    o = off();
    o.min_p = 1;
    o.top_p = 0;
    o.min_keep = 3;
    ok(support(&o, five, 5) == 7, "min-keep goes over top-p and min-p");
    order(&o, "min_p");
    ok(support(&o, five, 5) == 7, "over each of them");
    o.top_k = 2;
    order(&o, "top_k;min_p");
    ok(support(&o, five, 5) == 3, "top-k is what it says");
    o.min_keep = 1000;
    ok(support(&o, three, 3) == 3, "there may be less");
    o = off();
    o.top_n_sigma = 0.01f;
    o.min_keep = 2;
    ok(support(&o, five, 5) == 3, "min-keep and top-n-sigma");
}

static void test_kinds(void)
{
    static const float three[] = {3, 2, 1}, five[] = {4, 3.5f, 3, 0, -0.5f};
    struct sample_opts o;

    o = off();
    o.xtc_probability = 1;
    o.xtc_threshold = 0.05f;
    ok(support(&o, five, 5) == 28, "XTC leaves the least of the probable");
    o.min_keep = 4;
    ok(support(&o, five, 5) == 31, "unless that is less than min-keep");
    o.min_keep = 0;
    o.temp = 0;
    ok(support(&o, five, 5) == 1, "temperature 0 is the most probable token");
    o.temp = 0.1f;
    o.dynatemp_range = 0.2f;
    o.xtc_probability = 0;
    ok(support(&o, (float[]){9, 1, 1}, 3) == 1,
       "a dynamic temperature may become 0");
    o = off();
    o.mirostat = 2;
    o.top_k = 1;
    o.mirostat_ent = 9;
    ok(support(&o, three, 3) == 7, "mirostat stands for all that cut");
}

/* ---- DRY ---- */

static int letters(struct buf *out, const void *arg, uint32_t id, struct err *e)
{
    const char *const *texts = arg;

    buf_puts(out, texts[id]);
    return buf_ok(out, e);
}

/* By how much DRY lowers token ID after these tokens. */
static double lowered(const struct sample_opts *o, const int32_t *h, int n,
                      uint32_t id)
{
    float x[8] = {0};
    struct sample_top top[8];
    struct sample_result r = {.top = top, .ntop = 8};
    struct sampler *s = sampler_new(o, 8, NULL);
    double lp[8] = {0};

    if (!s || sampler_pick(s, &r, x, 0, 0, h, n, NULL, true, NULL))
        r.ntop = 0;
    for (int i = 0; i < r.ntop; i++)
        lp[top[i].id] = (double)top[i].lp;
    sampler_free(s);
    return r.ntop == 8 ? lp[6] - lp[id] : -1; /* 6 is never repeated */
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-5;
}

static void test_dry(void)
{
    static const char *texts[8] = {"a", "b", "c", "d", ": e", "f", "g", "\r"};
    static const int32_t plain[] = {0, 1, 2, 3, 0, 1, 2};
    static const int32_t broken[] = {0, 4, 1, 2, 3, 0, 4, 1, 2};
    static const int32_t twice[] = {1, 4, 5, 1};
    struct sample_opts o = off();
    struct err e = {0};

    o.lp_sampled = true;
    o.dry_multiplier = 1;
    o.dry_base = 2;
    ok(!sampler_new(&o, 8, &e) && e.code == ERR_UNSUPPORTED &&
           strstr(e.msg, "'dry-sequence-breaker'"),
       "DRY without texts: %s", e.msg);
    o.text = letters;
    o.text_arg = texts;
    ok(near(lowered(&o, plain, 7, 3), 2), "a repetition of 3: 2^(3-2)");
    ok(near(lowered(&o, plain, 7, 0), 0), "and nothing for others");
    ok(near(lowered(&o, broken, 9, 3), 1), "of 4 with a breaker: 2^(2-2)");
    o.nbreakers = 0;
    ok(near(lowered(&o, broken, 9, 3), 4), "without breakers");
    sample_add_breaker(&o, "ab", 2, NULL);
    ok(near(lowered(&o, plain, 7, 3), 0), "a breaker of two tokens");
    o.nbreakers = 0;
    sample_add_breaker(&o, "bc", 2, NULL);
    sample_add_breaker(&o, "xabcd", 5, NULL);
    ok(near(lowered(&o, plain, 7, 3), 0), "at the very end");
    o.nbreakers = 0;
    sample_add_breaker(&o, "da", 2, NULL);
    ok(near(lowered(&o, plain, 7, 3), 1), "one that ends inside");
    o.dry_allowed_length = 1;
    o.nbreakers = 0;
    ok(near(lowered(&o, twice, 4, 4), 1), "what follows is lowered");
    sample_add_breaker(&o, ":", 1, NULL);
    ok(near(lowered(&o, twice, 4, 4), 0), "unless it is a breaker itself");
    o.dry_penalty_last_n = 3;
    o.nbreakers = 0;
    ok(near(lowered(&o, twice, 4, 4), 0), "only the last tokens count");
    o.dry_penalty_last_n = -1;
    o.dry_multiplier = FLT_MAX;
    o.dry_base = FLT_MAX;
    o.dry_allowed_length = 0;
    ok(support(&o, (float[]){1, 2}, 2) == 3, "the greatest penalties");
    ok(sample_add_breaker(&o, texts, 0, NULL) < 0 &&
           sample_add_breaker(&o, texts, 65, NULL) < 0,
       "breakers are 1 to 64 bytes");
    while (!sample_add_breaker(&o, texts, 63, NULL))
        ;
    ok(o.nbreakers == SAMPLE_BREAKERS, "and %d at most", o.nbreakers);
}

/* A long history in which all repeats takes no time to speak of. */
static void test_dry_long(void)
{
    enum { N = 200000 };
    static int32_t h[N];
    static const char *texts[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct sample_opts o = off();

    o.lp_sampled = true;
    o.dry_multiplier = 1;
    o.dry_penalty_last_n = -1;
    o.text = letters;
    o.text_arg = texts;
    ok(lowered(&o, h, N, 0) > 1e30, "200,000 equal tokens");
    for (int i = 0; i < N; i++)
        h[i] = i % 3;
    ok(lowered(&o, h, N, N % 3) > 1e30, "and three in turn");
}

/* ---- hostile ---- */

static float hostile(void)
{
    static const float v[] = {FLT_MAX, -FLT_MAX, FLT_MIN,   -0.0f,
                              0,       1e-45f,   -INFINITY, 1,
                              3e38f,   -3e38f,   1e30f};

    return v[(int)(rnd() * (double)(sizeof v / sizeof *v))];
}

/* Any options that are in range, any order, any scores: a token that may be
 * drawn, or an error. */
static void test_hostile(void)
{
    enum { ROUNDS = 4000, N = 70 };
    int good = 0, failed = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct sample_opts o = off();
        struct sample_top top[N];
        struct sample_result r = {.top = top};
        int n = 1 + (int)(rnd() * (N - 1)), left = 0, rc = 0;
        int32_t h[N];
        float x[N];
        struct sampler *s;
        struct err e = {0};

        for (size_t i = 0; i < sample_noptions; i++) {
            const struct sample_option *t = &sample_options[i];
            double v = rnd() < 0.2   ? t->least
                       : rnd() < 0.2 ? t->most
                                     : rnd() * 3;

            if (rnd() < 0.4)
                set(&o, t->name,
                    v < t->least  ? t->least
                    : v > t->most ? t->most
                                  : v);
        }
        o.norder = (int)(rnd() * SAMPLE_MAX_ORDER);
        for (int i = 0; i < o.norder; i++)
            o.order[i] = (unsigned char)(rnd() * 10);
        o.nbreakers = 0;
        o.lp_sampled = round % 2;
        for (int i = 0; i < n; i++) {
            x[i] = round % 3 ? hostile() : normal(3);
            h[i] = (int32_t)(rnd() * 8) - 1;
            left += x[i] > -INFINITY;
        }
        s = sampler_new(&o, n, &e);
        for (uint64_t pos = 0; s && pos < 4 && !rc; pos++) {
            r.ntop = N;
            rc = sampler_pick(s, &r, x, 0, pos, h, n, NULL, true, &e);
            good += !rc && (int)r.id < n && x[r.id] > -INFINITY &&
                    r.ntop <= left && r.lp <= 1e-4f;
        }
        failed += rc != 0;
        good += rc && !left && e.code == ERR_FORMAT ? 4 : 0;
        sampler_free(s);
    }
    ok(good == 4 * ROUNDS, "%d of %d hostile draws (%d have nothing left)",
       good, 4 * ROUNDS, failed);
}

static void test_check(void)
{
    static const struct given bad[] = {{"dynatemp-range", -1},
                                       {"dynatemp-exp", -0.5},
                                       {"typical", 1.01},
                                       {"top-n-sigma", NAN},
                                       {"xtc-probability", -0.01},
                                       {"xtc-threshold", 2},
                                       {"dry-multiplier", -1},
                                       {"dry-base", 0.9},
                                       {"dry-allowed-length", -1},
                                       {"dry-penalty-last-n", -2},
                                       {"mirostat", 3},
                                       {"mirostat-ent", INFINITY},
                                       {"mirostat-lr", -1},
                                       {"adaptive-target", 1.5},
                                       {"adaptive-decay", 1},
                                       {"min-keep", -1}};
    size_t n = sizeof bad / sizeof *bad, refused = 0;

    for (size_t i = 0; i < n; i++) {
        struct sample_opts o;
        struct err e = {0};

        sample_defaults(&o);
        set(&o, bad[i].name, bad[i].v);
        refused += sample_check(&o, &e) && e.code == ERR_USAGE &&
                   strstr(e.msg, bad[i].name);
    }
    ok(refused == n, "%zu of %zu wrong options are refused by name", refused,
       n);
}

int main(void)
{
    test_draws();
    test_other();
    test_again();
    test_mask();
    test_mask_errors();
    test_order();
    test_min_keep();
    test_kinds();
    test_dry();
    test_dry_long();
    test_hostile();
    test_check();
    return tap_done();
}
