/* SPDX-License-Identifier: MIT
 * prompts.h - a stream's sequences, each when all of it has arrived.
 *
 * For programs that continue sequences or judge them.  A sequence is whole at
 * its "end", at the next header, and at the end of the input.
 */
#ifndef LLM_CMD_PROMPTS_H
#define LLM_CMD_PROMPTS_H

#include "base/buf.h"
#include "kv/kv.h"
#include "wire/wire.h"

struct prompt {
    uint64_t seq;
    int32_t *ids;
    int n, cap;
    bool any;          /* it has had a record of tokens, or a state */
    struct err failed; /* what its own records say, or what is wrong in them */
    struct buf pass;   /* records to pass on before its results, each after its
                          size as a size_t */
    struct kv_load *load;
    struct kv_seq *state; /* that came with it; the caller's when taken */
    bool had_state;       /* there was one, here or elsewhere */
    void *data;           /* the caller's, made by OPEN */
    void (*free_data)(void *data);
    struct prompt *next;
};

/* What the caller does with a sequence while it arrives. */
struct prompts_use {
    /* Its first record is here: make P->data.  May be NULL. */
    int (*open)(void *arg, struct prompt *p, struct err *e);
    /* A "set" record.  1: it is not to be passed on; -1 with *E: the sequence
     * fails. */
    int (*set)(void *arg, struct prompt *p, const struct wire_rec *r,
               struct err *e);
    /* One of a kind that is not known, likewise. */
    int (*other)(void *arg, struct prompt *p, const struct wire_rec *r,
                 struct err *e);
    void *arg;
    struct kv *kv;     /* where states go; NULL: they are left out */
    const char *vocab; /* gguf_vocab_id() of the model */
};

struct prompts;
int prompts_open(struct prompts **out, int fd, const char *name,
                 const struct prompts_use *use, struct err *e);
void prompts_close(struct prompts *p);
/* Has something come, or the end, within MS milliseconds?  As wire_in_wait().
 */
bool prompts_wait(const struct prompts *p, int ms);
/* The next whole sequence, in order of completion: 1; 0 at the end; 2 when a
 * record was read and none became whole (call again); -1 with *E naming the
 * record: what is whole by then has been given. */
int prompts_next(struct prompt **out, struct prompts *p, struct err *e);
void prompt_free(struct prompt *p);
/* Let its state go: one that has failed waits for its turn without. */
void prompt_no_state(struct prompt *p);
/* A state that came without tokens brings its own. */
int prompt_of_state(struct prompt *p, struct err *e);
/* When all sequences have been dealt with: write to W, if there is one, what is
 * about all of them. */
int prompts_pass(struct wire_out *w, const struct prompts *p, struct err *e);
/* Write what P passes on. */
int prompt_pass(struct wire_out *w, const struct prompt *p, struct err *e);
int prompt_keep(struct prompt *p, const struct wire_rec *r, struct err *e);

#endif
