/* SPDX-License-Identifier: MIT
 * sample.h - from logits to a token: the sampler chain.
 *
 * The order is that of the field: logit bias, penalties (repetition, presence,
 * frequency), top-k, top-p, min-p, temperature, then a draw.  top-p and min-p
 * look at the probabilities at temperature 1.  Each step keeps at least one
 * token.  Temperature 0 (or less) takes the most probable token, the lowest id
 * of equals, after bias and penalties.
 *
 * A draw depends on (seed, sequence, position) and the logits alone: not on
 * what else runs, nor on earlier draws.
 */
#ifndef LLM_SAMPLE_SAMPLE_H
#define LLM_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sample_bias {
    uint32_t id;
    float add; /* -INFINITY: never */
};

struct sample_opts {
    float temp;              /* 0.8 */
    int top_k;               /* 40; 0 or -1: off */
    float top_p;             /* 0.95; 1: off */
    float min_p;             /* 0.05; 0: off */
    float repeat_penalty;    /* 1: off */
    float presence_penalty;  /* 0: off */
    float frequency_penalty; /* 0: off */
    int repeat_last_n;       /* 64: tokens that penalties look back; -1: all */
    uint64_t seed;
    const struct sample_bias *bias;
    int nbias;
};

/* The defaults above, seed 0. */
void sample_defaults(struct sample_opts *o);
/* ERR_USAGE naming the option that is out of its range. */
int sample_check(const struct sample_opts *o, struct err *e);

struct sampler;
/* For logits of N_VOCAB tokens.  Copies O with its biases (ids beyond N_VOCAB:
 * ERR_USAGE). */
struct sampler *sampler_new(const struct sample_opts *o, int n_vocab,
                            struct err *e);
void sampler_free(struct sampler *s);

struct sample_top {
    uint32_t id;
    float lp;
};

struct sample_result {
    uint32_t id;
    float lp; /* ln of its probability in the model's own distribution: of the
                 logits as they came */
    struct sample_top *top; /* the NTOP most probable there, in order */
    int ntop;               /* as asked, or what there are; room is the
                               caller's */
};

/* Pick the successor of position POS of sequence SEQ, whose tokens so far are
 * HISTORY[NHIST].  LOGITS are read only.  ERR_FORMAT: a NaN or plus infinity
 * among them, or nothing left to choose from.  ALLOWED, unless NULL: bit I of
 * its words is set where token I may be drawn.  WANT_LP: fill R->lp, and R->top
 * when R->ntop is more than 0. */
int sampler_pick(struct sampler *s, struct sample_result *r,
                 const float *logits, uint64_t seq, uint64_t pos,
                 const int32_t *history, int nhist, const uint64_t *allowed,
                 bool want_lp, struct err *e);

#endif
