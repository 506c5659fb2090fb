/* SPDX-License-Identifier: MIT
 * sample.c - the chain of samplers against a plain one in double, the order of
 * its steps, extreme scores, and the statistics of its draws. */
#include "sample/sample.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/select.h"
#include "tests/unit/draws.h"
#include "tests/unit/tap.h"

enum { MAXN = 6000 };

/* ---- the plain sampler ---- */

struct ref {
    double x[MAXN]; /* scores, after biases and penalties */
    double p[MAXN]; /* what a token is drawn with */
    int by[MAXN];   /* ids by score */
    int greedy;
};

static const double *sort_x;

static int by_score(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;

    if (sort_x[i] != sort_x[j])
        return sort_x[i] > sort_x[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void ref_scores(struct ref *r, const struct sample_opts *o,
                       const float *x, int n, const int32_t *hist, int nhist)
{
    for (int i = 0; i < n; i++) {
        int count = 0;
        float y = x[i];

        for (int k = 0; k < o->nbias; k++)
            if (o->bias[k].id == (uint32_t)i)
                y += o->bias[k].add;
        for (int k = 0; k < nhist; k++)
            if (hist[k] == i &&
                (o->repeat_last_n < 0 || k >= nhist - o->repeat_last_n))
                count++;
        if (count) {
            y = y > 0 ? y / o->repeat_penalty : y * o->repeat_penalty;
            y -= (float)count * o->frequency_penalty + o->presence_penalty;
        }
        r->x[i] = y;
    }
}

static void ref_chain(struct ref *r, const struct sample_opts *o, int n)
{
    int k = o->top_k > 0 && o->top_k < n ? o->top_k : n, keep = 0;
    double z = 0, have = 0;

    for (int i = 0; i < n; i++)
        r->by[i] = i;
    sort_x = r->x;
    qsort(r->by, (size_t)n, sizeof *r->by, by_score);
    r->greedy = r->by[0];
    memset(r->p, 0, sizeof r->p);
    if (o->temp <= 0) {
        r->p[r->greedy] = 1;
        return;
    }
    for (int i = 0; i < k; i++)
        z += exp(r->x[r->by[i]] - r->x[r->greedy]);
    for (; keep < k; keep++) {
        double w = exp(r->x[r->by[keep]] - r->x[r->greedy]);

        if (keep && (w < (double)o->min_p ||
                     (o->top_p < 1 && have >= z * (double)o->top_p)))
            break;
        have += w;
    }
    z = 0;
    for (int i = 0; i < keep; i++)
        z += exp((r->x[r->by[i]] - r->x[r->greedy]) / (double)o->temp);
    for (int i = 0; i < keep; i++)
        r->p[r->by[i]] =
            exp((r->x[r->by[i]] - r->x[r->greedy]) / (double)o->temp) / z;
}

/* ---- helpers ---- */

/* The token at POS; -1 when there is none, with the reason in E. */
static long pick(const struct sample_opts *o, const float *x, int n,
                 uint64_t pos, struct err *e)
{
    struct sampler *s = sampler_new(o, n, e);
    struct sample_result r = {0};
    int rc = s ? sampler_pick(s, &r, x, 0, pos, NULL, 0, NULL, false, e) : -1;

    sampler_free(s);
    return rc ? -1 : (long)r.id;
}

/* Which tokens are drawn at positions 0 to 999, as bits (N <= 32). */
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

/* ---- tests ---- */

/* The vectors published with the generator. */
static void test_philox(void)
{
    static const struct {
        uint32_t ctr[4], key[2], want[4];
    } v[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u},
         {~0u, ~0u},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    bool good = true;
    uint32_t out[4];

    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        rng_philox(out, v[i].ctr, v[i].key);
        good &= !memcmp(out, v[i].want, sizeof out);
    }
    ok(good, "philox4x32-10 gives the published numbers");
}

static void test_unit(void)
{
    enum { BINS = 100, N = 100000 };
    double p[BINS], sum = 0;
    bool in = true;

    for (int i = 0; i < BINS; i++)
        p[i] = 1.0 / BINS;
    for (int what = 0; what < 3; what++) {
        int count[BINS] = {0};

        for (uint64_t i = 0; i < N; i++) {
            double u = what == 0   ? rng_unit(i, 7, 7)
                       : what == 1 ? rng_unit(7, i, 7)
                                   : rng_unit(7, 7, i);

            in &= u >= 0 && u < 1;
            count[(int)(u * BINS)]++;
            sum += u;
        }
        ok(plausible(count, p, BINS, N), "numbers by %s are spread evenly",
           what == 0   ? "seed"
           : what == 1 ? "sequence"
                       : "position");
    }
    ok(in && fabs(sum / (3.0 * N) - 0.5) < 0.003, "they lie in [0, 1)");
    ok(rng_unit(1, 2, 3) == rng_unit(1, 2, 3) &&
           rng_unit(1, 2, 3) != rng_unit(1ull << 32, 2, 3) &&
           rng_unit(1, 2, 3) != rng_unit(1, 2, 3ull << 32) &&
           rng_unit(1, 2, 3) != rng_unit(1, 2ull << 32, 3) &&
           rng_unit(1, 2, 3) != rng_unit(1, 3, 2),
       "all 64 bits of each count");
}

static int by_item(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x > y ? -1 : x < y;
}

/* Scores of N tokens: KIND 0 all different, 1 few values, 2 some ruled out, 3
 * all equal, 4 ascending. */
static void scores(float *x, int n, int kind)
{
    for (int i = 0; i < n; i++)
        x[i] = kind == 0   ? normal(3)
               : kind == 1 ? (float)(int)(rnd() * 5) - 2
               : kind == 2 ? (rnd() < 0.7 ? -INFINITY : normal(3))
               : kind == 3 ? 0.25f
                           : (float)i / 64;
}

static void test_top(void)
{
    static const int sizes[] = {1, 2, 63, 64, 65, 128, 1000, 5000};
    static uint64_t all[MAXN], list[MAXN], room[MAXN];
    static float x[MAXN], max[MAXN];
    bool good = true, first = true, from = true;
    float top;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 5; kind++) {
            size_t n = (size_t)sizes[i], finite = 0, m;

            scores(x, sizes[i], kind);
            for (size_t k = 0; k < n; k++)
                if (x[k] > -INFINITY)
                    all[finite++] = select_item(x[k], (uint32_t)k);
            qsort(all, finite, sizeof *all, by_item);
            good &= select_scan(max, &top, x, n, NULL, NULL);
            if (finite)
                first &=
                    top == select_score(all[0]) &&
                    select_first(max, top, x, n, NULL) == select_id(all[0]);
            for (size_t k = 1; k <= n; k = k * 3 / 2 + 1) {
                size_t want = k < finite ? k : finite;

                m = select_top(list, k, max, x, n, NULL);
                good &= m == want && !memcmp(list, all, want * sizeof *all);
            }
            if (!finite)
                continue;
            m = select_from(list, select_score(all[finite / 2]), max, x, n,
                            NULL);
            for (size_t k = 1; k < m; k++)
                from &= select_id(list[k - 1]) < select_id(list[k]);
            select_sort(list, m, room);
            from &= m > finite / 2 && !memcmp(list, all, m * sizeof *all) &&
                    (m == finite ||
                     select_score(all[m]) < select_score(all[finite / 2]));
        }
    ok(good, "the k greatest are those of a full sort");
    ok(first, "the greatest, the lowest id of equals");
    ok(from, "all from a score on");
    ok(select_item(-0.0f, 3) == select_item(0.0f, 3), "-0 is 0");
}

