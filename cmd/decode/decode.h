/* SPDX-License-Identifier: MIT
 * decode.h - what the files of llm-decode share. */
#ifndef LLM_CMD_DECODE_H
#define LLM_CMD_DECODE_H

#include "cmd/common/load.h"
#include "cmd/common/prompts.h"
#include "cmd/common/text.h"
#include "cmd/common/wanted.h"
#include "run/run.h"

/* ---- asked.c: what is asked for a sequence ---- */

struct asked {
    struct wanted w;
    struct stop_set stop;
};

/* A copy of the COMMON options for one sequence. */
struct asked *asked_new(const struct asked *common, struct err *e);
void asked_free(void *q);
/* Take a "set" record; 1 when it is what llm-prefill tells of the model, and
 * goes no further.  ERR_UNSUPPORTED names an option that is not known. */
int asked_set(struct asked *q, const struct wire_rec *r, struct err *e);

/* ---- answer.c: results in the order of their prompts ---- */

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
