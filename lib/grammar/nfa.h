/* SPDX-License-Identifier: MIT
 * nfa.h - nondeterministic automata, made from the end of a text backwards.
 *
 * Each call makes a node before others and gives its number: what is before
 * NEXT.  Node 0 is where a text ends.  The first failure sticks and is
 * nfa_dfa()'s.
 */
#ifndef LLM_GRAMMAR_NFA_H
#define LLM_GRAMMAR_NFA_H

#include "base/buf.h"
#include "grammar/dfa_impl.h"
#include "grammar/intern.h"

enum nfa_kind { NFA_END, NFA_SET, NFA_SPLIT, NFA_BEGIN, NFA_LAST };

struct nfa_node {
    uint8_t kind;
    uint32_t to, other; /* OTHER: of a split; of NFA_SET, the set */
};

struct nfa {
    bool bytes;
    struct buf node;   /* struct nfa_node */
    struct intern set; /* pairs: first symbol, and the one after the last */
    struct err err;
    uint64_t steps, max_steps; /* of nfa_dfa(): taken; 0: DFA_MAX_STEPS */
};

enum { NFA_MAX = 200000 };

int nfa_init(struct nfa *m, bool bytes, struct err *e);
void nfa_fini(struct nfa *m);
/* A symbol of SET: sorted and disjoint pairs, 2 N words. */
uint32_t nfa_set(struct nfa *m, const uint32_t *set, size_t n, uint32_t next);
uint32_t nfa_split(struct nfa *m, uint32_t a, uint32_t b);
/* A split that nfa_join() completes: for loops. */
uint32_t nfa_loop(struct nfa *m, uint32_t next);
void nfa_join(struct nfa *m, uint32_t loop, uint32_t body);
/* What nothing comes from. */
uint32_t nfa_never(struct nfa *m);
/* NFA_BEGIN, only at the start of the text; NFA_LAST, only at its end. */
uint32_t nfa_anchor(struct nfa *m, enum nfa_kind kind, uint32_t next);
/* A text of D, and then NEXT. */
uint32_t nfa_dfa_before(struct nfa *m, const struct dfa *d, uint32_t next);
/* Is a node of KIND ahead of FROM? */
bool nfa_has(struct nfa *m, uint32_t from, enum nfa_kind kind);

/* Sets as they are collected: add code points FIRST to LAST; make it sorted and
 * disjoint, or all the others; add those with a property of Unicode, if NAME[N]
 * is one that is known. */
void nfa_range(struct buf *set, uint32_t first, uint32_t last);
void nfa_normalize(struct buf *set, bool negated);
void nfa_property(struct buf *set, const unsigned char *name, size_t n);

/* All texts from START on to the end, minimal. */
int nfa_dfa(struct dfa **out, struct nfa *m, uint32_t start, struct err *e);

#endif