/* Options for the plain sampler to agree with, by bits of WHAT. */
static struct sample_opts random_opts(int n, unsigned what)
{
    struct sample_opts o = off();

    if (what & 1)
        o.top_k = 1 + (int)(rnd() * n);
    if (what & 2)
        o.top_p = (float)(0.2 + 0.8 * rnd());
    if (what & 4)
        o.min_p = (float)(0.2 * rnd());
    if (what & 8)
        o.temp = (float)(0.2 + 2 * rnd());
    if (what & 16)
        o.repeat_penalty = (float)(0.8 + rnd());
    if (what & 32)
        o.presence_penalty = (float)(2 * rnd() - 0.5);
    if (what & 64)
        o.frequency_penalty = (float)(rnd() - 0.2);
    if (what & 112)
        o.repeat_last_n = (int)(rnd() * 60) - 1;
    o.seed = (uint64_t)(rnd() * 1e15);
    return o;
}

/* Every combination of steps: what is drawn is possible in the plain sampler,
 * and as frequent. */
static void test_chain(void)
{
    enum { DRAWS = 3000, NHIST = 50 };
    static struct ref ref;
    static float x[MAXN], copy[MAXN];
    int possible = 0, frequent = 0, greedy = 0, untouched = 0;

    for (unsigned what = 0; what < 256; what++) {
        int n = 1 + (int)(rnd() * 300), count[301] = {0};
        struct sample_opts o = random_opts(n, what);
        struct sample_bias bias[2] = {{0, 1.5f}, {0, -INFINITY}};
        int32_t hist[NHIST];
        struct sample_result r = {0};
        struct sampler *s;
        bool in = true;

        scores(x, n, what % 7 == 3);
        for (int i = 0; i < NHIST; i++)
            hist[i] = (int32_t)(rnd() * (n + 3)) - 1; /* and some foreign */
        if (what & 128 && n > 1) {
            bias[0].id = (uint32_t)(rnd() * n);
            bias[1].id = (bias[0].id + 1) % (uint32_t)n;
            o.bias = bias;
            o.nbias = 2;
        }
        memcpy(copy, x, sizeof x);
        ref_scores(&ref, &o, x, n, hist, NHIST);
        ref_chain(&ref, &o, n);
        s = sampler_new(&o, n, NULL);
        for (uint64_t i = 0; s && i < DRAWS; i++) {
            in &= !sampler_pick(s, &r, x, what, i, hist, NHIST, NULL, false,
                                NULL) &&
                  ref.p[r.id] > 0;
            count[r.id]++;
        }
        sampler_free(s);
        possible += s && in;
        frequent += plausible(count, ref.p, n, DRAWS);
        untouched += !memcmp(copy, x, sizeof x);
        o.temp = 0;
        s = sampler_new(&o, n, NULL);
        greedy +=
            s &&
            !sampler_pick(s, &r, x, 0, 0, hist, NHIST, NULL, false, NULL) &&
            (int)r.id == ref.greedy;
        sampler_free(s);
    }
    ok(possible == 256, "%d of 256 chains draw what may be drawn", possible);
    ok(frequent == 256, "%d of 256 draw it as often as they should", frequent);
    ok(greedy == 256, "%d of 256 are right at temperature 0", greedy);
    ok(untouched == 256, "the logits are only read");
}

