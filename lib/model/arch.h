/* SPDX-License-Identifier: MIT
 * arch.h - what an architecture is, and what it is built with.
 *
 * A file of arch/ has one function, which says layer by layer what the model
 * does, in terms of block.h.  Each call binds the weights that it needs and
 * appends operations to the plan.  The first failure sticks: later calls do
 * nothing, so none is tested.
 */
#ifndef LLM_MODEL_ARCH_H
#define LLM_MODEL_ARCH_H

#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "gguf/gguf.h"
#include "model/params.h"

struct build;
struct model_adapter;

enum {
    ARCH_PAIRS = 1,         /* rope turns elements 2i and 2i + 1 */
    ARCH_LAYERNORM = 2,     /* norms subtract the mean and have a bias */
    ARCH_EXPERTS = 4,       /* may have experts: expert_count */
    ARCH_BOTH = 8,          /* an encoder: columns see each other both ways */
    ARCH_FEW_BIASES = 16,   /* with LAYERNORM: a bias may be missing */
    ARCH_FIRST_GLOBAL = 32, /* of layers with windows, the first one of each
                               period sees all, else the last one */
};

struct arch {
    const char *name; /* general.architecture */
    unsigned flags;
    void (*build)(struct build *b);
};

/* A model while it is put together. */
struct build {
    const struct gguf *g;
    struct be *be;
    const struct arch *arch;
    struct params p;
    int context;       /* positions asked for; may differ from P's */
    bool slide;        /* no layer sees more than those */
    bool embed;        /* results are hidden states */
    struct arena *mem; /* the model's: what lives as long as it */
    struct err *e;
    bool bad; /* *E says why */

    struct buf ops; /* struct be_op */
    int width[BE_NSLOT];
    struct be_rope rope[2];
    int nrope;
    struct buf rope_text; /* what the tables are, in words */
    int n_vocab;          /* rows of the embedding and of the output */

    bool *key_seen, *tensor_seen; /* by index in the file */

    const struct model_adapter *adapter; /* [nadapter] */
    int nadapter;
    struct adapt *adapt; /* adapt.c's; NULL without adapters */
};

/* Fail: the path, then the message.  Always returns -1. */
int arch_fail(struct build *b, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
