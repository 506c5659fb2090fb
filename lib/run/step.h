/* SPDX-License-Identifier: MIT
 * step.h - one pass of a model over some tokens of some sequences. */
#ifndef LLM_RUN_STEP_H
#define LLM_RUN_STEP_H

#include "kv/kv.h"
#include "model/model.h"

/* Arrays of a step's columns, kept from one step to the next. */
struct step;
struct step *step_new(struct model *m, struct kv *kv, struct err *e);
void step_free(struct step *s);

enum step_want { STEP_NONE, STEP_LAST, STEP_ALL, STEP_FIRST };

/* The next N tokens of SEQ, and for which of them logits are wanted. */
struct step_part {
    struct kv_seq *seq;
    const int32_t *tok;
    int n;
    enum step_want want;
    bool best;           /* the greatest of them is: see be_exact() */
    const int32_t *type; /* of each token; NULL: all 0 */
    bool forget; /* SEQ shall not have them: they saw both ways, and mean
                    nothing to what follows */
};

/* Run all parts as one batch: each sequence then has its tokens.  *LOGITS are
 * those wanted, part after part, [model_width()] each, until the next call;
 * NULL when none are.  -1: no sequence has changed.  ERR_NOMEM: the KV cache
 * is full, or memory. */
int step_run(struct step *s, const struct step_part *part, int npart,
             const float **logits, struct err *e);

/* See be_exact(). */
bool step_exact(const struct step *s, uint32_t id);
/* The peaks, see be_peaks(), of the row LOGITS of those. */
const float *step_peaks(const struct step *s, const float *logits);

/* Make *S ready to read the tokens T[N]: what it has and what agrees with them
 * stays, but for the last, which is left to run; else it becomes what other
 * sequences leave (kv_seq_match()), at worst empty.  Its adapters stay.  *S may
 * be NULL. */
int step_begin(struct kv *kv, struct kv_seq **s, const int32_t *t, int n,
               struct err *e);

/* May the prompt T[N] be run in a context of MOST tokens (0: of any length)?
 * ERR_CONTEXT; ERR_FORMAT: an id that is none of the model's. */
int step_check(const struct model *m, const int32_t *t, int n, int most,
               struct err *e);

#endif