/* A vocabulary of many blocks, where top-k is off: what is gathered is enough,
 * whether few or nearly all tokens are left. */
static void test_gather(void)
{
    static const double spread[] = {0, 0.01, 1, 3, 8, 30};
    static const float top_p[] = {0, 0.1f, 0.5f, 0.9f, 0.999f, 1};
    static struct ref ref;
    static float x[MAXN];
    int bad = 0;

    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 18; k++) {
            struct sample_opts o = off();
            struct sample_result r = {0};
            struct sampler *s;
            double offset = k % 2 ? 1e4 : 0; /* coarse floats */

            for (int t = 0; t < MAXN; t++)
                x[t] = normal(spread[i]) + (float)offset;
            o.top_p = top_p[k % 6];
            o.min_p = k < 6 ? 0 : k < 12 ? 1e-4f : 0.3f;
            ref_scores(&ref, &o, x, MAXN, NULL, 0);
            ref_chain(&ref, &o, MAXN);
            s = sampler_new(&o, MAXN, NULL);
            for (uint64_t pos = 0; s && pos < 20; pos++)
                bad += sampler_pick(s, &r, x, 0, pos, NULL, 0, NULL, false,
                                    NULL) ||
                       ref.p[r.id] <= 0;
            bad += !s;
            sampler_free(s);
        }
    ok(!bad, "without top-k: %d of 2,160 draws are wrong", bad);
}

