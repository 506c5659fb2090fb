/* SPDX-License-Identifier: MIT
 * patch.h - the front of a file changed where it stands.
 *
 * A kill or a power failure at any moment leaves the file as it was, as it is
 * to be, or one that nobody takes for a GGUF and that gguf_patch_undo() makes
 * what it was.  Bytes of one sector (512) are written at once.  For more,
 *
 * 1. FILE.gguf-set, beside the file, gets both the old and the new bytes;
 * 2. the file's magic becomes GGUF_PATCHING;
 * 3. the new bytes are written;
 * 4. the magic is put back, and FILE.gguf-set removed;
 *
 * each on disk before the next begins.  Meanwhile whoever opens the file waits
 * (it is under a write lease), where the system can do that. */
#ifndef LLM_GGUF_PATCH_H
#define LLM_GGUF_PATCH_H

#include <stddef.h>

#include "base/err.h"

#define GGUF_PATCHING "GGUX"

/* PATH begins with the N bytes at OLD, and shall with those at NEW; both begin
 * "GGUF".  1 when some process has the file open, which would see half of it:
 * nothing is done then.  0, or -1 with nothing changed. */
int gguf_patch(const char *path, const void *old, const void *new_bytes,
               size_t n, struct err *e);

/* Take back what a gguf_patch() that was killed left.  1 when there was
 * something, 0 when not, -1. */
int gguf_patch_undo(const char *path, struct err *e);

#endif
