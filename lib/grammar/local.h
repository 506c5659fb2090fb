/* SPDX-License-Identifier: MIT
 * local.h - which tokens stay in a terminal, from one of its places on, and
 * which leave it and how, whatever comes after it.
 *
 * In a repetition the terminal begins again behind itself, and a token NEEDS so
 * many times of it: the one that has begun counts.
 */
#ifndef LLM_GRAMMAR_LOCAL_H
#define LLM_GRAMMAR_LOCAL_H

#include "grammar/grammar_impl.h"
#include "grammar/trie.h"

struct local_way {
    uint32_t times; /* of the terminal that are complete */
    struct grammar_trie
        *rest; /* of tokens, behind the part that is the terminal's */
};

struct local {
    uint32_t need;  /* the most that one needs */
    uint32_t *upto; /* [need + 1]: ids that need no more */
    uint32_t *id;   /* those that stay, by need; NULL where only bits count */
    uint64_t *bits; /* of all; NULL where they are few */
    uint32_t nway;
    struct local_way *way;
    size_t memory;
};

/* From place P on; AGAIN, unless UNKNOWN, is where the terminal begins that
 * repeats. */
struct local *local_new(const struct grammar *g, uint32_t p, uint32_t again,
                        struct err *e);
void local_free(struct local *l);

#endif
