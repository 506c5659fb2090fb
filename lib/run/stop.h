/* SPDX-License-Identifier: MIT
 * stop.h - stop strings, and patterns, found in text that comes token by token.
 *
 * What may yet become a stop string is held back, so that nothing of one is
 * ever shown.  Of several that match, the one that begins first counts, of
 * those the longest that is there.  */
#ifndef LLM_RUN_STOP_H
#define LLM_RUN_STOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* A set of strings, none of them empty. */
struct stop_set {
    struct stop_string {
        char *p;
        size_t n;
        struct stop_regex *re; /* what P is; NULL: a string */
    } * v;
    int n;
};

/* Add a copy of P[N]; ERR_USAGE when it is empty. */
int stop_add(struct stop_set *s, const void *p, size_t n, struct err *e);
/* The texts that match a regular expression of grammar_regex_part(), as soon
 * as they do; ERR_USAGE also when the empty text does. */
int stop_add_regex(struct stop_set *s, const void *p, size_t n, struct err *e);
int stop_copy(struct stop_set *to, const struct stop_set *from, struct err *e);
void stop_free(struct stop_set *s);

/* How much of the text TEXT[N], of which nothing was shown yet,
 * may be shown now; *HIT is the index of the string that begins there, or -1.
 * Without a hit the rest may still become one, if MORE text may come. */
size_t stop_scan(const struct stop_set *s, const char *text, size_t n,
                 bool more, int *hit);

#endif
