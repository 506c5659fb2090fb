/* SPDX-License-Identifier: MIT
 * sample.c - the chain, over lists that select.c makes.
 *
 * Weights are exp(score - greatest score) as floats; their sums are doubles, in
 * a fixed order.  What top-k, top-p and min-p leave is a prefix of the tokens
 * in order of their scores, so with top-k off only those few that can be in the
 * prefix are gathered and sorted.  The draw walks the survivors in order of
 * their ids: then a chain that leaves all of them needs no sorting at all.
 */
#include "sample/sample.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/op/math/math.h"
#include "kernels/op/unary/unary.h"
#include "sample/select.h"

struct sampler {
    struct sample_opts o;
    struct sample_bias *bias;
    size_t n;
    kern_unary_fn *exp;
    float *max;      /* of each block of scores */
    uint64_t *list;  /* [n]: tokens that are left; and as much to sort them */
    float *w;        /* [n]: weights, of the list or of all */
    float *work;     /* [n]: scores after biases and penalties; or NULL */
    uint32_t *count; /* [n]: zeros between calls; NULL without penalties */
};

void sample_defaults(struct sample_opts *o)
{
    *o = (struct sample_opts){.temp = 0.8f,
                              .top_k = 40,
                              .top_p = 0.95f,
                              .min_p = 0.05f,
                              .repeat_penalty = 1,
                              .repeat_last_n = 64};
}

int sample_check(const struct sample_opts *o, struct err *e)
{
    const char *bad = NULL, *rule = "not a finite number";

    if (!isfinite(o->temp))
        bad = "temp";
    else if (!isfinite(o->presence_penalty))
        bad = "presence-penalty";
    else if (!isfinite(o->frequency_penalty))
        bad = "frequency-penalty";
    else if (!(o->repeat_penalty > 0 && isfinite(o->repeat_penalty)))
        bad = "repeat-penalty", rule = "not greater than 0";
    else if (!(o->top_p >= 0 && o->top_p <= 1))
        bad = "top-p", rule = "not in 0 to 1";
    else if (!(o->min_p >= 0 && o->min_p <= 1))
        bad = "min-p", rule = "not in 0 to 1";
    else if (o->top_k < -1)
        bad = "top-k", rule = "not a count, nor 0 or -1 for all";
    else if (o->repeat_last_n < -1)
        bad = "repeat-last-n", rule = "not a count, nor -1 for all";
    for (int i = 0; !bad && i < o->nbias; i++)
        if (!(o->bias[i].add < INFINITY))
            bad = "logit-bias", rule = "neither finite nor -inf";
    return bad ? err_set(e, ERR_USAGE, "option '%s': %s", bad, rule) : 0;
}

static bool penalties(const struct sample_opts *o)
{
    return o->repeat_last_n &&
           (o->repeat_penalty != 1 || /* exact: off */
            o->presence_penalty != 0 || o->frequency_penalty != 0);
}

struct sampler *sampler_new(const struct sample_opts *o, int n_vocab,
                            struct err *e)
{
    struct kern k;
    struct sampler *s;
    size_t n = n_vocab > 0 ? (size_t)n_vocab : 0;

    if (sample_check(o, e))
        return NULL;
    if (!n) {
        err_set(e, ERR_USAGE, "there are no tokens to choose from");
        return NULL;
    }
    for (int i = 0; i < o->nbias; i++)
        if (o->bias[i].id >= n) {
            err_set(e, ERR_USAGE, "option 'logit-bias': %lu is none of %zu ids",
                    (unsigned long)o->bias[i].id, n);
            return NULL;
        }
    s = calloc(1, sizeof *s);
    if (!s)
        goto nomem;
    unary_init(&k, cpu_flags());
    s->exp = k.unary[KERN_EXP];
    s->o = *o;
    s->n = n;
    s->max = malloc((n + SELECT_BLOCK - 1) / SELECT_BLOCK * sizeof *s->max);
    s->list = malloc(2 * n * sizeof *s->list);
    s->w = malloc(n * sizeof *s->w);
    if (!s->max || !s->list || !s->w)
        goto nomem;
    if (o->nbias) {
        s->bias = malloc((size_t)o->nbias * sizeof *s->bias);
        if (!s->bias)
            goto nomem;
        memcpy(s->bias, o->bias, (size_t)o->nbias * sizeof *s->bias);
    }
    s->o.bias = s->bias;
    if (penalties(o) && !(s->count = calloc(n, sizeof *s->count)))
        goto nomem;
    if ((s->bias || s->count) && !(s->work = malloc(n * sizeof *s->work)))
        goto nomem;
    return s;
nomem:
    err_nomem(e);
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    free(s->bias);
    free(s->max);
    free(s->list);
    free(s->w);
    free(s->work);
    free(s->count);
    free(s);
}

