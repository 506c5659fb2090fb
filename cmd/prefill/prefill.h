/* SPDX-License-Identifier: MIT
 * prefill.h - what the files of llm-prefill share. */
#ifndef LLM_CMD_PREFILL_H
#define LLM_CMD_PREFILL_H

#include "cmd/common/load.h"
#include "cmd/common/prompts.h"
#include "cmd/common/state.h"
#include "run/run.h"
#include "run/step.h"

enum { FOLLOW_MAX = 64 }; /* sequences that --follow keeps */

struct sequence {
    uint64_t seq;
    struct prompt *prompt;
    struct kv_seq *kv;
    int reused;
    float *logits; /* the last, the sequence's own */
    bool starts;   /* the next token begins a text */
    struct sequence *next;
};

struct prefill {
    struct load load;
    struct wire_out *out; /* NULL: text */
    const char *prog;
    int chunk;
    bool all, want; /* logits: of all positions, or any at all */
    struct step *step;
    struct kv_disk *cache; /* NULL: without */
    struct sequence *kept; /* for --follow */
    int count;             /* sequences so far */
    int worst;             /* exit status */
};

int prefill_open(struct prefill *r, struct err *e);
void prefill_close(struct prefill *r);

/* P becomes the sequence's. */
struct sequence *sequence_new(struct prefill *r, struct prompt *p,
                              struct err *e);
/* Pass on what came with it, and run its tokens. */
int sequence_read(struct prefill *r, struct sequence *s, struct err *e);
/* Write its last logits. */
int sequence_logits(struct prefill *r, struct sequence *s, struct err *e);
/* Its end, or WHY it failed; it is kept, or freed. */
int sequence_done(struct prefill *r, struct sequence *s, const struct err *why,
                  bool keep, struct err *e);

/* Run the tokens that come for the sequences kept, until all have ended. */
int prefill_follow(struct prefill *r, int fd, const char *name, struct err *e);

#endif
