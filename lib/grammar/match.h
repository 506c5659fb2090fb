/* SPDX-License-Identifier: MIT
 * match.h - where one sequence is in a grammar, token by token.
 *
 * With a trigger all tokens may come until the text has the trigger in it; what
 * comes after it is the grammar's.  A token may be the trigger's last part and
 * the grammar's first: such as the grammar would refuse are refused.
 *
 *     match_new(&m, g, NULL, 0, &vocab, &e);
 *     match_mask(&mask, m, &e);            ... sample with MASK
 *     match_accept(m, id, &e);
 *     match_back(m, 1);                    ... as if ID had not come
 */
#ifndef LLM_GRAMMAR_MATCH_H
#define LLM_GRAMMAR_MATCH_H

#include "grammar/grammar.h"

struct match;

/* G, which many sequences of one thread may share, and what V points to must
 * outlive it; the trigger (N bytes; none when it is NULL) is copied. */
int match_new(struct match **out, struct grammar *g, const char *trigger,
              size_t n, const struct grammar_vocab *v, struct err *e);
void match_free(struct match *m);

/* The tokens that may come, as grammar_mask() has them; *MASK is NULL where all
 * may. Valid until the next call for M's grammar. */
int match_mask(const uint64_t **mask, struct match *m, struct err *e);
/* ERR_FORMAT where ID may not come, and M is what it was. */
int match_accept(struct match *m, uint32_t id, struct err *e);
/* Would match_accept() take it? */
bool match_takes(struct match *m, uint32_t id);
/* As if the last N tokens had not come. */
void match_back(struct match *m, size_t n);
/* How many were accepted, and not taken back. */
size_t match_count(const struct match *m);

/* May the text end here?  True before the trigger. */
bool match_ends(struct match *m);
/* Is it at its end: nothing but a token that ends texts may come? */
bool match_done(struct match *m);

#endif
