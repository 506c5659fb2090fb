/* SPDX-License-Identifier: MIT
 * lines.h - lines of a file or a pipe, as they come. */
#ifndef LLM_CMD_LINES_H
#define LLM_CMD_LINES_H

#include <stdbool.h>

#include "base/buf.h"

struct lines {
    int fd;
    const char *name;
    struct buf in;
    size_t at, known; /* the next line's start; no newline before */
    unsigned long long number;
    bool over;
};

/* Is there something to read?  True, too, when it is to WAIT for that. */
bool lines_ready(struct lines *l, bool wait);
/* The next line: 1; 0 at the end; 2: call again; -1. */
int lines_next(const unsigned char **p, size_t *n, struct lines *l,
               struct err *e);

#endif
