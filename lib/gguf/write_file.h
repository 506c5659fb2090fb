/* SPDX-License-Identifier: MIT
 * write_file.h - a GGUF file that takes its name when it is whole.
 *
 *     struct gguf_file *f;
 *
 *     if (gguf_file_open(&f, "m.gguf", &e))
 *         ...
 *     fill a struct gguf_out (write.h), and keep gguf_out.data from before each
 *     gguf_put_tensor(): where that tensor's bytes go
 *     if (gguf_file_head(f, &o, &e) || gguf_file_put(f, at, p, n, &e) ||
 *         gguf_file_close(f, &e))
 *         gguf_file_abandon(f);
 *
 * Until then it stands beside its name under another one; a failure, or
 * gguf_file_abandon(), removes it and leaves what was there before. */
#ifndef LLM_GGUF_WRITE_FILE_H
#define LLM_GGUF_WRITE_FILE_H

#include "gguf/write.h"

struct gguf_file;

/* ERR_IO where PATH is there and no regular file. */
int gguf_file_open(struct gguf_file **f, const char *path, struct err *e);
/* Its name until it is whole, for who must remove it in a signal's handler. */
const char *gguf_file_temporary(const struct gguf_file *f);
/* The front of the file, once, when O has all keys and tensors.  Padding needs
 * no writing: what is not put is zeros. */
int gguf_file_head(struct gguf_file *f, const struct gguf_out *o,
                   struct err *e);
/* N bytes of the data, from AT on.  Threads may put at once. */
int gguf_file_put(struct gguf_file *f, uint64_t at, const void *p, size_t n,
                  struct err *e);
/* The same from N bytes of FD, file NAME, from FROM on: within the system,
 * where it can, and without copying where the file system can share them. */
int gguf_file_copy(struct gguf_file *f, uint64_t at, int fd, const char *name,
                   uint64_t from, uint64_t n, struct err *e);
/* On disk, and closed, under its temporary name: all that may fail but the
 * naming.  Nothing can be put then. */
int gguf_file_sync(struct gguf_file *f, struct err *e);
/* On disk, and under its name; then F is no more.  F stays when it fails. */
int gguf_file_close(struct gguf_file *f, struct err *e);
/* NULL may be abandoned. */
void gguf_file_abandon(struct gguf_file *f);

#endif
