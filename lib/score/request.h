/* SPDX-License-Identifier: MIT
 * request.h - a text and what may follow it, as a line of JSON: continuations
 * to be ranked, or a question with its answers. */
#ifndef LLM_SCORE_REQUEST_H
#define LLM_SCORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { SCORE_MAX_CHOICES = 1024 };

struct score_choice {
    size_t at, n; /* its text, in TEXT, which follows on CONTEXT */
    size_t chars; /* of the choice itself, without what joins it */
};

struct score_request {
    struct buf context, text;
    struct score_choice choice[SCORE_MAX_CHOICES];
    int n;
    int answer;    /* the right one; -1: it is not said */
    struct buf id; /* the caller's name for it, as JSON; empty: none */
};

/* P[N] is a line; LETTERS: a question is asked with its answers listed, and the
 * letters are what may follow.  ERR_FORMAT names the key that is wrong.  Zeroed
 * it is ready, and may be used again. */
int score_request(struct score_request *q, const void *p, size_t n,
                  bool letters, struct err *e);
void score_request_free(struct score_request *q);

#endif