/* Cases by which other programs went wrong. */
static void test_cases(void)
{
    static const float three[] = {3, 2, 1}, masked[] = {-INFINITY, 1, 2};
    struct sample_opts o = off();
    struct sample_opts k = o;

    ok(support(&o, three, 3) == 7, "top-k 0 is off");
    k.top_k = 3;
    ok(pick(&o, three, 3, 5, NULL) == pick(&k, three, 3, 5, NULL),
       "as is one of all tokens");
    k.top_k = -1;
    ok(support(&k, three, 3) == 7, "and -1");
    o.top_p = 0.8f;
    o.temp = 0.5f;
    ok(support(&o, three, 3) == 3, "top-p looks at temperature 1");
    o.top_k = 1;
    ok(support(&o, three, 3) == 1, "top-k 1 and top-p 0.8 leave one token");
    o = off();
    o.top_p = 0;
    ok(support(&o, three, 3) == 1, "top-p 0 leaves one token");
    o = off();
    o.min_p = 1;
    ok(support(&o, three, 3) == 1, "min-p 1 leaves one token");
    o = off();
    o.temp = -1;
    ok(support(&o, masked, 3) == 4, "a temperature below 0 is greedy");
    o.temp = 0;
    ok(support(&o, masked, 3) == 4, "as is 0");
    o.temp = 1e-30f;
    ok(support(&o, masked, 3) == 4, "and nearly so is a tiny one");
    o.temp = 1e30f;
    ok(support(&o, masked, 3) == 6, "a huge one keeps out what is ruled out");
}

static void test_extremes(void)
{
    static const float huge[] = {-FLT_MAX, FLT_MAX, -INFINITY, FLT_MAX};
    static float x[MAXN];
    struct sample_opts o = off(), def;
    struct err e = {0};
    float one = -5;

    sample_defaults(&def);
    for (int i = 0; i < MAXN; i++)
        x[i] = 0.125f;
    o.temp = 0;
    ok(pick(&o, x, MAXN, 0, NULL) == 0, "of equals the lowest id");
    o = off();
    o.top_k = 2;
    ok(support(&o, x, 500) == 3, "top-k of equals: the lowest ids");
    ok(support(&def, &one, 1) == 1, "a vocabulary of one token");
    ok(support(&def, huge, 4) == 10, "the greatest scores there are");
    x[77] = NAN;
    ok(pick(&def, x, MAXN, 0, &e) < 0 && e.code == ERR_FORMAT, "NaN: %s",
       e.msg);
    o.temp = 0;
    e.code = 0;
    ok(pick(&o, x, MAXN, 0, &e) < 0 && e.code == ERR_FORMAT,
       "NaN at temperature 0");
    x[77] = -NAN;
    e.code = 0;
    ok(pick(&o, x, 78, 0, &e) < 0 && e.code == ERR_FORMAT,
       "a negative one, at the end");
    x[77] = INFINITY;
    e.code = 0;
    ok(pick(&o, x, MAXN, 0, &e) < 0 && e.code == ERR_FORMAT, "infinity");
    for (int i = 0; i < MAXN; i++)
        x[i] = -INFINITY;
    e.code = 0;
    ok(pick(&def, x, MAXN, 0, &e) < 0 && e.code == ERR_FORMAT,
       "nothing left: %s", e.msg);
    x[MAXN - 1] = -1e30f;
    ok(pick(&def, x, MAXN, 0, NULL) == MAXN - 1, "one left, the last");
}

