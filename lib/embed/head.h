/* SPDX-License-Identifier: MIT
 * head.h - what a model has behind pooling: layers of a sentence transformer
 * (dense_2, dense_3), or a classifier (cls, cls.norm, cls.output).
 *
 * Few numbers go through it, once for each text: sums are in double, in order.
 */
#ifndef LLM_EMBED_HEAD_H
#define LLM_EMBED_HEAD_H

#include "gguf/gguf.h"
#include "model/model.h"

struct embed_head;

/* Those of a classifier when RANK is true, and then there must be some:
 * ERR_UNSUPPORTED.  M must outlive it. */
int embed_head_open(struct embed_head **out, const struct model *m, bool rank,
                    struct err *e);
void embed_head_free(struct embed_head *h);
/* Floats of its result; of what goes in, where there are no layers. */
int embed_head_width(const struct embed_head *h);
/* IN[model_width()] through all layers to OUT[embed_head_width()]. */
void embed_head_run(struct embed_head *h, float *out, const float *in);

/* The name of a classifier's output I; empty where the model has none. */
struct gguf_str embed_head_label(const struct embed_head *h, int i);

#endif
