/* SPDX-License-Identifier: MIT
 * model.h - a GGUF model made ready to run: tokens to logits, or to hidden
 * states.
 *
 *     gguf_open(&g, path, &e);
 *     be_open(&be, "cpu", &o, &e);
 *     model_open(&m, g, be, &mo, &e);
 *     kv_new(&kv, be, model_kv(m), &e) ...
 *     be_run(be, model_plan(m), &step, &logits, &e);
 *
 * model_open() checks everything: an unknown architecture, a missing or
 * misshapen tensor, a type or a hyperparameter that cannot be honoured is
 * refused by name, before anything runs.
 */
#ifndef LLM_MODEL_MODEL_H
#define LLM_MODEL_MODEL_H

#include "backend/backend.h"
#include "gguf/gguf.h"
#include "kv/kv.h"

struct model;
struct adapter; /* adapter.h */

/* An adapter, and how much of it sequences have unless they say otherwise. */
struct model_adapter {
    const struct adapter *a;
    float scale; /* finite */
};

struct model_opts {
    int context; /* positions; 0: what the model was made for */
    enum kern_kv ktype, vtype;
    bool slide; /* no layer sees more than CONTEXT positions back, and
                   sequences may go beyond them */
    /* The results of be_run() are what the last norm gives, not logits.  It is
     * all that an encoder can. */
    bool embed;
    const struct model_adapter *adapter; /* [nadapter] */
    int nadapter;
};
enum { MODEL_MAX_ADAPTERS = 64 };

/* G, BE and adapters must outlive *out.  Sets up plan and weights, not the KV
 * pages. */
int model_open(struct model **out, const struct gguf *g, struct be *be,
               const struct model_opts *o, struct err *e);
void model_close(struct model *m);

struct be_plan *model_plan(const struct model *m);
struct be *model_be(const struct model *m);
const struct gguf *model_gguf(const struct model *m);
/* Rows of the output: logits of a column.  Ids at or beyond the tokenizer's
 * count have no text and are never sampled. */
int model_n_vocab(const struct model *m);
/* Floats of a result: model_n_vocab(), or, of what embeds, the hidden size. */
int model_width(const struct model *m);
/* Do columns see each other both ways?  Then a step holds whole sequences, and
 * at most model_context() columns.  Never so in decoders. */
bool model_both(const struct model *m);
/* How the file says that results become one vector. */
enum model_pooling {
    MODEL_POOL_UNSAID = -1,
    MODEL_POOL_NONE,
    MODEL_POOL_MEAN,
    MODEL_POOL_CLS,
    MODEL_POOL_LAST,
    MODEL_POOL_RANK
};
enum model_pooling model_pooling(const struct model *m);
/* Positions that a sequence may have, and those the model was made for. */
int model_context(const struct model *m);
int model_trained_context(const struct model *m);
const char *model_arch(const struct model *m);
/* How many adapters it has; and the words for a sequence that has SCALE[] of
 * each, appended to OUT: kv_adapt's text. */
int model_adapters(const struct model *m);
void model_adapt_text(struct buf *out, const struct model *m,
                      const float *scale);
/* Layers, types, id, rope parameters and adapters; the caller sets positions,
 * max_batch and nseq.  Lives as long as M. */
const struct kv_config *model_kv(const struct model *m);

#endif