static void test_penalties(void)
{
    static const float x[] = {2, 1.5f, -1, -1.25f};
    static const int32_t hist[] = {0, 0, 0, 2, 9, -1};
    struct sample_opts o = off();
    struct sample_result r = {0};
    struct sampler *s;

    o.temp = 0;
    o.repeat_penalty = 1.5f;
    s = sampler_new(&o, 4, NULL);
    sampler_pick(s, &r, x, 0, 0, hist, 6, NULL, true, NULL);
    ok(r.id == 1, "a positive score is divided");
    ok(fabs((double)r.lp -
            (1.5 - log(exp(2) + exp(1.5) + exp(-1) + exp(-1.25)))) < 1e-6,
       "lp is of the logits as they came");
    sampler_pick(s, &r, x, 0, 0, hist, 0, NULL, false, NULL);
    ok(r.id == 0, "counts are forgotten");
    sampler_free(s);
    s = sampler_new(&o, 4, NULL);
    sampler_pick(s, &r, (float[]){-3, -3, -1, -1.25f}, 0, 0, hist, 6, NULL,
                 false, NULL);
    ok(r.id == 3, "a negative one multiplied");
    sampler_free(s);
    o.repeat_last_n = 3;
    s = sampler_new(&o, 4, NULL);
    sampler_pick(s, &r, x, 0, 0, hist, 6, NULL, false, NULL);
    ok(r.id == 0, "only the last tokens count");
    sampler_free(s);
    o = off();
    o.temp = 0;
    o.frequency_penalty = 0.2f;
    s = sampler_new(&o, 4, NULL);
    sampler_pick(s, &r, x, 0, 0, hist, 2, NULL, false, NULL);
    ok(r.id == 0, "twice 0.2 less");
    sampler_pick(s, &r, x, 0, 0, hist, 3, NULL, false, NULL);
    ok(r.id == 1, "three times 0.2 less");
    sampler_free(s);
    o.frequency_penalty = 0;
    o.presence_penalty = 0.4f;
    s = sampler_new(&o, 4, NULL);
    sampler_pick(s, &r, x, 0, 0, hist, 6, NULL, false, NULL);
    ok(r.id == 0, "presence counts once");
    sampler_free(s);
}

static void test_lp(void)
{
    enum { N = 3000, TOP = 50 };
    static struct ref ref;
    static float x[N];
    struct sample_opts o;
    struct sample_top top[TOP];
    struct sample_result r = {.top = top, .ntop = TOP};
    struct sampler *s;
    double z = 0, err = 0;
    bool good = true;

    for (int i = 0; i < N; i++)
        x[i] = normal(4);
    x[5] = -INFINITY;
    for (int i = 0; i < N; i++)
        z += exp((double)x[i]);
    sample_defaults(&o);
    ref_scores(&ref, &o, x, N, NULL, 0);
    ref_chain(&ref, &o, N);
    s = sampler_new(&o, N, NULL);
    for (uint64_t pos = 0; pos < 100; pos++) {
        double d;

        r.ntop = TOP;
        good &= !sampler_pick(s, &r, x, 0, pos, NULL, 0, NULL, true, NULL) &&
                r.ntop == TOP;
        d = fabs((double)r.lp - ((double)x[r.id] - log(z)));
        err = d > err ? d : err;
        for (int i = 0; i < TOP; i++) {
            good &= (int)top[i].id == ref.by[i];
            d = fabs((double)top[i].lp - ((double)x[ref.by[i]] - log(z)));
            err = d > err ? d : err;
        }
    }
    sampler_free(s);
    ok(good, "the most probable tokens, in order");
    ok(err < 2e-6, "logarithms of probabilities are %.1e off", err);
    s = sampler_new(&o, 2, NULL);
    r.ntop = TOP;
    sampler_pick(s, &r, (float[]){-INFINITY, 7}, 0, 0, NULL, 0, NULL, true,
                 NULL);
    ok(r.ntop == 1 && r.lp == 0 && top[0].id == 1, "no more than there are");
    sampler_free(s);
}

