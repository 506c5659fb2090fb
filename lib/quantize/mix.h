/* SPDX-License-Identifier: MIT
 * mix.h - a type for each tensor, so that a model of a given size loses least.
 *
 * What is to be lost is a table: for each tensor and each type a number, of
 * which the sum is to be small.  Here it is the part of the tensor's (weighted)
 * squares that the type would lose, which says how much of what the tensor
 * computes would be noise; another measure is another table. */
#ifndef LLM_QUANTIZE_MIX_H
#define LLM_QUANTIZE_MIX_H

#include "quantize/run.h"

enum { MIX_NTYPE = 13 };

struct mix {
    struct mix_row {
        size_t tensor; /* of the plan */
        int n;         /* types, from the least bytes to the most */
        uint32_t type[MIX_NTYPE];
        uint64_t bytes[MIX_NTYPE];
        double loss[MIX_NTYPE];
        int taken;
    } * row;
    size_t n;
    uint64_t rest; /* bytes of tensors that have no choice */
};

/* The table of P's tensors that may be chosen: all types that their rows fit,
 * and that which they have, but not what is no smaller and loses more. */
int mix_measure(struct mix *m, const struct plan *p,
                const struct plan_want *want, const struct quantize_run *r,
                struct err *e);
/* The losses of row R are others now. */
void mix_hull(struct mix_row *r);
/* Take the types whose sum of losses is least, or nearly, at no more than
 * BYTES for all tensors.  ERR_UNSUPPORTED where that is too few; it says how
 * many it takes. */
int mix_choose(struct mix *m, uint64_t bytes, struct err *e);
/* Take the types that are least, or nearly, whose sum of losses is at most
 * LOSS; where there are none, those that lose least. */
int mix_within(struct mix *m, double loss, struct err *e);
/* What is taken: the sum of its losses, and its bytes. */
double mix_loss(const struct mix *m);
uint64_t mix_bytes(const struct mix *m);
/* Give P what is taken. */
int mix_apply(const struct mix *m, struct plan *p, const struct quantize *q,
              const struct plan_want *want, struct err *e);
void mix_fini(struct mix *m);

#endif
