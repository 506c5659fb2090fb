/* SPDX-License-Identifier: MIT
 * answer.h - what sequences become, in the order of their prompts. */
#ifndef LLM_CMD_ANSWER_H
#define LLM_CMD_ANSWER_H

#include "cmd/common/asked.h"
#include "cmd/common/prompts.h"
#include "cmd/common/text.h"
#include "run/run.h"

struct answer;

struct answers {
    struct wire_out *out; /* NULL: text */
    struct text text;
    const struct tok *tok;
    bool unordered; /* write them as they are made */
    bool times;     /* "time" and "reused" in end records */
    bool echo;      /* the prompt first */
    bool verbose;
    struct answer *first, *last;
    int worst; /* exit status */
};

/* The answer to P begins: it has its place now.  P is its own from here on. */
struct answer *answer_new(struct answers *a, struct prompt *p, struct err *e);
/* Is there one of this number that has not ended? */
bool answer_open(const struct answers *a, uint64_t seq);
/* What happens to it.  After RUN_END it is gone. */
int answer_event(struct answers *a, struct answer *x,
                 const struct run_event *ev, struct err *e);
/* Did its prompt come with a state, or may it have begun from a folder? */
bool answer_had_state(const struct answer *x);
/* It failed before it ran. */
int answer_failed(struct answers *a, struct answer *x, const struct err *why,
                  struct err *e);

#endif
