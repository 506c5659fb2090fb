/* SPDX-License-Identifier: MIT
 * regex_impl.h - between the two halves of the pattern compiler: regex_parse.c
 * makes a program, regex.c an automaton of it. */
#ifndef LLM_TOK_REGEX_IMPL_H
#define LLM_TOK_REGEX_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    MAX_SETS = 64,     /* a class is told apart by one bit per set */
    MAX_CLASSES = 256, /* one byte per character */
    MAX_PROG = 8192,
    MAX_NODES = 2048,
    MAX_RANGES = 1024,
    MAX_DEPTH = 32,
    MAX_REPEAT = 1000,
};

struct range {
    uint32_t lo, hi;
};

/* Characters: those whose unicode_class() has its bit in BITS, and those in
 * RANGES[first..first+n), or everything else when NEGATED. */
struct set {
    uint64_t bits[4];
    int first, n;
    bool negated;
};

enum node_kind { N_EMPTY, N_SET, N_CAT, N_ALT, N_REPEAT, N_LOOK, N_END };

struct node {
    enum node_kind kind;
    int a, b;     /* children; N_SET and N_LOOK: a = set */
    int min, max; /* N_REPEAT; max -1 = no limit.  N_LOOK: min = 1 negative */
};

enum op { OP_SET, OP_FORK, OP_JUMP, OP_LOOK, OP_NLOOK, OP_END, OP_MATCH };

struct inst {
    enum op op;
    int x, y; /* OP_FORK: first and second choice; OP_JUMP: x; else set x */
};

struct compiler {
    const char *pattern, *p; /* what is left of it */
    const char *wrong;       /* the first thing that was wrong */
    int depth;
    bool nocase;
    struct set sets[MAX_SETS];
    int nset;
    struct range ranges[MAX_RANGES];
    int nrange;
    struct node nodes[MAX_NODES];
    int nnode;
    struct inst prog[MAX_PROG];
    int nprog;
    /* the automaton while it is built */
    uint64_t member[MAX_CLASSES]; /* which sets hold a class */
    struct buf lists;             /* int: the states' lists, end to end */
    struct buf states;            /* struct state */
    int seen[MAX_PROG], mark;
    int stack[MAX_PROG + 2];
};

/* Note WHAT is wrong, unless something was before; 0, a harmless node. */
static inline int wrong(struct compiler *c, const char *what)
{
    if (!c->wrong)
        c->wrong = what;
    return 0;
}

/* c->pattern to c->sets, c->ranges and c->prog, which ends in OP_MATCH; or
 * c->wrong, with c->p where it was met. */
void regex_parse(struct compiler *c);

#endif