/* A draw is that of its place, and the same on every machine. */
static void test_place(void)
{
    static const uint32_t want[] = {85, 76, 70, 58, 26, 34, 17, 46, 46, 59};
    struct sample_opts o = off();
    struct sample_result r = {0};
    float x[97];
    uint32_t a[100], b[100], got[10];
    struct sampler *s, *other;
    int same = 0, seq = 0, seed = 0;

    for (int i = 0; i < 97; i++)
        x[i] = (float)(i * i % 97) / 32;
    s = sampler_new(&o, 97, NULL);
    for (uint64_t pos = 0; pos < 100; pos++) {
        sampler_pick(s, &r, x, 1, pos, NULL, 0, NULL, false, NULL);
        a[pos] = r.id;
        if (pos < 10)
            got[pos] = r.id;
    }
    o.seed = 1ull << 63;
    other = sampler_new(&o, 97, NULL);
    for (uint64_t pos = 100; pos--;) {
        sampler_pick(s, &r, x, 1, pos, NULL, 0, NULL, false, NULL);
        b[pos] = r.id;
        sampler_pick(s, &r, x, 2, pos, NULL, 0, NULL, false, NULL);
        seq += r.id != a[pos];
        sampler_pick(other, &r, x, 1, pos, NULL, 0, NULL, false, NULL);
        seed += r.id != a[pos];
        same += a[pos] == b[pos];
    }
    sampler_free(s);
    sampler_free(other);
    ok(same == 100, "a draw does not depend on those before it");
    ok(seq > 80 && seed > 80, "but on the sequence and on the seed");
    if (!ok(!memcmp(got, want, sizeof want), "draws that were drawn before"))
        for (int i = 0; i < 10; i++)
            printf("# %u\n", got[i]);
}

static void test_check(void)
{
    static const struct sample_bias beyond = {3, 1}, nan = {0, NAN},
                                    inf = {0, INFINITY};
    static const float three[] = {3, 2, 1};
    struct sample_opts o[12];
    int bad = 0, n = 0;

    for (int i = 0; i < 12; i++)
        sample_defaults(&o[i]);
    o[n++].temp = NAN;
    o[n++].temp = INFINITY;
    o[n++].top_k = -2;
    o[n++].top_p = 1.5f;
    o[n++].top_p = NAN;
    o[n++].min_p = -0.1f;
    o[n++].repeat_penalty = 0;
    o[n++].presence_penalty = INFINITY;
    o[n++].frequency_penalty = NAN;
    o[n++].repeat_last_n = -2;
    o[n].nbias = 1;
    o[n++].bias = &nan;
    o[n].nbias = 1;
    o[n++].bias = &inf;
    for (int i = 0; i < n; i++) {
        struct err e = {0};

        bad += sample_check(&o[i], &e) && e.code == ERR_USAGE &&
               strstr(e.msg, "option '");
    }
    ok(n == 12 && bad == 12, "%d of 12 wrong options are refused", bad);
    sample_defaults(&o[0]);
    ok(!sample_check(&o[0], NULL), "the defaults are good");
    o[0].bias = &beyond;
    o[0].nbias = 1;
    ok(pick(&o[0], three, 3, 0, NULL) < 0, "a bias of no token is refused");
    ok(!sampler_new(&o[0], 0, NULL), "and so is an empty vocabulary");
}

int main(void)
{
    test_philox();
    test_unit();
    test_top();
    test_chain();
    test_gather();
    test_cases();
    test_extremes();
    test_penalties();
    test_lp();
    test_place();
    test_check();
    return tap_done();
}
