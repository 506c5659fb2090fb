/* SPDX-License-Identifier: MIT
 * stat.h - numbers about many numbers. */
#ifndef LLM_SCORE_STAT_H
#define LLM_SCORE_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A list of floats that grows. */
struct score_list {
    float *v;
    size_t n, cap;
};
int score_list_add(struct score_list *l, const float *v, size_t n,
                   struct err *e);
void score_list_free(struct score_list *l);

/* Mean and its standard error; root of the mean square.  0 where N is too small
 * to say. */
struct score_mean {
    double mean, se, rms;
};
struct score_mean score_mean(const float *v, size_t n);
/* mean(A - B) and its standard error: of pairs. */
struct score_mean score_mean_diff(const float *a, const float *b, size_t n);

/* Sort V, for score_at(): the value below which the part P (0 to 1) of them
 * lies, between two of them by proportion.  N > 0. */
void score_sort(float *v, size_t n);
double score_at(const float *sorted, size_t n, double p);

/* Where a part lies of which HIT of N were seen, at 95 % (Wilson 1927). */
void score_interval(double *lo, double *hi, uint64_t hit, uint64_t n);

#endif
