/* SPDX-License-Identifier: MIT
 * newfile.h - a file that takes its name when it is whole.
 *
 *     struct newfile *f;
 *
 *     if (newfile_open(&f, "m.bin", &e))
 *         ...
 *     if (newfile_size(f, size, &e) || newfile_put(f, at, p, n, &e) ||
 *         newfile_close(f, &e))
 *         newfile_abandon(f);
 *
 * Until then it stands beside its name under another one; a failure, or
 * newfile_abandon(), removes it and leaves what was there before. */
#ifndef LLM_BASE_NEWFILE_H
#define LLM_BASE_NEWFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct newfile;

/* ERR_IO where PATH is there and no regular file. */
int newfile_open(struct newfile **f, const char *path, struct err *e);
/* Its name until it is whole, for who must remove it in a signal's handler. */
const char *newfile_temporary(const struct newfile *f);
/* It will have SIZE bytes: where files have a limit, it is met here.  What is
 * not put is zeros.  Need not be called. */
int newfile_size(struct newfile *f, uint64_t size, struct err *e);
/* N bytes from AT on.  Threads may put at once. */
int newfile_put(struct newfile *f, uint64_t at, const void *p, size_t n,
                struct err *e);
/* The same from N bytes of FD, file NAME, from FROM on: within the system,
 * where it can, and without copying where the file system can share them. */
int newfile_copy(struct newfile *f, uint64_t at, int fd, const char *name,
                 uint64_t from, uint64_t n, struct err *e);
/* On disk, and closed, under its temporary name: all that may fail but the
 * naming.  Nothing can be put then. */
int newfile_sync(struct newfile *f, struct err *e);
/* On disk, and under its name; then F is no more.  F stays when it fails. */
int newfile_close(struct newfile *f, struct err *e);
/* NULL may be abandoned. */
void newfile_abandon(struct newfile *f);

/* Is there room for BYTES where PATH is or will be?  ERR_IO when the file
 * system says no; what others write meanwhile it cannot know. */
int newfile_room(const char *path, uint64_t bytes, struct err *e);

#endif
