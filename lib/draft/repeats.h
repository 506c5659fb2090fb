/* SPDX-License-Identifier: MIT
 * repeats.h - where the end of a text was seen before: a suffix automaton that
 * grows with the text.
 *
 * Each token costs amortised constant time, and some 80 bytes.
 */
#ifndef LLM_DRAFT_REPEATS_H
#define LLM_DRAFT_REPEATS_H

#include <stddef.h>
#include <stdint.h>

struct repeats;
struct repeats *repeats_new(void); /* NULL: memory */
void repeats_free(struct repeats *r);

/* The next token of the text; any value.  -1 when memory ran out: R is then of
 * no more use. */
int repeats_add(struct repeats *r, int32_t token);
const int32_t *repeats_text(const struct repeats *r, size_t *n);

/* The longest end of the text that stands in it earlier, too: its length, and
 * *NEXT is what place follows it there.  0: not even its last token does. */
size_t repeats_last(const struct repeats *r, size_t *next);

/* Another text, token by token, held against this one, which must not grow any
 * more: what of its end stands in here.  Zeroed it is at the beginning. */
struct repeats_place {
    uint32_t state;
    size_t n; /* tokens that match */
};
void repeats_follow(const struct repeats *r, struct repeats_place *p,
                    int32_t token);
/* What place follows what matches; the end of the text: nothing does. */
size_t repeats_next(const struct repeats *r, const struct repeats_place *p);

#endif
