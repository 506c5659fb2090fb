/* SPDX-License-Identifier: MIT
 * choice.c - the tokens that are left to choose from.
 *
 * While they are all, nothing is copied; what most steps leave is a prefix of
 * the tokens in order of their scores, so that only those few are gathered and
 * sorted that can be in it.
 */
#include <float.h>
#include <math.h>

#include "sample/sample_impl.h"

enum { LANES = 8 };

/* Eight partial sums by I mod 8, then a tree. */
static double tree(const double p[LANES])
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

static double sum(const float *w, size_t n)
{
    double p[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            p[j] += (double)w[i + j];
    for (size_t j = 0; i + j < n; j++)
        p[j] += (double)w[i + j];
    return tree(p);
}

int choice_scan(struct sampler *s, struct err *e)
{
    struct choice *c = &s->c;

    if (!c->all || c->scanned)
        return 0;
    if (!select_scan(s->max, &c->top, c->x, s->n, c->allowed, c->peaks))
        return err_set(e, ERR_FORMAT,
                       "a logit is not a number, or plus infinity");
    c->none = c->top == -INFINITY;
    if (c->none)
        return err_set(e, ERR_FORMAT,
                       "all tokens are ruled out: none is left to choose");
    c->scanned = true;
    return 0;
}

size_t choice_size(const struct sampler *s)
{
    return s->c.all ? s->n : s->c.n;
}

const float *choice_block(const struct sampler *s, float *room, size_t b)
{
    const struct choice *c = &s->c;
    size_t i = b * SELECT_BLOCK, n = 0;

    if (c->all)
        return select_block(room, c->x, s->n, c->allowed, b);
    for (; n < SELECT_BLOCK && i < c->n; i++)
        room[n++] = select_score(c->list[i]);
    while (n < SELECT_BLOCK)
        room[n++] = -INFINITY;
    return room;
}

/* (score - greatest) / temperature of all, or of the list, in s->w. */
static size_t below(struct sampler *s)
{
    const struct choice *c = &s->c;
    float *w = s->w, room[SELECT_BLOCK];
    size_t n = choice_size(s);

    if (c->all && !c->allowed) {
        for (size_t i = 0; i < n; i++)
            w[i] = choice_below(c, c->x[i]);
        return n;
    }
    for (size_t i = 0; i < n; i += SELECT_BLOCK) {
        const float *v = choice_block(s, room, i / SELECT_BLOCK);
        size_t m = n - i < SELECT_BLOCK ? n - i : SELECT_BLOCK;

        for (size_t j = 0; j < m; j++)
            w[i + j] = choice_below(c, v[j]);
    }
    return n;
}

double choice_weigh(struct sampler *s)
{
    size_t n = below(s);

    s->exp(s->w, (int64_t)n);
    return sum(s->w, n);
}

double choice_mean(const struct sampler *s, double z)
{
    const struct choice *c = &s->c;
    size_t n = c->all ? s->n : c->n;
    double p[LANES] = {0};

    for (size_t i = 0; i < n; i++) {
        float x = c->all ? c->x[i] : select_score(c->list[i]);

        /* What is ruled out weighs nothing. */
        if (s->w[i] > 0)
            p[i % LANES] += (double)s->w[i] * (double)choice_below(c, x);
    }
    return tree(p) / z;
}

void choice_gather(struct sampler *s, double reach)
{
    struct choice *c = &s->c;
    double from = (double)c->top - (reach + 0.01) * (double)c->temp -
                  fabs((double)c->top) * 1e-6;

    if (!c->all)
        return;
    c->n = select_from(c->list, from < -FLT_MAX ? -INFINITY : (float)from,
                       s->max, c->x, s->n, c->allowed);
    c->all = c->by_score = false;
}

void choice_list(struct sampler *s)
{
    choice_gather(s, INFINITY);
}

void choice_sort(struct sampler *s)
{
    struct choice *c = &s->c;

    choice_list(s);
    if (!c->by_score)
        select_sort(c->list, c->n, c->list + s->n);
    c->by_score = true;
}

void choice_by_id(struct sampler *s)
{
    struct choice *c = &s->c;

    choice_list(s);
    if (c->by_score)
        select_by_id(c->list, c->n, c->list + s->n);
    c->by_score = false;
}

void choice_top(struct sampler *s, size_t k)
{
    struct choice *c = &s->c;

    if (c->all && k <= select_blocks(s->n)) {
        c->n = select_top(c->list, k, s->max, c->x, s->n, c->allowed);
        c->all = false;
        c->by_score = true;
        return;
    }
    choice_sort(s);
    choice_cut(s, k);
}

void choice_cut(struct sampler *s, size_t keep)
{
    if (keep < s->c.n)
        s->c.n = keep;
}

size_t choice_count(const struct sampler *s)
{
    float room[SELECT_BLOCK];
    size_t n = 0;

    for (size_t b = 0; b < select_blocks(choice_size(s)); b++) {
        const float *v = choice_block(s, room, b);

        for (size_t i = 0; i < SELECT_BLOCK; i++)
            n += v[i] > -INFINITY;
    }
    return n;
}

double choice_deviation(const struct sampler *s)
{
    double n = (double)choice_count(s), mean = 0;
    float room[SELECT_BLOCK];

    for (int pass = 0; pass < 2; pass++) {
        double p[LANES] = {0};

        for (size_t b = 0; b < select_blocks(choice_size(s)); b++) {
            const float *v = choice_block(s, room, b);

            for (size_t i = 0; i < SELECT_BLOCK; i++) {
                double d = (double)v[i] - (double)s->c.top - mean;

                p[i % LANES] += v[i] > -INFINITY ? (pass ? d * d : d) : 0;
            }
        }
        if (pass)
            return sqrt(tree(p) / n);
        mean = tree(p) / n;
    }
    return 0;
}

/* Divided by the temperature, and still a number. */
static float scaled(float x, float temp)
{
    float y = x / temp;

    return y == INFINITY                     ? FLT_MAX
           : y == -INFINITY && x > -INFINITY ? -FLT_MAX
                                             : y;
}

float *choice_edit(struct sampler *s)
{
    struct choice *c = &s->c;
    float room[SELECT_BLOCK], *x = s->work;

    if (!c->all) {
        for (size_t i = 0; i < c->n; i++)
            x[select_id(c->list[i])] =
                scaled(select_score(c->list[i]), c->temp);
    } else if (c->x != x) {
        for (size_t i = 0; i < s->n; i += SELECT_BLOCK) {
            const float *v =
                select_block(room, c->x, s->n, c->allowed, i / SELECT_BLOCK);
            size_t n = s->n - i < SELECT_BLOCK ? s->n - i : SELECT_BLOCK;

            memcpy(x + i, v, n * sizeof *v);
        }
    }
    for (size_t i = 0; c->all && c->temp != 1 && i < s->n; i++)
        x[i] = scaled(x[i], c->temp);
    c->x = x;
    c->peaks = NULL;
    c->allowed = NULL;
    c->temp = 1;
    return x;
}

void choice_edited(struct sampler *s)
{
    struct choice *c = &s->c;

    c->scanned = false;
    if (c->all)
        return;
    choice_by_id(s);
    c->top = -INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t id = select_id(c->list[i]);

        c->list[i] = select_item(c->x[id], id);
        c->top = c->x[id] > c->top ? c->x[id] : c->top;
    }
}
