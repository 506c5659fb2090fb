/* SPDX-License-Identifier: MIT
 * cut.c - samplers that leave fewer tokens. */
#include <float.h>
#include <math.h>

#include "kernels/op/math/math.h"
#include "sample/sample_impl.h"

static size_t least(const struct sampler *s)
{
    return s->o.min_keep > 1 ? (size_t)s->o.min_keep : 1;
}

/* Of a list by score that was gathered from all (WAS_ALL) or not, leave KEEP,
 * but not less than min-keep. */
static void leave(struct sampler *s, size_t keep, bool was_all)
{
    struct choice *c = &s->c;

    if (keep < least(s))
        keep = least(s);
    if (was_all && keep > c->n) {
        c->all = true;
        choice_top(s, keep);
    }
    choice_cut(s, keep);
}

void cut_top_k(struct sampler *s)
{
    size_t k = (size_t)s->o.top_k;

    if (k < (s->c.all ? s->n : s->c.n))
        choice_top(s, k);
}

void cut_top_p(struct sampler *s)
{
    struct choice *c = &s->c;
    double z, want, have = 0;
    bool was_all = c->all;
    size_t keep = 0;

    if (!was_all)
        choice_sort(s);
    z = choice_weigh(s);
    want = z * (double)s->o.top_p;
    if (was_all) {
        for (double reach = 4;; reach *= 2) {
            c->all = true;
            choice_gather(s, reach);
            /* exp() of less than -128 is 0. */
            if (reach >= 128 || choice_weigh(s) >= want * (1 + 1e-9))
                break;
        }
        choice_sort(s);
        choice_weigh(s);
    }
    do
        have += (double)s->w[keep++];
    while (keep < c->n && have < want);
    leave(s, keep, was_all);
}

void cut_min_p(struct sampler *s)
{
    struct choice *c = &s->c;
    bool was_all = c->all;
    size_t keep = 1;

    choice_gather(s, -kern_log_f64((double)s->o.min_p));
    choice_sort(s);
    choice_weigh(s);
    while (keep < c->n && s->w[keep] >= s->o.min_p)
        keep++;
    leave(s, keep, was_all);
}

/* Those at most N standard deviations below the greatest score. */
void cut_top_n_sigma(struct sampler *s)
{
    struct choice *c = &s->c;
    double far = (double)s->o.top_n_sigma * choice_deviation(s);
    double top = (double)c->top;
    bool was_all = c->all;
    size_t keep = 1;

    choice_gather(s, far / (double)c->temp);
    choice_sort(s);
    while (keep < c->n && top - (double)select_score(c->list[keep]) <= far)
        keep++;
    leave(s, keep, was_all);
}

/* Put into NEAR those of the list within REACH of MEAN, by their places in it;
 * their number.  *HAVE: what they weigh. */
static size_t near_mean(const struct sampler *s, uint64_t *near, double *have,
                        double reach, double mean)
{
    const struct choice *c = &s->c;
    size_t n = 0;

    *have = 0;
    for (size_t i = 0; i < c->n; i++) {
        float x = choice_below(c, select_score(c->list[i]));
        double far = fabs((double)x - mean);

        if (far <= reach) {
            near[n++] = select_item(-(float)far, (uint32_t)i);
            *have += (double)s->w[i];
        }
    }
    return n;
}

/* Those whose surprise is nearest to what is expected: their scores are then
 * nearest to the mean score. */
void cut_typical(struct sampler *s)
{
    struct choice *c = &s->c;
    uint64_t *near = c->list + s->n;
    double want, mean, have;
    size_t n, keep = 0;

    choice_by_id(s);
    want = choice_weigh(s);
    mean = choice_mean(s, want);
    want *= (double)s->o.typical;
    for (double reach = 1;; reach *= 2) {
        /* Nothing that weighs something is further away than 256. */
        n = near_mean(s, near, &have, reach < 256 ? reach : INFINITY, mean);
        if (reach >= 256 || (have > want * (1 + 1e-9) && n >= least(s)))
            break;
    }
    select_sort(near, n, near + s->n);
    have = 0;
    do
        have += (double)s->w[select_id(near[keep++])];
    while (keep < n && (have <= want || keep < least(s)));
    for (size_t i = 0; i < keep; i++)
        near[i] = c->list[select_id(near[i])];
    select_by_id(near, keep, near + s->n);
    c->n = keep;
    c->top = -INFINITY;
    for (size_t i = 0; i < keep; i++) {
        c->list[i] = near[i];
        if (select_score(near[i]) > c->top)
            c->top = select_score(near[i]);
    }
}

/* With some chance, of the tokens that are more probable than the threshold
 * leave only the least probable one. */
void cut_xtc(struct sampler *s)
{
    struct choice *c = &s->c;
    double border;
    uint64_t last = UINT64_MAX;
    size_t over = 0, n = 0;

    if (s->other >= (double)s->o.xtc_probability)
        return;
    choice_list(s);
    border = choice_weigh(s) * (double)s->o.xtc_threshold;
    for (size_t i = 0; i < c->n; i++)
        if ((double)s->w[i] >= border) {
            over++;
            last = c->list[i] < last ? c->list[i] : last;
        }
    if (over < 2 || c->n - (over - 1) < least(s))
        return;
    for (size_t i = 0; i < c->n; i++)
        if ((double)s->w[i] < border || c->list[i] == last)
            c->list[n++] = c->list[i];
    c->n = n;
    c->top = select_score(last);
}
