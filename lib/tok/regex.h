/* SPDX-License-Identifier: MIT
 * regex.h - the splitting patterns of tokenizers, compiled to tables.
 *
 * The patterns are the ones that models' tokenizer.json files carry: classes,
 * groups, greedy repeats, alternation, and look-ahead over one character.
 * They are matched as a backtracking matcher would match them (the first
 * alternative that succeeds wins, repeats take as much as they can), in one
 * pass: a state of the automaton is the ordered list of what such a matcher
 * would still try.  One table look-up per character, no recursion, nothing
 * allocated while matching; a compiled pattern may be used by many threads.
 *
 * Syntax: | ( ) (?: ) (?i: ) [ ] [^ ] . \p{L} \P{L} \p{Lu} \p{Han} \s \S \d \D
 * \r \n \t \xHH ? * + {m} {m,} {m,n}, possessive marks taken as greedy, (?= )
 * and (?! ) around one class, and $ for the end of the text.
 */
#ifndef LLM_TOK_REGEX_H
#define LLM_TOK_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct regex;

/* Compile PATTERN (UTF-8).  Fails with ERR_FORMAT, naming the place. */
int regex_new(struct regex **out, const char *pattern, struct err *e);
void regex_free(struct regex *r);

/* Match at P and return the length of the match; 0 when there is none (or it
 * is empty).  END is where the text ends if FINAL; if not, more may follow,
 * and REGEX_MORE means that the result would depend on it.  Bytes that are not
 * UTF-8 count as one unassigned character each. */
#define REGEX_MORE SIZE_MAX
size_t regex_match(const struct regex *r, const unsigned char *p,
                   const unsigned char *end, bool final);

/* The first place at or after P where a match starts, and its length in *LEN;
 * END (with *LEN 0) when there is none.  *LEN is REGEX_MORE when bytes after
 * END could change the answer; the place returned is then the first at which
 * they could. */
const unsigned char *regex_search(const struct regex *r, const unsigned char *p,
                                  const unsigned char *end, bool final,
                                  size_t *len);

/* Is the place between character X and the one at Y (END after it) a border in
 * any text?  No match goes on over it; and if ENDS, X ends a match there. */
bool regex_border(const struct regex *r, unsigned char x,
                  const unsigned char *y, const unsigned char *end, bool ends);

#endif
