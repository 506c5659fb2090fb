/* SPDX-License-Identifier: MIT
 * dist.h - what logits say of a token: probabilities, and how far two models
 * are apart.
 *
 * Weights are exp(logit - greatest) as floats, summed in double: a
 * log-probability has the bits that llm-sample(1) gives.
 */
#ifndef LLM_SCORE_DIST_H
#define LLM_SCORE_DIST_H

#include "kernels/kern.h"
#include "sample/sample.h"

struct score_dist {
    const float *v; /* N logits */
    size_t n;
    const float *w; /* [n]: their weights */
    float max;
    double z, ln_z;
};

/* W[n] is room, kept as long as *D.  ERR_FORMAT: a logit is NaN or plus
 * infinity, or all are minus infinity. */
int score_dist(struct score_dist *d, const float *v, size_t n, float *w,
               kern_unary_fn *exp, struct err *e);
float score_lp(const struct score_dist *d, uint32_t id);
/* The most probable token, the first of equals. */
uint32_t score_first(const struct score_dist *d);
/* The K most probable, in order, the lower id first of equals; how many: K, or
 * what there are. */
size_t score_top(struct sample_top *top, size_t k, const struct score_dist *d);
/* ln of what is left beside the tokens TOP[K]: -infinity when that is nothing.
 */
double score_tail(const struct score_dist *d, const struct sample_top *top,
                  size_t k);

/* KL divergence of Q from P, over all tokens; in nats. */
double score_kl(const struct score_dist *p, const struct score_dist *q);
/* The same where only P's tokens TOP[K] are known, and TAIL, which is
 * score_tail() of the others: these count as one token.  Never more than
 * score_kl(), by the log sum inequality. */
double score_kl_kept(const struct sample_top *top, size_t k, double tail,
                     const struct score_dist *q);

/* M tokens of those beside the K most probable TOP, each drawn by its
 * probability, at even steps from U (0 to 1) of one on: how many, M, or 0 where
 * there is nothing to draw from. */
size_t score_draw(struct sample_top *to, size_t m, const struct score_dist *d,
                  const struct sample_top *top, size_t k, double u);
/* score_kl() where of P's other tokens M were drawn: an estimate of it, without
 * bias, that may be negative. */
double score_kl_drawn(const struct sample_top *top, size_t k, double tail,
                      const struct sample_top *drawn, size_t m,
                      const struct score_dist *q);

#endif
