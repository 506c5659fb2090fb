/* SPDX-License-Identifier: MIT
 * trie.h - texts by their beginnings, to be walked with an automaton.
 *
 * Nodes stand in the order of a walk, the first child behind its parent; node 0
 * is the root.  Where nothing goes on, skip[i] is the next node to look at.
 */
#ifndef LLM_GRAMMAR_TRIE_H
#define LLM_GRAMMAR_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct grammar_trie {
    uint32_t n, depth; /* nodes; the longest text */
    uint8_t *byte;     /* [n]: that leads to it */
    uint32_t *skip;    /* [n]: behind all that begins so */
    uint32_t *at;      /* [n + 1]: the first of its texts: those of node I and
                          all below are from at[i] to before at[skip[i]] */
    uint32_t *id;      /* texts, in order */
    size_t memory;
};

struct grammar_text {
    const uint8_t *p;
    uint32_t len, id; /* len > 0 */
};

/* T[N] is sorted. */
int grammar_trie_new(struct grammar_trie **out, struct grammar_text *t,
                     size_t n, struct err *e);
void grammar_trie_free(struct grammar_trie *t);

#endif
