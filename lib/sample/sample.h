/* SPDX-License-Identifier: MIT
 * sample.h - from logits to a token: the chain of samplers.
 *
 * First come biases and what is ruled out, then the samplers in the order of
 * sample_opts.order; each makes scores less or leaves fewer tokens, at least
 * one.  At the end one of those that are left is drawn.  Probabilities are
 * those of the tokens that are left where the sampler stands, at the
 * temperature of that place.
 *
 * Temperature 0 (or less, and not dynamic) takes the most probable token, the
 * lowest id of equals, after biases, penalties and DRY, whatever the order.
 * Mirostat draws in place of all samplers that leave fewer tokens.
 *
 * A draw depends on (seed, sequence, position), the logits and the history
 * alone: not on what else runs, nor on earlier draws.  Mirostat and adaptive-p
 * go on from what they learned at earlier positions, and only of those.
 */
#ifndef LLM_SAMPLE_SAMPLE_H
#define LLM_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct sample_bias {
    uint32_t id;
    float add; /* -INFINITY: never */
};

enum { SAMPLE_MAX_ORDER = 16, SAMPLE_BREAKERS = 1024 };

/* Append the text of token ID. */
typedef int sample_text_fn(struct buf *out, const void *arg, uint32_t id,
                           struct err *e);

/* With their defaults; sample_options[] has their names and ranges. */
struct sample_opts {
    float temp;              /* 0.8 */
    float dynatemp_range;    /* 0: off */
    float dynatemp_exp;      /* 1 */
    int top_k;               /* 40; 0 or -1: off */
    float top_p;             /* 0.95; 1: off */
    float min_p;             /* 0.05; 0: off */
    float typical;           /* 1: off */
    float top_n_sigma;       /* -1; 0 or less: off */
    float xtc_probability;   /* 0: off */
    float xtc_threshold;     /* 0.1; more than 0.5: off */
    float repeat_penalty;    /* 1: off */
    float presence_penalty;  /* 0: off */
    float frequency_penalty; /* 0: off */
    int repeat_last_n;       /* 64: tokens that penalties look back; -1: all */
    float dry_multiplier;    /* 0: off */
    float dry_base;          /* 1.75 */
    int dry_allowed_length;  /* 2 */
    int dry_penalty_last_n;  /* 64; -1: all */
    int mirostat;            /* 0: off; 1, 2 */
    float mirostat_ent;      /* 5: tau, bits */
    float mirostat_lr;       /* 0.1: eta */
    float adaptive_target;   /* -1; less than 0: off */
    float adaptive_decay;    /* 0.9 */
    int min_keep;            /* 0: what a sampler but top-k leaves at least */
    uint64_t seed;
    bool lp_sampled; /* sample_result's logarithms are those of the last step */
    /* Samplers, see sample_set_order(). */
    unsigned char order[SAMPLE_MAX_ORDER];
    int norder;
    /* Texts that DRY does not look beyond: each a byte, its length, and its
     * bytes.  TEXT is needed while there are any. */
    unsigned char breakers[SAMPLE_BREAKERS];
    int nbreakers; /* bytes */
    sample_text_fn *text;
    const void *text_arg;
    /* The caller's. */
    const struct sample_bias *bias;
    int nbias;
    const uint32_t *never; /* ids that are not drawn; those that are none of
                              the vocabulary are passed over */
    int nnever;
};

/* The options that are numbers. */
struct sample_option {
    const char *name;
    bool integer;
    size_t at; /* in struct sample_opts */
    double least, most;
    const char *rule; /* what a value outside is not */
};
extern const struct sample_option sample_options[];
extern const size_t sample_noptions;

/* The defaults above, seed 0. */
void sample_defaults(struct sample_opts *o);
/* ERR_USAGE naming the option that is out of its range. */
int sample_check(const struct sample_opts *o, struct err *e);
/* The samplers to use, in their order: names with ';' or ',' between them, of
 * penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature and
 * adaptive_p (which is always the last one).  Other spellings of them count
 * too.  Mirostat and adaptive-p besides depend on their own options. */
int sample_set_order(struct sample_opts *o, const char *names, size_t n,
                     struct err *e);
/* The same, written. */
void sample_put_order(struct buf *out, const struct sample_opts *o);
/* One more, of 1 to 64 bytes. */
int sample_add_breaker(struct sample_opts *o, const void *p, size_t n,
                       struct err *e);

struct sampler;
/* For logits of N_VOCAB tokens.  Copies O with its lists (biases of ids beyond
 * N_VOCAB: ERR_USAGE).  ERR_UNSUPPORTED: DRY has breakers and no texts. */
struct sampler *sampler_new(const struct sample_opts *o, int n_vocab,
                            struct err *e);
void sampler_free(struct sampler *s);

/* Of the logits that the next sampler_pick() is given, the greatest of each 16,
 * NaN where one of them is NaN or plus infinity: it need not read them all. */
void sampler_peaks(struct sampler *s, const float *peaks);
/* Does it pick the most probable token?  Then logits may be greater than they
 * are, if EXACT(ARG, id) makes that of a token exact, and true says that it was
 * not, for the next sampler_pick() that wants no LP. */
bool sampler_greedy(const struct sampler *s);
typedef bool sampler_exact_fn(void *arg, uint32_t id);
void sampler_exact(struct sampler *s, sampler_exact_fn *exact, void *arg);

struct sample_top {
    uint32_t id;
    float lp;
};

struct sample_result {
    uint32_t id;
    float lp; /* ln of its probability in the model's own distribution, of the
                 logits as they came; with LP_SAMPLED in that from which it was
                 drawn */
    struct sample_top *top; /* the NTOP most probable there, in order */
    int ntop;               /* as asked, or what there are; room is the
                               caller's */
    bool none;              /* it failed as nothing was left */
};

/* Pick the successor of position POS of sequence SEQ, whose tokens so far are
 * HISTORY[NHIST].  LOGITS are read only.  ERR_FORMAT: a NaN or plus infinity
 * among them, or nothing left to choose from.  ALLOWED, unless NULL: bit I of
 * its words is set where token I may be drawn.  WANT_LP: fill R->lp, and R->top
 * when R->ntop is more than 0.
 *
 * Positions may be picked again, after others too: a pick at POS goes on from
 * the last one before POS, and makes those from POS on forgotten.  A sampler is
 * for one sequence at a time. */
int sampler_pick(struct sampler *s, struct sample_result *r,
                 const float *logits, uint64_t seq, uint64_t pos,
                 const int32_t *history, int nhist, const uint64_t *allowed,
                 bool want_lp, struct err *e);

#endif
