/* SPDX-License-Identifier: MIT
 * draft_model.h - guesses of another, smaller model. */
#ifndef LLM_RUN_DRAFT_MODEL_H
#define LLM_RUN_DRAFT_MODEL_H

#include "draft/draft.h"
#include "kv/kv.h"
#include "model/model.h"
#include "tok/tok.h"

struct draft_model_opts {
    struct model *model; /* all of these stay the caller's */
    struct kv *kv;       /* for as many sequences as run at once */
    const struct tok *tok;
    const struct tok *target; /* NULL: the same vocabulary.  Else that of the
                                 tokens that are guessed: texts go over */
    int chunk;                /* tokens of a prompt to run at once */
};

/* With one vocabulary it picks by the sequence's own sampler (draft_open() gets
 * the struct run_request): what the greater model will draw by the same random
 * number. */
struct drafter *draft_model(const struct draft_model_opts *o, struct err *e);

#endif
