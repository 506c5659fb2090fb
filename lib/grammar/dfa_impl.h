/* SPDX-License-Identifier: MIT
 * dfa_impl.h - what an automaton is made of, for those that make them.
 *
 * Symbols are code points without the surrogates, moved together (dfa_symbol),
 * or bytes.  They fall into classes that all states treat alike.
 */
#ifndef LLM_GRAMMAR_DFA_IMPL_H
#define LLM_GRAMMAR_DFA_IMPL_H

#include "grammar/dfa.h"

struct dfa {
    uint32_t n;      /* states; 0 is the start */
    uint32_t nclass; /* of symbols */
    uint32_t nrange; /* of symbols: from first[i] to before first[i + 1] */
    uint32_t *first; /* [nrange], from 0 on */
    uint32_t *class; /* [nrange] */
    uint32_t *next;  /* [n][nclass]: all are there */
    uint8_t *ends;   /* [n]: may a text end here? */
    bool bytes;
};

enum {
    DFA_SYMBOLS = 0x10f800,    /* of code points; 256 of bytes */
    DFA_MAX_STATES = 200000,   /* of one automaton */
    DFA_MAX_CELLS = 2u << 20,  /* states by classes */
    DFA_MAX_STEPS = 24u << 20, /* to find the states of one */
};

static inline uint32_t dfa_symbol(uint32_t cp)
{
    return cp < 0xd800 ? cp : cp < 0xe000 ? 0xd800 : cp - 0x800;
}

static inline uint32_t dfa_code_point(uint32_t symbol)
{
    return symbol < 0xd800 ? symbol : symbol + 0x800;
}

/* The class of a symbol. */
uint32_t dfa_class(const struct dfa *a, uint32_t symbol);
/* Room for N states, NCLASS classes and NRANGE ranges; NULL when there is
 * none, and E says so. */
struct dfa *dfa_new(size_t n, size_t nclass, size_t nrange, bool bytes,
                    struct err *e);
/* Fewest states and classes, numbered as they are reached. */
int dfa_minimize(struct dfa *a, struct err *e);
/* The state from which nothing is matched, or A->n where there is none. */
uint32_t dfa_dead(const struct dfa *a);
int dfa_too_large(struct err *e);

#endif
