/* SPDX-License-Identifier: MIT
 * figures.h - what many measurements say, without a belief in how they are
 * spread.  Nothing here measures, reads or writes. */
#ifndef LLM_CMD_FIGURES_H
#define LLM_CMD_FIGURES_H

#include <stddef.h>

void figures_sort(double *v, size_t n);
/* The value below which the part P (0 to 1) of the sorted V[N] lies, between
 * two of them by proportion.  N > 0, here and below. */
double figures_at(const double *sorted, size_t n, double p);
double figures_median(const double *sorted, size_t n);
double figures_mean(const double *v, size_t n);
/* The median of the distances from the median. */
int figures_mad(double *mad, const double *sorted, size_t n);

struct figures_interval {
    double low, high;
    double confidence; /* how sure it is: 0 to 1 */
};

/* Two of the sorted V[N] between which the median of all that might be measured
 * lies (the interval of the sign test): the narrowest that is as sure as LEVEL,
 * or the least and the greatest, of which few measurements are less sure. */
struct figures_interval figures_interval(const double *sorted, size_t n,
                                         double level);

/* How probable it is that lists from one source differ in their ranks as these
 * do, or more, to either side (Mann and Whitney 1947): exact, with equal values
 * sharing their ranks, for FIGURES_EXACT values or fewer; else by the normal
 * distribution.  -1: memory ran out. */
enum { FIGURES_EXACT = 64 };
int figures_rank_p(double *p, const double *a, size_t na, const double *b,
                   size_t nb);

/* The median of A[N] divided by that of B[N], and where that lies at LEVEL when
 * the N pairs are drawn again, TIMES times, with repetition (Efron 1979): the
 * same for the same numbers.  -1: memory ran out. */
int figures_ratio(double *ratio, struct figures_interval *i, const double *a,
                  const double *b, size_t n, double level, int times);

#endif
