/* SPDX-License-Identifier: MIT
 * intern.h - equal lists of words have one number: 0, 1, 2, ... */
#ifndef LLM_GRAMMAR_INTERN_H
#define LLM_GRAMMAR_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed it is empty. */
struct intern {
    uint32_t n;     /* lists */
    uint32_t *word; /* all of them, one behind the other */
    size_t nword, capword;
    uint32_t *at; /* [n + 1]: where each begins */
    uint32_t *hash;
    uint32_t cap;
    uint32_t *slot; /* their numbers by hash, plus 1 */
    uint32_t nslot; /* a power of two */
};

enum { INTERN_NONE = UINT32_MAX };

/* The number of W[N], INTERN_NONE when memory ran out.  *FRESH, unless NULL: it
 * is new.  W must not point into T. */
uint32_t intern_put(struct intern *t, const uint32_t *w, size_t n, bool *fresh);
/* The same, or INTERN_NONE where it is not there. */
uint32_t intern_find(const struct intern *t, const uint32_t *w, size_t n);
/* Empty it; room of modest size is kept. */
void intern_clear(struct intern *t);
void intern_free(struct intern *t);

static inline const uint32_t *intern_get(const struct intern *t, uint32_t id)
{
    return t->word + t->at[id];
}

static inline uint32_t intern_len(const struct intern *t, uint32_t id)
{
    return t->at[id + 1] - t->at[id];
}

static inline size_t intern_memory(const struct intern *t)
{
    return t->capword * 4 + (size_t)t->cap * 8 + (size_t)t->nslot * 4;
}

#endif
