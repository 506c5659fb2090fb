/* SPDX-License-Identifier: MIT */
#include "score/dist.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/op/math/math.h"

enum { LANES = 8 };

/* Eight partial sums by I mod 8, then a tree. */
static double tree(const double p[LANES])
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

int score_dist(struct score_dist *d, const float *v, size_t n, float *w,
               kern_unary_fn *exp, struct err *e)
{
    double p[LANES] = {0};
    float max = -INFINITY;
    bool bad = false;

    for (size_t i = 0; i < n; i++) {
        bad |= !(v[i] < INFINITY);
        max = v[i] > max ? v[i] : max;
    }
    if (bad)
        return err_set(e, ERR_FORMAT,
                       "a logit is not a number, or plus infinity");
    if (max == -INFINITY)
        return err_set(e, ERR_FORMAT, "all logits are minus infinity");
    for (size_t i = 0; i < n; i++)
        w[i] = v[i] - max;
    exp(w, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        p[i % LANES] += (double)w[i];
    *d = (struct score_dist){.v = v, .n = n, .w = w, .max = max, .z = tree(p)};
    d->ln_z = kern_log_f64(d->z);
    return 0;
}

static double lp(const struct score_dist *d, size_t i)
{
    return (double)(d->v[i] - d->max) - d->ln_z;
}

float score_lp(const struct score_dist *d, uint32_t id)
{
    return (float)lp(d, id);
}

uint32_t score_first(const struct score_dist *d)
{
    size_t i = 0;

    while (d->v[i] < d->max)
        i++;
    return (uint32_t)i;
}

/* ---- the most probable ---- */

/* Does A come before B? */
static bool before(const struct sample_top *a, const struct sample_top *b)
{
    return a->lp != b->lp ? a->lp > b->lp : a->id < b->id;
}

static int order(const void *a, const void *b)
{
    return before(a, b) ? -1 : 1;
}

/* A heap whose root is the last of all, where the root was replaced. */
static void sink(struct sample_top *h, size_t n)
{
    size_t i = 0, c;

    while ((c = 2 * i + 1) < n) {
        struct sample_top t = h[i];

        if (c + 1 < n && before(&h[c], &h[c + 1]))
            c++;
        if (!before(&h[i], &h[c]))
            return;
        h[i] = h[c];
        h[c] = t;
        i = c;
    }
}

static void rise(struct sample_top *h, size_t i)
{
    for (; i && before(&h[(i - 1) / 2], &h[i]); i = (i - 1) / 2) {
        struct sample_top t = h[i];

        h[i] = h[(i - 1) / 2];
        h[(i - 1) / 2] = t;
    }
}

size_t score_top(struct sample_top *top, size_t k, const struct score_dist *d)
{
    size_t n = 0;

    if (!k)
        return 0;
    /* By logits, not yet by log-probabilities, which may round to equals. */
    for (size_t i = 0; i < d->n; i++) {
        struct sample_top t = {(uint32_t)i, d->v[i]};

        if (n < k) {
            top[n] = t;
            rise(top, n++);
        } else if (t.lp > top[0].lp) {
            top[0] = t;
            sink(top, k);
        }
    }
    qsort(top, n, sizeof *top, order);
    for (size_t i = 0; i < n; i++)
        top[i].lp = score_lp(d, top[i].id);
    return n;
}

double score_tail(const struct score_dist *d, const struct sample_top *top,
                  size_t k)
{
    double kept = 0;

    if (k >= d->n)
        return -INFINITY;
    for (size_t i = 0; i < k; i++)
        kept += (double)d->w[top[i].id];
    return kept < d->z ? kern_log_f64(d->z - kept) - d->ln_z : -INFINITY;
}

size_t score_draw(struct sample_top *to, size_t m, const struct score_dist *d,
                  const struct sample_top *top, size_t k, double u)
{
    double rest = d->z, step, at, have = 0;
    const struct sample_top *last = k ? &top[k - 1] : NULL;
    size_t n = 0, id = 0;

    for (size_t i = 0; i < k; i++)
        rest -= (double)d->w[top[i].id];
    if (k >= d->n || !(rest > d->z * 0x1p-40) || !m)
        return 0;
    step = rest / (double)m;
    at = u * step;
    for (size_t i = 0; i < d->n && n < m; i++) {
        float v = d->v[i], least = last ? d->v[last->id] : INFINITY;

        if (!(d->w[i] > 0) ||
            (last && (v > least || (v == least && i <= last->id))))
            continue;
        have += (double)d->w[i];
        for (id = i; n < m && have > at; at += step)
            to[n++] =
                (struct sample_top){(uint32_t)i, score_lp(d, (uint32_t)i)};
    }
    for (; n < m; n++) /* sums in different orders may differ */
        to[n] = (struct sample_top){(uint32_t)id, score_lp(d, (uint32_t)id)};
    return m;
}

/* ---- divergence ---- */

double score_kl(const struct score_dist *p, const struct score_dist *q)
{
    double part[LANES] = {0}, kl;

    for (size_t i = 0; i < p->n; i++)
        if (p->w[i] > 0)
            part[i % LANES] += (double)p->w[i] * (lp(p, i) - lp(q, i));
    kl = tree(part) / p->z;
    return kl > 0 ? kl : 0;
}

/* What the tokens TOP[K] come to. */
static double kl_of(const struct sample_top *top, size_t k,
                    const struct score_dist *q)
{
    double kl = 0;

    for (size_t i = 0; i < k; i++) {
        double p = (double)top[i].lp;

        if (p > -INFINITY)
            kl += kern_exp_f64(p) * (p - lp(q, top[i].id));
    }
    return kl;
}

double score_kl_drawn(const struct sample_top *top, size_t k, double tail,
                      const struct sample_top *drawn, size_t m,
                      const struct score_dist *q)
{
    double sum = 0;

    for (size_t i = 0; i < m; i++)
        sum += (double)drawn[i].lp - lp(q, drawn[i].id);
    return kl_of(top, k, q) +
           (m && tail > -INFINITY ? kern_exp_f64(tail) * sum / (double)m : 0);
}

double score_kl_kept(const struct sample_top *top, size_t k, double tail,
                     const struct score_dist *q)
{
    double kl = kl_of(top, k, q), kept = 0, rest;

    for (size_t i = 0; i < k; i++)
        kept += (double)q->w[top[i].id];
    /* Where rounding leaves nothing of the rest it is the least there can be.
     */
    rest = q->z - kept;
    if (rest < q->z * 0x1p-40)
        rest = q->z * 0x1p-40;
    if (tail > -INFINITY)
        kl += kern_exp_f64(tail) * (tail - (kern_log_f64(rest) - q->ln_z));
    return kl > 0 ? kl : 0;
}
