/* SPDX-License-Identifier: MIT
 * limits.h - what this machine can do at most: read memory, multiply bytes. */
#ifndef LLM_CMD_LIMITS_H
#define LLM_CMD_LIMITS_H

#include "base/team.h"

enum { LIMITS_THREADS = 256 }; /* of a team, at most */

/* The median and the best of several passes over MB megabytes, in GB/s.  -1:
 * memory ran out. */
int limits_read(double rate[2], struct team *t, double mb, int passes);
/* What is far more than caches hold: four times the last of them, at least 256
 * MB, at most a quarter of the memory. */
double limits_far_mb(void);

/* An instruction that multiplies bytes and adds, a product and its sum being
 * two operations. */
struct limits_op {
    const char *name;
    unsigned flags; /* CPU_ bits that it needs */
    double ops;     /* of one turn of the loop */
    void (*run)(long turns);
};
/* The best that FLAGS allow; in *VECTOR the best without tiles.  NULL: none. */
const struct limits_op *limits_best(unsigned flags,
                                    const struct limits_op **vector);
/* Gop/s of all of the team together. */
double limits_multiply(struct team *t, const struct limits_op *op);

#endif
