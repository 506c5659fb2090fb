/* SPDX-License-Identifier: MIT
 * grammar_impl.h - what a grammar is made of.
 *
 * Terminals are automata over bytes; their states are places, numbered through.
 * Nodes put them together.  A frame is a node that is under way: where in it,
 * and a count or a set; a stack is a frame on another stack, and equal ones are
 * one.  A configuration is a place on a stack, and a state a set of these.
 *
 * A frame is pushed only where something is to be matched that is not empty:
 * whether a node may be empty is known beforehand.  So nothing goes round in
 * circles, and where the last part of a sequence begins its frame is gone.
 */
#ifndef LLM_GRAMMAR_GRAMMAR_IMPL_H
#define LLM_GRAMMAR_GRAMMAR_IMPL_H

#include "base/buf.h"
#include "grammar/build.h"
#include "grammar/grammar.h"
#include "grammar/intern.h"

/* The words of a node: its kind, and then: */
enum node_kind {
    NODE_NEVER,   /* node 0 */
    NODE_EMPTY,   /* */
    NODE_TERM,    /* its first place */
    NODE_TOKEN,   /* id, 1: all but this one */
    NODE_SEQ,     /* nodes */
    NODE_ALT,     /* nodes */
    NODE_REPEAT,  /* node, min, max */
    NODE_MEMBERS, /* separator, min, max, then node and flags of each */
    NODE_RULE,    /* its number */
};
enum { NODE_NOLIMIT = UINT32_MAX, MEMBER_REQUIRED = 1, MEMBER_AGAIN = 2 };

struct edge {
    uint8_t first, last; /* bytes */
    uint32_t to;         /* place */
};

struct rule {
    uint32_t body;    /* node; 0, and not DEFINED */
    uint32_t name, n; /* in names */
    bool defined;
};

/* What both a grammar and one under construction have. */
struct machine {
    struct intern node;
    struct buf rule;  /* struct rule */
    struct buf names; /* of rules */
    struct buf edge;  /* struct edge: of each place in order, sorted */
    struct buf place; /* uint32_t: its first edge; one more than places */
    struct buf ends;  /* uint8_t by place: may a text end here? */
};

static inline const struct edge *machine_edges(const struct machine *m,
                                               uint32_t place, uint32_t *n)
{
    const uint32_t *at = (const uint32_t *)(const void *)m->place.p + place;

    *n = at[1] - at[0];
    return (const struct edge *)(const void *)m->edge.p + at[0];
}

static inline uint32_t machine_places(const struct machine *m)
{
    return (uint32_t)m->ends.n;
}

static inline struct rule *machine_rule(const struct machine *m, uint32_t i)
{
    return (struct rule *)(void *)m->rule.p + i;
}

static inline uint32_t machine_rules(const struct machine *m)
{
    return (uint32_t)(m->rule.n / sizeof(struct rule));
}

void grammar_machine_free(struct machine *m);

enum {
    MAX_NODES = 1000000,
    MAX_PLACES = 2000000,
    MAX_EDGES = 4000000,
    MAX_CONFIGS = 20000, /* of a state */
    MAX_DEPTH = 100000,  /* of a stack */
    MAX_STEPS = 200000,  /* from a state to the next */
    MAX_WORK = 12000000, /* steps to all states; and for each of them: */
    STATE_WORK = 1000,
    MAX_MEMORY = 80u << 20, /* of states */
    MASK_SLOTS = 128,       /* masks kept */
    UNKNOWN = UINT32_MAX,   /* a state that was not looked for */
    TOKEN_PLACE = 1u << 31, /* the place of a token's node is this + node */
};

struct grammar_trie;
struct local;
struct mask_at {
    uint32_t state, end; /* END: the node behind all below */
};

/* Where a state goes: most have few ways that are ever taken. */
struct next {
    uint32_t *row; /* by class; NULL: these: */
    uint32_t to[3];
    uint8_t class[3], n;
};

struct grammar {
    struct machine m;
    uint8_t *nullable, *productive; /* by node */
    uint32_t *target;               /* by node: what a rule stands for */
    uint32_t root, start;           /* node; state */
    uint8_t class[256];             /* of bytes; a byte of each */
    uint8_t byte[256];
    uint32_t nclass;

    struct intern stack; /* parent, node, place in it, count or set */
    struct buf depth;    /* uint32_t by stack */
    struct buf back;     /* uint32_t by stack: the state it returns to */
    struct intern set;   /* of members: how many, then bits */
    struct intern state; /* 1: may end; then configurations */
    struct buf next;     /* struct next by state */
    size_t rows;         /* bytes of theirs */
    bool nomem;
    uint32_t restarts;
    size_t max_memory; /* of states */

    /* one step: what is to be done, and what was; sorted into a state */
    struct buf todo, config;
    struct intern done;
    bool ended;
    uint32_t steps;
    uint64_t work; /* steps to all states */

    const struct grammar_vocab *v;
    struct grammar_vocab vocab;
    const struct grammar_trie *trie;
    struct grammar_trie *own_trie;
    struct local **local[2]; /* by place; [1]: in a repetition */
    size_t local_memory;
    uint8_t *loop;           /* by node: 1: such a repetition, 2: not */
    struct mask_at *at;      /* where a walk is, by depth */
    uint32_t *ender, nender; /* tokens that end a text */
    uint64_t *mask[MASK_SLOTS];
    uint32_t mask_state[MASK_SLOTS];
    uint64_t *scratch; /* a mask */
    struct buf walk;
};

/* state.c */
int state_init(struct grammar *g, struct err *e);
void state_fini(struct grammar *g);
/* The state after all of STACK's top is matched. */
uint32_t state_back(struct grammar *g, uint32_t stack);
/* That of one configuration. */
uint32_t state_of(struct grammar *g, uint32_t stack, uint32_t place);
/* Where place P goes with BYTE; UNKNOWN: nowhere. */
uint32_t state_place(const struct grammar *g, uint32_t p, uint8_t byte);
size_t state_memory(const struct grammar *g);
/* mask.c */
void mask_fini(struct grammar *g);

/* check.c: what is known of nodes before the first byte. */
int grammar_check(struct grammar *g, struct err *e);

#endif
