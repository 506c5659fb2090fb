/* SPDX-License-Identifier: MIT
 * check.h - texts against a grammar, for grammar-check. */
#ifndef LLM_CMD_CHECK_H
#define LLM_CMD_CHECK_H

#include "cmd/common/constrain.h"

struct check {
    struct grammar *g;
    const struct tok *tok; /* texts are taken as its tokens; NULL: bytes */
    struct tok_enc *enc;
    struct grammar_vocab vocab;
};

/* Where the text P[N] leads, from the start on.  *BAD, unless all of it may
 * stand: the first byte of what may not.  Exits when limits are used up. */
uint32_t check_state(const struct check *c, const void *p, size_t n,
                     size_t *bad);

/* One line on standard output: what P[N] is, and the text itself.  Does it
 * match? */
bool check_text(const struct check *c, const void *p, size_t n);

/* What may come after STATE: bytes, or tokens where there is a vocabulary. */
void check_next(const struct check *c, uint32_t state);

#endif
