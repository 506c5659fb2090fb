/* SPDX-License-Identifier: MIT
 * map.h - a regular file mapped read-only. */
#ifndef LLM_BASE_MAP_H
#define LLM_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct map {
    const unsigned char *p; /* N bytes; NULL when the file is empty */
    size_t n;
    uint64_t dev, ino; /* which file it is */
    int64_t mtime_ns;  /* and when it was last written */
};

/* Map PATH whole.  Anything but a regular file is ERR_IO (a device would
 * block or never end), no room in the address space ERR_NOMEM.  A zeroed map
 * may be closed. */
int map_open(struct map *m, const char *path, struct err *e);
void map_close(struct map *m);

/* Open PATH with FLAGS, not waiting for the writer of a FIFO, but for a program
 * that is changing the file (see gguf/patch.h): what open() returns. */
int map_fd(const char *path, int flags);

/* Let the pages between P and P + N, bytes of M, leave memory until they are
 * read again; a hint. */
void map_forget(const struct map *m, const unsigned char *p, size_t n);

#endif
