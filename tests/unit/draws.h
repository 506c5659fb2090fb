/* SPDX-License-Identifier: MIT
 * draws.h - what tests of samplers share: seeded numbers, options that do
 * nothing, and whether draws are as frequent as they should be. */
#ifndef LLM_TESTS_DRAWS_H
#define LLM_TESTS_DRAWS_H

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "sample/sample.h"

static uint64_t rnd_at;

/* Numbers for tests: in [0, 1), one after the other. */
static inline double rnd(void)
{
    return rng_unit(20, 11, rnd_at++);
}

/* About normal, of standard deviation S. */
static inline float normal(double s)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += rnd();
    return (float)(s * (sum - 6));
}

static inline struct sample_opts off(void)
{
    struct sample_opts o;

    sample_defaults(&o);
    o.temp = 1;
    o.top_k = 0;
    o.top_p = 1;
    o.min_p = 0;
    return o;
}

/* Is chi-square of COUNT[N], TOTAL draws of probabilities P, what chance gives?
 * 4.5 standard deviations, the seeds being fixed. */
static inline bool plausible(const int *count, const double *p, int n,
                             int total)
{
    double chi = 0, rest = 0, got = 0, df = -1;

    for (int i = 0; i < n; i++) {
        double want = p[i] * total;

        if (count[i] && p[i] <= 0)
            return false;
        if (want < 8) { /* too few: all such together */
            rest += want;
            got += count[i];
            continue;
        }
        chi += (count[i] - want) * (count[i] - want) / want;
        df++;
    }
    if (rest >= 8) {
        chi += (got - rest) * (got - rest) / rest;
        df++;
    } else if (got > 30) {
        return false;
    }
    return df < 1 || chi < df + 4.5 * sqrt(2 * df);
}

#endif