/* Eight partial sums by I mod 8, then a tree. */
static double sum(const float *w, size_t n)
{
    double p[8] = {0};
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            p[j] += w[i + j];
    for (size_t j = 0; i + j < n; j++)
        p[j] += w[i + j];
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/* W[i] = exp((score - TOP) / TEMP) over all of X, or over the list; the sum. */
static double weigh_all(const struct sampler *s, const float *x, float top,
                        float temp)
{
    for (size_t i = 0; i < s->n; i++)
        s->w[i] = (x[i] - top) / temp;
    s->exp(s->w, (int64_t)s->n);
    return sum(s->w, s->n);
}

static double weigh_list(const struct sampler *s, size_t n, float top,
                         float temp)
{
    for (size_t i = 0; i < n; i++)
        s->w[i] = (select_score(s->list[i]) - top) / temp;
    s->exp(s->w, (int64_t)n);
    return sum(s->w, n);
}

/* Bias, then penalties. */
static const float *adjust(struct sampler *s, const float *logits,
                           const int32_t *history, int nhist)
{
    const struct sample_opts *o = &s->o;
    float *x = s->work;
    int from = 0;

    memcpy(x, logits, s->n * sizeof *x);
    for (int i = 0; i < o->nbias; i++)
        x[o->bias[i].id] += o->bias[i].add;
    if (!s->count)
        return x;
    if (o->repeat_last_n >= 0 && nhist > o->repeat_last_n)
        from = nhist - o->repeat_last_n;
    for (int i = from; i < nhist; i++)
        if (history[i] >= 0 && (size_t)history[i] < s->n)
            s->count[history[i]]++;
    for (int i = from; i < nhist; i++) {
        uint32_t id = (uint32_t)history[i], n = id < s->n ? s->count[id] : 0;

        if (!n)
            continue; /* none of ours, or done */
        s->count[id] = 0;
        if (x[id] > 0)
            x[id] /= o->repeat_penalty;
        else
            x[id] *= o->repeat_penalty;
        x[id] -= (float)n * o->frequency_penalty + o->presence_penalty;
    }
    return x;
}

/* With top-k off: put into the list, by score, all that top-p and min-p can
 * leave; their count.  Z is the sum of all weights, for top-p. */
static size_t gather(struct sampler *s, const float *x, float top, double z)
{
    const struct sample_opts *o = &s->o;
    /* Far enough below the border for all that is rounded on the way. */
    double slack = 0.01 + fabs((double)top) * 1e-6;
    double reach = o->min_p > 0 ? slack - kern_log_f64(o->min_p) : 4;
    size_t m;

    for (;; reach *= 2) {
        double from = (double)top - reach;

        m = select_from(s->list, from < -FLT_MAX ? -INFINITY : (float)from,
                        s->max, x, s->n);
        /* exp() of less than -128 is 0. */
        if (o->min_p > 0 || reach >= 128 + slack ||
            weigh_list(s, m, top, 1) >= z * o->top_p * (1 + 1e-9))
            break;
    }
    select_sort(s->list, m, s->list + s->n);
    weigh_list(s, m, top, 1);
    return m;
}

/* What top-k, top-p and min-p leave, in the list, by id; 0: all of them. */
static size_t survivors(struct sampler *s, const float *x, float top)
{
    const struct sample_opts *o = &s->o;
    size_t m, keep = 0;
    uint64_t last;
    double z = 0, have = 0;

    if (o->top_k > 0 && (size_t)o->top_k < s->n) {
        m = select_top(s->list, (size_t)o->top_k, s->max, x, s->n);
        z = weigh_list(s, m, top, 1);
    } else if (o->top_p < 1 || o->min_p > 0) {
        if (o->top_p < 1)
            z = weigh_all(s, x, top, 1);
        m = gather(s, x, top, z);
    } else {
        return 0;
    }
    do
        have += s->w[keep++];
    while (keep < m && s->w[keep] >= o->min_p &&
           !(o->top_p < 1 && have >= z * o->top_p));
    /* Finding them again is faster than sorting them. */
    last = s->list[keep - 1];
    m = select_from(s->list, select_score(last), s->max, x, s->n);
    keep = 0;
    for (size_t i = 0; i < m; i++)
        if (s->list[i] >= last)
            s->list[keep++] = s->list[i];
    return keep;
}

static uint32_t draw(struct sampler *s, const float *x, float top, double u)
{
    size_t n = survivors(s, x, top), at = 0;
    bool all = !n;
    double have = 0;

    if (all) {
        n = s->n;
        u *= weigh_all(s, x, top, s->o.temp);
    } else {
        u *= weigh_list(s, n, top, s->o.temp);
    }
    /* Sums in different orders may differ: then it is the last that counts. */
    for (size_t i = 0; i < n && have <= u; i++) {
        have += s->w[i];
        if (s->w[i] > 0)
            at = i;
    }
    return all ? (uint32_t)at : select_id(s->list[at]);
}

static int scan(struct sampler *s, float *top, const float *x, struct err *e)
{
    if (!select_scan(s->max, top, x, s->n))
        return err_set(e, ERR_FORMAT,
                       "a logit is not a number, or plus infinity");
    if (*top == -INFINITY)
        return err_set(e, ERR_FORMAT,
                       "all tokens are ruled out: none is left to choose");
    return 0;
}

/* ln of the sum of exp(X), and the most probable tokens. */
static int describe(struct sampler *s, struct sample_result *r, double *norm,
                    const float *x, struct err *e)
{
    size_t n = 0;
    float top;

    if (scan(s, &top, x, e))
        return -1;
    *norm = (double)top + kern_log_f64(weigh_all(s, x, top, 1));
    if (r->ntop > 0 && r->top)
        n = select_top(s->list, (size_t)r->ntop < s->n ? (size_t)r->ntop : s->n,
                       s->max, x, s->n);
    for (size_t i = 0; i < n; i++)
        r->top[i] = (struct sample_top){
            select_id(s->list[i]),
            (float)((double)select_score(s->list[i]) - *norm)};
    r->ntop = (int)n;
    return 0;
}

int sampler_pick(struct sampler *s, struct sample_result *r,
                 const float *logits, uint64_t seq, uint64_t pos,
                 const int32_t *history, int nhist, const uint64_t *allowed,
                 bool want_lp, struct err *e)
{
    const float *x = logits;
    double norm = 0;
    float top;

    if (want_lp && describe(s, r, &norm, logits, e))
        return -1;
    if (allowed && !s->work && !(s->work = malloc(s->n * sizeof *s->work)))
        return err_nomem(e);
    if (s->bias || s->count || allowed)
        x = adjust(s, logits, history, nhist);
    for (size_t i = 0; allowed && i < s->n; i++)
        if (!(allowed[i / 64] >> i % 64 & 1))
            s->work[i] = -INFINITY;
    if (scan(s, &top, x, e))
        return -1;
    r->id = s->o.temp > 0 ? draw(s, x, top, rng_unit(s->o.seed, seq, pos))
                          : select_first(s->max, top, x, s->n);
    if (want_lp)
        r->lp = (float)((double)logits[r->id] - norm);
    return 0;
}
