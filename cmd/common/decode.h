/* SPDX-License-Identifier: MIT
 * decode.h - the program that continues token streams, for those that differ
 * in how they get on. */
#ifndef LLM_CMD_DECODE_H
#define LLM_CMD_DECODE_H

#include "cmd/common/load.h"
#include "draft/draft.h"

/* Group: all of its options. */
extern const struct cli_opt decode_opts[];

/* What llm-spec does besides; each exits when something is wrong. */
struct decode_use {
    void (*check)(void); /* the options */
    struct draft *(*open)(const struct load *l, int batch);
    /* At the end, to the stream W, or NULL where that is text. */
    int (*report)(const struct draft *d, struct wire_out *w, struct err *e);
    void (*close)(struct draft *d);
};

/* All of it, from options to exit status.  USE may be NULL. */
int decode_main(const struct cli *c, int argc, char **argv,
                const struct decode_use *use);

#endif
