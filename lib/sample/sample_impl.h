/* SPDX-License-Identifier: MIT
 * sample_impl.h - what the files of sample share: the tokens that are left to
 * choose from, and the steps that make them less.
 *
 * Weights are exp((score - greatest score) / temperature) as floats; their sums
 * are doubles, in a fixed order, so that results are the same bits everywhere.
 * The temperature is kept beside the scores: changing it costs nothing, and
 * does not change their order.
 */
#ifndef LLM_SAMPLE_IMPL_H
#define LLM_SAMPLE_IMPL_H

#include "kernels/kern.h"
#include "sample/sample.h"
#include "sample/select.h"

/* Samplers, as sample_opts.order has them: the default order. */
enum order {
    ORDER_PENALTIES,
    ORDER_DRY,
    ORDER_TOP_N_SIGMA,
    ORDER_TOP_K,
    ORDER_TYPICAL,
    ORDER_TOP_P,
    ORDER_MIN_P,
    ORDER_XTC,
    ORDER_TEMPERATURE,
    ORDER_ADAPTIVE_P,
    ORDER_KINDS
};
enum { ORDER_BREAKER = 64 /* bytes of a breaker */ };

/* The tokens that are left.  At first all: those of X that ALLOWED has (NULL:
 * each) and whose score is not minus infinity.  Then those of a list. */
struct choice {
    const float *x;     /* scores: the logits, or WORK; right for all in LIST */
    const float *peaks; /* of X, for select_scan(); or NULL */
    const uint64_t *allowed;
    bool all;      /* else LIST[N], which is */
    bool by_score; /* in the order of scores, or of ids */
    bool scanned;  /* while ALL: MAX and TOP are right */
    bool none;     /* all are ruled out */
    uint64_t *list;
    size_t n;
    float top;  /* the greatest score */
    float temp; /* divides scores */
};

/* What a step learned at a position. */
struct memory {
    uint64_t pos;
    double a, b;
};

struct sampler {
    struct sample_opts o; /* its lists are this struct's own */
    struct sample_bias *bias;
    size_t n;
    kern_unary_fn *exp;
    float *max;       /* of each block of scores */
    uint64_t *list;   /* [n]: tokens that are left; and as much to sort them */
    float *w;         /* [n]: weights, of the list or of all */
    float *work;      /* [n]: scores that were changed; or NULL */
    uint32_t *count;  /* [n]: zeros between calls; NULL without penalties */
    uint64_t *never;  /* bits of what is not ruled out */
    bool some_never;  /* some is */
    uint64_t *masked; /* room: and what the caller allows */
    int32_t *repeat;  /* DRY's lengths */
    size_t room;      /* of them */
    struct buf text;
    struct memory *memory;
    size_t nmemory, memory_cap;
    const float *peaks;      /* of the next logits; or NULL */
    sampler_exact_fn *exact; /* the same */
    void *exact_arg;
    struct choice c;
    double u, other; /* random numbers of this place */
    struct {
        float top, temp;
        double z;
    } was; /* the choice before adaptive-p */
};

/* ---- choice.c: the tokens that are left, s->c ---- */

/* The greatest score and those of blocks; ERR_FORMAT when a score is none, or
 * nothing is left. */
int choice_scan(struct sampler *s, struct err *e);
/* As many as the list has, or all; in blocks: the scores of block B, minus
 * infinity for those that are none.  In ROOM, or where they are. */
size_t choice_size(const struct sampler *s);
const float *choice_block(const struct sampler *s, float *room, size_t b);
/* How many are left, and the standard deviation of their scores. */
size_t choice_count(const struct sampler *s);
double choice_deviation(const struct sampler *s);
/* Put weights into s->w, of all or of the list; their sum. */
double choice_weigh(struct sampler *s);
/* Mean of (score - greatest score) / temperature, by those weights, whose sum
 * is Z. */
double choice_mean(const struct sampler *s, double z);
/* From all to a list by id: those at most REACH below the greatest score at
 * this temperature, and maybe some more.  All is still there: c.all may be set
 * again.  A list stays as it is. */
void choice_gather(struct sampler *s, double reach);
void choice_list(struct sampler *s);
/* To a list in this order. */
void choice_sort(struct sampler *s);
void choice_by_id(struct sampler *s);
/* To the K greatest, by score; to the first KEEP of a list. */
void choice_top(struct sampler *s, size_t k);
void choice_cut(struct sampler *s, size_t keep);
/* Scores that may be changed for ids below s->n; choice_edited() then. */
float *choice_edit(struct sampler *s);
void choice_edited(struct sampler *s);

/* (score - greatest) / temperature */
static inline float choice_below(const struct choice *c, float score)
{
    return (score - c->top) / c->temp;
}

/* ---- the steps ---- */

void cut_top_k(struct sampler *s);
void cut_top_p(struct sampler *s);
void cut_min_p(struct sampler *s);
void cut_typical(struct sampler *s);
void cut_top_n_sigma(struct sampler *s);
void cut_xtc(struct sampler *s);
void temperature_apply(struct sampler *s);
void target_mirostat(struct sampler *s);
void target_adaptive_p(struct sampler *s);
/* These change scores by what was there before. */
void penalty_bias(struct sampler *s);
void penalty_repeat(struct sampler *s, const int32_t *history, int n);
int penalty_dry(struct sampler *s, const int32_t *history, int n,
                struct err *e);

/* What mirostat and adaptive-p keep of earlier positions, and learn: ID was
 * drawn with probability P. */
int target_begin(struct sampler *s, uint64_t pos, struct err *e);
void target_learn(struct sampler *s, uint64_t pos, uint32_t id, double p);

#endif
