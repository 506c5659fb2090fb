/* SPDX-License-Identifier: MIT */
#include "score/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int score_list_add(struct score_list *l, const float *v, size_t n,
                   struct err *e)
{
    if (n > SIZE_MAX / 8 - l->n)
        return err_nomem(e);
    if (n > l->cap - l->n) {
        size_t cap = l->n + n + l->n / 2;
        float *p = realloc(l->v, cap * sizeof *p);

        if (!p)
            return err_nomem(e);
        l->v = p;
        l->cap = cap;
    }
    if (n)
        memcpy(l->v + l->n, v, n * sizeof *v);
    l->n += n;
    return 0;
}

void score_list_free(struct score_list *l)
{
    free(l->v);
    *l = (struct score_list){0};
}

/* Of A, or of A - B. */
static struct score_mean mean(const float *a, const float *b, size_t n)
{
    struct score_mean m = {0};
    double var = 0;

    if (!n)
        return m;
    for (size_t i = 0; i < n; i++)
        m.mean += (double)a[i] - (b ? (double)b[i] : 0);
    m.mean /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double x = (double)a[i] - (b ? (double)b[i] : 0);

        var += (x - m.mean) * (x - m.mean);
        m.rms += x * x;
    }
    m.rms = sqrt(m.rms / (double)n);
    if (n > 1)
        m.se = sqrt(var / (double)(n - 1) / (double)n);
    return m;
}

struct score_mean score_mean(const float *v, size_t n)
{
    return mean(v, NULL, n);
}

struct score_mean score_mean_diff(const float *a, const float *b, size_t n)
{
    return mean(a, b, n);
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

void score_sort(float *v, size_t n)
{
    if (n)
        qsort(v, n, sizeof *v, ascending);
}

double score_at(const float *sorted, size_t n, double p)
{
    double at = p * (double)(n - 1), part;
    size_t i = (size_t)at;

    if (i + 1 >= n)
        return (double)sorted[n - 1];
    part = at - (double)i;
    if (part <= 0)
        return (double)sorted[i];
    return (double)sorted[i] +
           part * ((double)sorted[i + 1] - (double)sorted[i]);
}

void score_interval(double *lo, double *hi, uint64_t hit, uint64_t n)
{
    const double z = 1.959963984540054;
    double m = (double)n, p, mid, half;

    *lo = 0;
    *hi = 1;
    if (!n)
        return;
    p = (double)hit / m;
    mid = (p + z * z / (2 * m)) / (1 + z * z / m);
    half = z / (1 + z * z / m) * sqrt(p * (1 - p) / m + z * z / (4 * m * m));
    *lo = mid - half > 0 ? mid - half : 0;
    *hi = mid + half < 1 ? mid + half : 1;
}
