/* SPDX-License-Identifier: MIT
 * job.h - tokens that are read for their log-probabilities, many lists of them
 * together, by one model or by two that are compared.
 *
 *     score_new(&s, &config, &e);
 *     while (score_free_slots(s) && more)
 *         score_add(s, &job, &e);
 *     while (score_busy(s))
 *         score_step(s, &e);
 *
 * What is said of a job does not depend on the others.
 */
#ifndef LLM_SCORE_JOB_H
#define LLM_SCORE_JOB_H

#include "run/step.h"
#include "score/dist.h"

struct score_job {
    const int32_t *tok; /* N tokens, at least 1; the caller's until its end */
    int n;
    int from;  /* the first of them that is scored, at least 1; N: none is */
    bool keep; /* what was read stays for others, which begin with it, until
                  score_drop() */
    struct score_job *begin; /* such a job that has ended, whose tokens are the
                                first of this one; or NULL */
    /* What model[0] reads it with, the caller's until its end; NULL: as ever.
     * One that begins with another has what that has. */
    const struct kv_adapt *adapt;
    void *data; /* the caller's */
    /* private */
    struct kv_seq *kv[2];
    int read;
    struct score_job *next;
};

/* Of token TOK[I] of JOB: its logits, and those of the other model, which are
 * B's and whose V is NULL where there is none.  Called by many threads at once,
 * in no order, each with its WORKER number. */
typedef int score_token_fn(void *arg, struct score_job *job, int i,
                           const struct score_dist *a,
                           const struct score_dist *b, int worker,
                           struct err *e);
/* JOB has ended; WHY it failed, or NULL. */
typedef int score_end_fn(void *arg, struct score_job *job,
                         const struct err *why, struct err *e);

struct score_config {
    int context;            /* most tokens of a job */
    struct model *model[2]; /* [1]: the other, or NULL; the caller's */
    struct kv *kv[2];       /* for 2 * BATCH sequences */
    int batch;              /* jobs at once */
    int chunk;              /* tokens at once */
    int threads;            /* for what comes after logits */
    score_token_fn *token;
    score_end_fn *end;
    void *arg;
};

struct score;
int score_new(struct score **out, const struct score_config *c, struct err *e);
void score_free(struct score *s);
/* How many workers there are. */
int score_workers(const struct score *s);
int score_free_slots(const struct score *s);
int score_busy(const struct score *s);
/* Take JOB, which stays where it is until its end.  It waits when there is no
 * room; one that begins with another goes before those that do not. */
void score_add(struct score *s, struct score_job *job);
int score_step(struct score *s, struct err *e);
/* Forget what JOB, which has ended, has kept. */
void score_drop(struct score_job *job);

#endif
