/* SPDX-License-Identifier: MIT
 * bind.h - weights by name, each with exactly the shape that it must have.
 *
 * A name has its layer before it, "blk.3.", unless the layer is below 0; 0
 * comes back when the tensor is absent, or after a failure. */
#ifndef LLM_MODEL_BIND_H
#define LLM_MODEL_BIND_H

#include <stdbool.h>

#include "backend/backend.h"

struct build;

enum {
    BIND_OPTIONAL = 1, /* but in all layers or in none */
    BIND_LOOKUP = 2,   /* rows are looked up */
};

/* W[n_out][n_in]; N_MAT > 0: as many of them (a tensor of 3 dimensions). */
be_w bind_matrix(struct build *b, int layer, const char *name, int n_in,
                 int n_out, int n_mat, unsigned flags);
/* Rows FIRST..FIRST+N_OUT-1 of a matrix that has N_ALL. */
be_w bind_rows(struct build *b, int layer, const char *name, int n_in,
               int n_all, int first, int n_out);
/* N floats, and those from FIRST on of a vector of N_ALL. */
be_w bind_vector(struct build *b, int layer, const char *name, int n,
                 unsigned flags);
be_w bind_part(struct build *b, int layer, const char *name, int n_all,
               int first, int n, unsigned flags);
/* A vector of F32 for the model's own use; NULL when it is not there. */
const float *bind_floats(struct build *b, const char *name, int n);

bool bind_has(struct build *b, const char *name);
bool bind_has_layer(struct build *b, int layer, const char *name);

/* Every tensor has been bound. */
void bind_unknown(struct build *b);

#endif
