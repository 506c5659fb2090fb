/* SPDX-License-Identifier: MIT
 * adapt.h - what adapters add to the products of a model, while it is built.
 *
 * A product is appended as ever; adapt_add() notes that adapters belong to it,
 * and adapt_end() appends what they do, for all products of one input
 * together: their first ones beside those, their second ones behind them. */
#ifndef LLM_MODEL_ADAPT_H
#define LLM_MODEL_ADAPT_H

#include <stdbool.h>

#include "backend/backend.h"
#include "gguf/gguf.h"

struct build;

/* Before all else: the adapters of the build fit its architecture. */
int adapt_begin(struct build *b);
void adapt_free(struct build *b);

/* W is of tensor T: its rows from FIRST on, N of them. */
void adapt_bound(struct build *b, be_w w, const struct gguf_tensor *t,
                 int first, int n);
/* Is any adapter for W? */
bool adapt_has(const struct build *b, be_w w);
/* What they make of W's input comes to OUT, times SCALE; FLAGS as in be_op. */
void adapt_add(struct build *b, be_w w, enum be_slot out, float scale,
               unsigned flags);
void adapt_end(struct build *b, enum be_slot in);

/* At the end: every tensor of every adapter was asked for. */
void adapt_unknown(struct build *b);

#endif
