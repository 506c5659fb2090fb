/* SPDX-License-Identifier: MIT
 * recipe.h - the mixes of types that people know by name. */
#ifndef LLM_QUANTIZE_RECIPE_H
#define LLM_QUANTIZE_RECIPE_H

#include <stdbool.h>

#include "gguf/config.h"

struct recipe {
    const char *name;   /* "Q4_K_M" */
    uint32_t file_type; /* general.file_type */
    uint32_t type;      /* of most tensors */
};

enum { RECIPE_KEEP = UINT32_MAX }; /* as .type: what each tensor has */

/* By name, in either case, or NULL; in order, NULL after the last. */
const struct recipe *recipe_find(const char *name);
const struct recipe *recipe_at(size_t i);

/* What a tensor is for, as far as recipes tell. */
enum recipe_role {
    RECIPE_FIXED,  /* keeps its type: norms, biases, routers and such */
    RECIPE_EMBED,  /* token embeddings */
    RECIPE_OUTPUT, /* what makes the logits, be it the embeddings or not */
    RECIPE_V,      /* attention: V, or Q, K and V in one */
    RECIPE_K,
    RECIPE_O,    /* attention: output */
    RECIPE_DOWN, /* feed-forward: down */
    RECIPE_REST
};

enum recipe_role recipe_role(const struct gguf *g, const struct gguf_tensor *t);

/* Where a tensor stands among its like. */
struct recipe_place {
    enum recipe_role role;
    int64_t at, of; /* its layer of how many; of V: which V */
    bool expert;    /* a matrix for each expert */
    bool whole;     /* rows are whole blocks of the recipe's type */
    bool imatrix;
    int64_t shared; /* heads to a K and V, the most of a layer */
    const struct gguf_config *config;
};

/* For .shared. */
int64_t recipe_sharing(const struct gguf_config *c);

/* What R makes of a tensor that is not RECIPE_FIXED. */
uint32_t recipe_type(const struct recipe *r, const struct recipe_place *p);

#endif
