/* SPDX-License-Identifier: MIT
 * picker.h - the sampler of a sequence that is continued. */
#ifndef LLM_RUN_PICKER_H
#define LLM_RUN_PICKER_H

#include "run/run.h"

/* What Q asks for, for logits of N_VOCAB tokens of T; tokens that are none, and
 * those that end a text where Q has no end, are never picked. */
int picker_new(struct sampler **out, const struct run_request *q,
               const struct tok *t, int n_vocab, struct err *e);

#endif
