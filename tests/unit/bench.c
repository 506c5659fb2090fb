/* SPDX-License-Identifier: MIT
 * bench.c - what llm-bench makes of its measurements.  Expected: quantiles and
 * the deviation by numpy; rank tests by counting all ways to choose, of which
 * the first is the one in the documentation of scipy.stats.mannwhitneyu, and
 * the asymptotic one by its formula; the bootstrap by all 3,125 resamples. */
#include "cmd/bench/figures.h"

#include <math.h>
#include <string.h>

#include "tests/unit/tap.h"

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static void quantiles(void)
{
    double v[] = {3.1, 2.7, 9.4, 5.5, 1.2, 8.8, 4.4}, mad, one = 7;
    int rc;

    ok(near(figures_mean(v, 7), 5.014285714285714), "mean");
    figures_sort(v, 7);
    ok(near(figures_at(v, 7, 0), 1.2) && near(figures_at(v, 7, 0.1), 2.1) &&
           near(figures_at(v, 7, 0.5), 4.4) &&
           near(figures_at(v, 7, 0.95), 9.22) &&
           near(figures_at(v, 7, 0.99), 9.364) &&
           near(figures_at(v, 7, 1), 9.4),
       "quantiles");
    ok(figures_median(v, 7) == 4.4 && near(figures_median(v, 6), 3.75),
       "medians of odd and even counts");
    rc = figures_mad(&mad, v, 7);
    ok(!rc && near(mad, 1.7), "median deviation: %g", mad);
    ok(figures_at(&one, 1, 0.99) == 7 && figures_median(&one, 1) == 7 &&
           !figures_mad(&mad, &one, 1) && mad == 0,
       "of one");
}

static void intervals(void)
{
    static const struct {
        size_t n, from;
        double level, confidence;
    } want[] = {
        {1, 0, 0.95, 0},
        {2, 0, 0.95, 0.5},
        {5, 0, 0.95, 0.9375},
        {6, 0, 0.95, 0.96875},
        {9, 1, 0.95, 0.9609375},
        {15, 3, 0.95, 0.96484375},
        {15, 5, 0.6, 0.69824219},
        {20, 5, 0.95, 0.958610535},
        {1200, 565, 0.95, 0.95365848},
        {10000, 4901, 0.95, 0.95116705},
    };
    static double v[10000];

    for (size_t i = 0; i < 10000; i++)
        v[i] = (double)(i * i);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t from = want[i].from, to = want[i].n - 1 - from;
        struct figures_interval f =
            figures_interval(v, want[i].n, want[i].level);

        ok(f.low == v[from] && f.high == v[to] &&
               fabs(f.confidence - want[i].confidence) < 1e-8,
           "of %zu at %g: %g to %g, %.9g", want[i].n, want[i].level, f.low,
           f.high, f.confidence);
    }
}

static void ranks(void)
{
    static const struct {
        double a[8], b[8];
        size_t na, nb;
        double p;
    } want[] = {
        {{19, 22, 16, 29, 24}, {20, 11, 17, 12}, 5, 4, 1 / 9.0},
        {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, 5, 5, 2 / 252.0},
        {{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}, 5, 5, 2 / 252.0},
        {{1, 2, 2, 3, 5}, {2, 4, 5, 5, 6}, 5, 5, 0.150793650794},
        {{7, 7, 7}, {7, 7, 7}, 3, 3, 1},
        {{3, 1, 4, 1, 5, 9}, {2, 6, 5, 3, 5, 8, 9}, 6, 7, 0.27972027972},
        {{1}, {2}, 1, 1, 1},
    };
    double a[70], b[70], p = 0, other = 0;
    int rc;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        rc = figures_rank_p(&p, want[i].a, want[i].na, want[i].b, want[i].nb);
        ok(!rc && fabs(p - want[i].p) < 1e-9, "%zu and %zu: %.9g", want[i].na,
           want[i].nb, p);
    }
    for (int i = 0; i < 40; i++) {
        a[i] = i * 37 % 101;
        b[i] = i * 53 % 97 + 9;
    }
    rc = figures_rank_p(&p, a, 40, b, 35);
    ok(!rc && fabs(p - 0.602763985512) < 1e-9, "many: %.9g", p);
    /* Both ways say nearly the same where one takes over from the other. */
    figures_rank_p(&p, a, 32, b, 32);
    figures_rank_p(&other, a, 33, b, 32);
    ok(fabs(p - other) < 0.1, "exact and normal: %.4g, %.4g", p, other);
    for (int i = 0; i < 70; i++)
        a[i] = b[i] = 5;
    ok(!figures_rank_p(&p, a, 70, b, 70) && p == 1, "all equal");
    for (int i = 0; i < 70; i++)
        b[i] = 6;
    rc = figures_rank_p(&p, a, 70, b, 70);
    ok(!rc && p < 1e-20, "all apart: %g", p);
}

static void ratios(void)
{
    static const double a[] = {10, 11, 12, 9, 10.5},
                        b[] = {5, 5.2, 6.1, 4.4, 5.1};
    struct figures_interval i, again;
    double r, s;

    int rc = figures_ratio(&r, &i, a, b, 5, 0.95, 10000);

    ok(!rc && near(r, 10.5 / 5.1), "ratio of medians: %.6f", r);
    ok(near(i.low, 12 / 6.1) && near(i.high, 11 / 5.2) && i.confidence == 0.95,
       "its interval: %.6f to %.6f", i.low, i.high);
    figures_ratio(&s, &again, a, b, 5, 0.95, 10000);
    ok(!memcmp(&i, &again, sizeof i), "the same again");
    ok(!figures_ratio(&r, &i, a, b, 1, 0.95, 100) && i.low == 2 &&
           i.high == 2 && i.confidence == 0,
       "of one pair");
}

int main(void)
{
    quantiles();
    intervals();
    ranks();
    ratios();
    return tap_done();
}
