/* SPDX-License-Identifier: MIT
 * plan.h - which type each tensor of a model is to have. */
#ifndef LLM_QUANTIZE_PLAN_H
#define LLM_QUANTIZE_PLAN_H

#include <regex.h>

#include "quantize/imatrix.h"
#include "quantize/quantize.h"
#include "quantize/recipe.h"

/* Tensors whose name has a match become TYPE; the first that matches counts. */
struct plan_override {
    regex_t regex;
    uint32_t type;
};

/* No type: nothing is said. */
enum { PLAN_NONE = UINT32_MAX };

struct plan_want {
    const struct recipe *recipe;
    const struct plan_override *override;
    int noverride;
    uint32_t embedding, output; /* a type, or PLAN_NONE */
    bool pure;                  /* the recipe's type for all that it changes */
    bool requant;  /* what is quantised already may be quantised again */
    bool fallback; /* another type where rows are no whole blocks */
    const struct imatrix *imatrix;
};

struct plan_tensor {
    const struct gguf_tensor *t;
    enum recipe_role role;
    uint32_t type;
    bool asked;          /* by its name */
    uint32_t instead_of; /* the type that it fell back from, or PLAN_NONE */
    const float *w;      /* weights of its columns, or NULL */
    uint64_t bytes;
    double error; /* part of its (weighted) squares; -1: not measured */
};

struct plan {
    struct plan_tensor *tensor; /* in the order of the file */
    size_t n;
    uint64_t bytes, from; /* of all tensors, new and old */
    uint64_t elements;
    size_t requantised, fellback;
    struct gguf_config config;
};

/* Fill *P.  ERR_UNSUPPORTED names the tensor that cannot become what it should.
 * plan_fini() in every case. */
int plan_make(struct plan *p, const struct gguf *g, const struct quantize *q,
              const struct plan_want *want, struct err *e);
void plan_fini(struct plan *p);

/* Give tensor K the type, or what it falls back to, or say why it cannot have
 * it. */
int plan_set(struct plan *p, struct plan_tensor *k, uint32_t type,
             const struct quantize *q, const struct plan_want *want,
             struct err *e);
/* The same plan, for other types. */
int plan_copy(struct plan *to, const struct plan *p, struct err *e);
void plan_copy_fini(struct plan *p);
/* The number of the layer in a tensor's name, or -1. */
int64_t plan_layer(struct gguf_str name);
/* Is it among those whose type may be chosen? */
bool plan_free(const struct plan_tensor *k, const struct plan_want *want);

#endif
