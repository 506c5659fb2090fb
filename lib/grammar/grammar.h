/* SPDX-License-Identifier: MIT
 * grammar.h - what a text may be, byte by byte and token by token.
 *
 * A grammar is compiled once, from GBNF, a regular expression, a JSON Schema or
 * plain JSON, into one automaton over bytes.  A place in a text is a state: a
 * number that stands for all that may still come.  States are made when a text
 * first reaches them and live as long as the grammar, so a place is kept,
 * copied and gone back to by keeping its number.
 *
 *     grammar_schema(&g, text, n, &e);
 *     s = grammar_start(g);
 *     s = grammar_byte(g, s, '{');         ... GRAMMAR_DEAD: it may not stand
 * here grammar_ends(g, s);                  may the text end here?
 *
 * A compiled grammar is used by one thread.  Time, depth and memory are
 * bounded: what is too deep or too large is refused with one line.
 */
#ifndef LLM_GRAMMAR_GRAMMAR_H
#define LLM_GRAMMAR_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct grammar;
struct grammar_trie;

/* The tokens of a model, for masks and for token references.  Views: they live
 * as long as the grammar. */
struct grammar_vocab {
    uint32_t n;
    const uint8_t *const *text; /* [n]: each token's bytes; a control token's
                                   name, "<|im_end|>" */
    const uint32_t *len;        /* [n] */
    const uint8_t *control;     /* [n]: no text of its own: only by reference */
    const uint8_t *end;         /* [n]: ends the text: where that may end */
    struct grammar_trie *index; /* grammar_vocab_index(), or NULL */
};

/* The tokens by their beginnings, for masks: some 20 ms and 10 MB, which each
 * grammar spends for itself where it is NULL.  grammar_vocab_free() frees it
 * and nothing else. */
int grammar_vocab_index(struct grammar_vocab *v, struct err *e);
void grammar_vocab_free(struct grammar_vocab *v);

/* V may be NULL: then a reference to a token is ERR_FORMAT.  ERR_FORMAT names
 * the line and column (GBNF), the offset (regex) or the JSON pointer (schema);
 * ERR_UNSUPPORTED names what cannot be enforced. */
int grammar_gbnf(struct grammar **out, const char *text, size_t n,
                 const struct grammar_vocab *v, struct err *e);
/* The whole text matches (ECMA-262 syntax, u flag; ^ and $ are allowed). */
int grammar_regex(struct grammar **out, const char *text, size_t n,
                  const struct grammar_vocab *v, struct err *e);
/* The same of texts that are looked for in others: neither ^ and $ nor
 * look-ahead, which would ask what stands around them. */
int grammar_regex_part(struct grammar **out, const char *text, size_t n,
                       struct err *e);
int grammar_schema(struct grammar **out, const char *json, size_t n,
                   const struct grammar_vocab *v, struct err *e);
/* Any JSON value (RFC 8259). */
int grammar_json(struct grammar **out, const struct grammar_vocab *v,
                 struct err *e);
void grammar_free(struct grammar *g);
/* Bytes that its states and what it knows of tokens take. */
size_t grammar_memory(const struct grammar *g);

/* ---- states ---- */

enum { GRAMMAR_DEAD = 0, GRAMMAR_FULL = 1 }; /* FULL: limits are used up */

uint32_t grammar_start(const struct grammar *g);
uint32_t grammar_byte(struct grammar *g, uint32_t state, uint8_t byte);
/* After N bytes, or a token of the vocabulary. */
uint32_t grammar_bytes(struct grammar *g, uint32_t state, const void *p,
                       size_t n);
uint32_t grammar_token(struct grammar *g, uint32_t state, uint32_t id);
bool grammar_ends(struct grammar *g, uint32_t state);
/* Does only the end come after STATE? */
bool grammar_done(struct grammar *g, uint32_t state);
/* NEXT[b] is set for each byte that may come. */
void grammar_next(struct grammar *g, uint32_t state, bool next[256]);

/* The tokens that may come after STATE: bit ID of the words returned, (n + 63)
 * / 64 of them, valid until the next call for this grammar.  Tokens that end a
 * text are set where it may end.  NULL with ERR_NOMEM or ERR_UNSUPPORTED. */
const uint64_t *grammar_mask(struct grammar *g, uint32_t state, struct err *e);

/* Forget all states but the first, when limits are used up: their numbers mean
 * nothing any more.  How often that was done. */
int grammar_restart(struct grammar *g, struct err *e);
/* Is there so much to forget that it would help? */
bool grammar_crowded(const struct grammar *g);
uint32_t grammar_restarts(const struct grammar *g);

/* The automaton in words, for people. */
int grammar_print(struct buf *out, struct grammar *g, struct err *e);

#endif
