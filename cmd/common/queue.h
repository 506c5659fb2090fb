/* SPDX-License-Identifier: MIT
 * queue.h - what came in is told in its order, whatever ends first. */
#ifndef LLM_CMD_QUEUE_H
#define LLM_CMD_QUEUE_H

#include "base/err.h"
#include "wire/wire.h"

struct program; /* each program's own */
struct item {
    struct item *next;
    int left;          /* parts of it that have not ended */
    struct err failed; /* the first thing that went wrong */
    /* Say what was found; then it is freed. */
    int (*tell)(struct program *p, struct item *it, struct err *e);
    void (*free)(struct item *it);
};

struct queue {
    struct item *first, **end; /* in order of arrival; END: &first at first */
    int n;
};

/* IT has come: its parts run already, or there are none. */
void queue_add(struct queue *q, struct item *it);
/* Tell those at the front that have no parts LEFT. */
int queue_tell(struct queue *q, struct program *p, struct err *e);
/* Without a word. */
void queue_drop(struct queue *q);

/* WHY the sequence SEQ failed, on standard error and as a record, unless OUT is
 * NULL; *WORST becomes its exit status if that is greater. */
int queue_failure(struct wire_out *out, int *worst, uint64_t seq,
                  const struct err *why, struct err *e);

#endif
