/* SPDX-License-Identifier: MIT
 * peft_impl.h - what the files of adapters share. */
#ifndef LLM_CONVERT_PEFT_IMPL_H
#define LLM_CONVERT_PEFT_IMPL_H

#include <jansson.h>

#include "base/arena.h"
#include "convert/peft.h"

/* A matrix of the base: what it is called, and its shape. */
struct peft_base {
    const char *hf, *gguf;
    uint64_t cols, rows;
    uint64_t turn; /* rows of a head whose halves become pairs; 0 */
    bool part;     /* it is not all of a tensor there: an expert's */
};

struct peft_config {
    json_t *j;
    const char *base;
    double alpha, rank;
    bool root;              /* alpha / sqrt(rank) */
    json_t *alphas, *ranks; /* of modules; NULL */
};

/* adapter_config.json of the folder DIR; every value of it is understood. */
int peft_config_open(struct peft_config *c, const char *dir, struct err *e);
void peft_config_close(struct peft_config *c);
/* What a product of MODULE, of rank R, is multiplied by. */
double peft_config_scale(const struct peft_config *c, const char *module,
                         double r);

#endif
