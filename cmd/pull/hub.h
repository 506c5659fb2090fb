/* SPDX-License-Identifier: MIT
 * hub.h - which files of a repository on the hub a name stands for. */
#ifndef LLM_CMD_PULL_HUB_H
#define LLM_CMD_PULL_HUB_H

#include <stdint.h>

#include "base/err.h"
#include "cmd/pull/name.h"

struct hub_file {
    char *url;
    char *local;     /* the name it gets here */
    char sha256[65]; /* "" when the hub does not say */
    int64_t size;    /* -1 when the hub does not say */
};

/* The file that N, a NAME_HF, stands for, or all its shards in order. */
int hub_find(struct hub_file **out, int *count, const struct name *n,
             struct err *e);
void hub_free(struct hub_file *f, int count);

#endif
