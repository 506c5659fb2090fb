/* SPDX-License-Identifier: MIT
 * retext.h - tokens of one vocabulary as those of another, by their text.
 *
 * Only for guesses: where a text is cut, tokens may be others than those of the
 * whole.  OURS are the tokens that are guessed at, THEIRS those of the model
 * that guesses.
 */
#ifndef LLM_RUN_RETEXT_H
#define LLM_RUN_RETEXT_H

#include "run/ids.h"
#include "tok/tok.h"

enum { RETEXT_MORE = 4 /* of theirs to a token of ours, at most */ };

struct retext;
struct retext *retext_new(const struct tok *ours, const struct tok *theirs,
                          struct err *e);
void retext_free(struct retext *r);

/* The text is that of T[N], whose first SAME are as they were: make WORDS its
 * tokens in their vocabulary. */
int retext_begin(struct retext *r, struct ids *words, const int32_t *t, int n,
                 int same, struct err *e);
/* They go on with WORD. */
int retext_add(struct retext *r, int32_t word, struct err *e);
/* The next token of ours for what they added, as soon as no more text can
 * change it, or with LAST in any case: 1, 0 when there is none yet. */
int retext_next(struct retext *r, int32_t *id, bool last, struct err *e);

#endif
