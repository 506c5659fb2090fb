/* SPDX-License-Identifier: MIT
 * build.h - a grammar under construction, for those who compile into one.
 *
 * Nodes are numbers, made from the leaves up; a node may be used many times.
 * The first failure sticks: later calls give node 0, and build_grammar() says
 * what it was.  Nothing is unrolled: a repetition is a counter in the state,
 * members in any order are a set in it.
 */
#ifndef LLM_GRAMMAR_BUILD_H
#define LLM_GRAMMAR_BUILD_H

#include "grammar/dfa.h"
#include "grammar/grammar.h"

/* White space between two tokens of JSON: up to this many of space, tab, line
 * feed and return; none before and after the whole text. */
enum { BUILD_SPACE = 32, BUILD_JSON_DEPTH = 64 };

struct build;
struct build *build_new(const struct grammar_vocab *v, struct err *e);
void build_free(struct build *b);
/* The grammar whose texts are those of ROOT; B is freed in any case.  Refuses
 * left recursion (it names the rule), rules without a body, and what is too
 * deep or too large. */
int build_grammar(struct grammar **out, struct build *b, uint32_t root,
                  struct err *e);

uint32_t build_empty(struct build *b);
/* Matches nothing at all. */
uint32_t build_never(struct build *b);
uint32_t build_bytes(struct build *b, const void *p, size_t n);
/* One code point of these, as UTF-8 (a partial one is a state as any other);
 * NEGATED: one of all others. */
uint32_t build_class(struct build *b, const struct dfa_range *r, int n,
                     bool negated);
/* A text of a regular language over bytes; copied. */
uint32_t build_dfa(struct build *b, const struct dfa *d);
/* One token by its id; NEGATED: any other token. */
uint32_t build_token(struct build *b, uint32_t id, bool negated);
uint32_t build_seq(struct build *b, const uint32_t *node, int n);
uint32_t build_alt(struct build *b, const uint32_t *node, int n);
/* MIN to MAX times, MAX -1: without limit. */
uint32_t build_repeat(struct build *b, uint32_t node, int min, int max);

/* Members in any order with SEP between two of them: each at most once unless
 * AGAIN, those that are REQUIRED at least once, MIN to MAX altogether.  Two
 * members that may begin alike are told apart as far as their texts differ. */
struct build_member {
    uint32_t node;
    bool required, again;
};
uint32_t build_members(struct build *b, const struct build_member *m, int n,
                       uint32_t sep, int min, int max);

/* That white space; and any JSON value, of arrays and objects one in the other
 * up to BUILD_JSON_DEPTH. */
uint32_t build_space(struct build *b);
int build_json(uint32_t *node, struct build *b, struct err *e);

/* A rule that may be used before it has a body, for recursion.  The name is
 * for messages; copied. */
uint32_t build_rule(struct build *b, const char *name, size_t n);
void build_define(struct build *b, uint32_t rule, uint32_t body);

#endif
