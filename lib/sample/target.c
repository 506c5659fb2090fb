/* SPDX-License-Identifier: MIT
 * target.c - samplers that aim at a surprise or a probability, and learn from
 * what was drawn: mirostat (Basu, Ramachandran, Keskar and Varshney,
 * "Mirostat: a neural text decoding algorithm that directly controls
 * perplexity", 2021), both versions, and adaptive-p.
 *
 * What they learned is kept for each position, so that positions can be drawn
 * again.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/op/math/math.h"
#include "sample/sample_impl.h"

#define LN2 0.69314718055994530942

/* ---- what is remembered ---- */

int target_begin(struct sampler *s, uint64_t pos, struct err *e)
{
    while (s->nmemory && s->memory[s->nmemory - 1].pos >= pos)
        s->nmemory--;
    if (s->nmemory == s->memory_cap) {
        size_t cap = s->memory_cap * 2 + 64;
        struct memory *p = realloc(s->memory, cap * sizeof *p);

        if (!p)
            return err_nomem(e);
        s->memory = p;
        s->memory_cap = cap;
    }
    return 0;
}

/* What was known before this position: mirostat's greatest surprise; for
 * adaptive-p sums of the probabilities that were drawn and of what they weigh,
 * as if all before had been right. */
static struct memory recall(const struct sampler *s)
{
    double weight = 1 / (1 - (double)s->o.adaptive_decay);

    if (s->nmemory)
        return s->memory[s->nmemory - 1];
    if (s->o.mirostat)
        return (struct memory){.a = 2 * (double)s->o.mirostat_ent};
    return (struct memory){.a = (double)s->o.adaptive_target * weight,
                           .b = weight};
}

void target_learn(struct sampler *s, uint64_t pos, uint32_t id, double p)
{
    const struct sample_opts *o = &s->o;
    struct memory m = recall(s);
    double decay = (double)o->adaptive_decay;

    if (o->mirostat) {
        double surprise = -kern_log_f64(p) / LN2;

        m.a -= (double)o->mirostat_lr * (surprise - (double)o->mirostat_ent);
    } else {
        /* What it had before adaptive-p. */
        float below = (s->c.x[id] - s->was.top) / s->was.temp;

        m.a = kern_exp_f64((double)below) / s->was.z + decay * m.a;
        m.b = 1 + decay * m.b;
    }
    m.pos = pos;
    s->memory[s->nmemory++] = m;
}

/* ---- mirostat ---- */

/* How many tokens have a surprise of MU at most, if their probabilities fall
 * by Zipf's law as those of the first 100 do. */
static size_t zipf_count(struct sampler *s, double mu)
{
    enum { FIRST = 100 };
    struct choice *c = &s->c;
    double up = 0, down = 0, slope, over, n = (double)s->n, ln_k;
    struct choice before = *c;
    size_t m;

    choice_top(s, FIRST);
    m = c->n < FIRST ? c->n : FIRST;
    for (size_t i = 0; i + 1 < m; i++) {
        double t = kern_log_f64((double)(i + 2) / (double)(i + 1));
        double b = ((double)select_score(c->list[i]) -
                    (double)select_score(c->list[i + 1])) /
                   (double)c->temp;

        up += t * b;
        down += t * t;
    }
    if (before.all)
        *c = before;
    if (m < 2)
        return 1;
    slope = up / down;
    over = slope - 1;
    over = fabs(over) < 1e-9
               ? 1 / kern_log_f64(n)
               : over / (1 - kern_exp_f64(-over * kern_log_f64(n)));
    ln_k = (kern_log_f64(over) + mu * LN2) / slope;
    if (!(ln_k < kern_log_f64(n)))
        return s->n;
    return ln_k > 0 ? (size_t)kern_exp_f64(ln_k) : 1;
}

/* Those whose surprise is MU at most. */
static void surprising(struct sampler *s, double mu)
{
    struct choice *c = &s->c;
    double z = choice_weigh(s), border = kern_log_f64(z) - mu * LN2;
    size_t keep = 1;

    choice_gather(s, border < 0 ? -border : 0);
    choice_sort(s);
    while (keep < c->n &&
           (double)choice_below(c, select_score(c->list[keep])) >= border)
        keep++;
    choice_cut(s, keep);
}

void target_mirostat(struct sampler *s)
{
    double mu = recall(s).a;

    if (s->o.mirostat == 2)
        surprising(s, mu);
    else
        choice_top(s, zipf_count(s, mu));
}

/* ---- adaptive-p ---- */

static double within(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Scores by how near a probability is to the target: a parabola near it, a
 * slope further away. */
void target_adaptive_p(struct sampler *s)
{
    struct choice *c = &s->c;
    struct memory m = recall(s);
    double z, target;

    target = within(2 * (double)s->o.adaptive_target - m.a / m.b, 0, 1);
    choice_by_id(s);
    z = choice_weigh(s);
    s->was.top = c->top;
    s->was.temp = c->temp;
    s->was.z = z;
    c->top = -INFINITY;
    c->temp = 1;
    for (size_t i = 0; i < c->n; i++) {
        double far = fabs((double)s->w[i] / z - target) / 0.3;
        float x = (float)(5 - 10 * far * far / (1 + far));

        c->list[i] = select_item(x, select_id(c->list[i]));
        c->top = x > c->top ? x : c->top;
    }
}
