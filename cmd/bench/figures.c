/* SPDX-License-Identifier: MIT */
#include "cmd/bench/figures.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void figures_sort(double *v, size_t n)
{
    if (n)
        qsort(v, n, sizeof *v, by_value);
}

double figures_at(const double *sorted, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t i = (size_t)at;

    if (i >= n - 1)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

double figures_median(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double figures_mean(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

int figures_mad(double *mad, const double *sorted, size_t n)
{
    double *d = malloc(n * sizeof *d), m = figures_median(sorted, n);

    if (!d)
        return -1;
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(sorted[i] - m);
    figures_sort(d, n);
    *mad = figures_median(d, n);
    free(d);
    return 0;
}

/* Each of N values is as probably below the median as above it: that fewer than
 * K of them are below has the probability of a sum of binomials.  Of many
 * values the first terms are too small for a double, and are found as
 * logarithms. */
struct figures_interval figures_interval(const double *sorted, size_t n,
                                         double level)
{
    double term = -(double)n * log(2), below = exp(term);
    struct figures_interval i = {sorted[0], sorted[n - 1], 1 - 2 * below};

    for (size_t k = 1; 2 * k < n; k++) {
        term += log((double)(n - k + 1) / (double)k);
        below += exp(term);
        if (1 - 2 * below < level)
            break;
        i = (struct figures_interval){sorted[k], sorted[n - 1 - k],
                                      1 - 2 * below};
    }
    if (n == 1)
        i.confidence = 0;
    return i;
}

/* ---- ranks ---- */

/* Twice the rank of each of ALL[N], sorted: whole numbers, for equal ones too.
 * The sum over all groups of equals of t^3 - t. */
static double double_ranks(int *rank, const double *all, size_t n)
{
    double ties = 0;

    for (size_t i = 0, j; i < n; i = j) {
        double t;

        for (j = i; j < n && all[j] == all[i]; j++)
            ;
        for (size_t k = i; k < j; k++)
            rank[k] = (int)(i + 1 + j);
        t = (double)(j - i);
        ties += t * t * t - t;
    }
    return ties;
}

/* Of all ways to choose K of the N ranks, the parts whose sum is at most, and
 * at least, SUM. */
static int tails(double part[2], const int *rank, size_t n, size_t k, int sum)
{
    size_t most = n * (n + 1), row = most + 1;
    double *ways = calloc((k + 1) * row, sizeof *ways), all = 0;

    if (!ways)
        return -1;
    ways[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = k; j > 0; j--)
            for (size_t s = (size_t)rank[i]; s <= most; s++)
                ways[j * row + s] += ways[(j - 1) * row + s - (size_t)rank[i]];
    part[0] = part[1] = 0;
    for (size_t s = 0; s <= most; s++) {
        double w = ways[k * row + s];

        all += w;
        if ((int)s <= sum)
            part[0] += w;
        if ((int)s >= sum)
            part[1] += w;
    }
    part[0] /= all;
    part[1] /= all;
    free(ways);
    return 0;
}

/* By the normal distribution, with corrections for ties and for steps. */
static double normal_p(double sum, double ties, double na, double nb)
{
    double n = na + nb, u = sum - na * (na + 1) / 2, mean = na * nb / 2;
    double var = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
    double far = fabs(u - mean) - 0.5;

    if (!(var > 0) || far < 0)
        return 1;
    return erfc(far / sqrt(var) / sqrt(2));
}

int figures_rank_p(double *p, const double *a, size_t na, const double *b,
                   size_t nb)
{
    size_t n = na + nb;
    double *all = malloc(n * sizeof *all), part[2], ties;
    int *rank = malloc(n * sizeof *rank), rc = 0;
    int64_t sum = 0;

    if (!all || !rank) {
        free(all);
        free(rank);
        return -1;
    }
    memcpy(all, a, na * sizeof *all);
    memcpy(all + na, b, nb * sizeof *all);
    figures_sort(all, n);
    ties = double_ranks(rank, all, n);
    for (size_t i = 0; i < na; i++) {
        double *at = bsearch(&a[i], all, n, sizeof *all, by_value);

        sum += at ? rank[at - all] : 0;
    }
    if (n <= FIGURES_EXACT) {
        rc = tails(part, rank, n, na, (int)sum);
        *p = rc ? 1 : fmin(1, 2 * fmin(part[0], part[1]));
    } else {
        *p = normal_p((double)sum / 2, ties, (double)na, (double)nb);
    }
    free(all);
    free(rank);
    return rc;
}

/* ---- ratios ---- */

static double median_of(double *room, const double *v, size_t n)
{
    memcpy(room, v, n * sizeof *v);
    figures_sort(room, n);
    return figures_median(room, n);
}

int figures_ratio(double *ratio, struct figures_interval *i, const double *a,
                  const double *b, size_t n, double level, int times)
{
    double *room = malloc((2 * n + (size_t)times) * sizeof *room);
    double *x = room, *y = x ? x + n : NULL, *all = y ? y + n : NULL;

    if (!room)
        return -1;
    *ratio = median_of(x, a, n);
    *ratio /= median_of(y, b, n);
    for (int t = 0; t < times; t++) {
        for (size_t k = 0; k < n; k++) {
            size_t at = (size_t)(rng_unit(1, (uint64_t)t, k) * (double)n);

            x[k] = a[at];
            y[k] = b[at];
        }
        figures_sort(x, n);
        figures_sort(y, n);
        all[t] = figures_median(x, n) / figures_median(y, n);
    }
    figures_sort(all, (size_t)times);
    i->low = figures_at(all, (size_t)times, (1 - level) / 2);
    i->high = figures_at(all, (size_t)times, (1 + level) / 2);
    i->confidence = n > 1 ? level : 0;
    free(room);
    return 0;
}
