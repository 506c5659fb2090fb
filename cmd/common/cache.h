/* SPDX-License-Identifier: MIT
 * cache.h - where pulled models lie, and how to find one without a network.
 *
 *   CACHE/models/NAME/FILE.gguf                 a catalogue name
 *   CACHE/models/hf/OWNER/REPO/FILE.gguf        hf:OWNER/REPO...
 *   CACHE/models/pypi/PACKAGE==VERSION/FILE.gguf
 *   CACHE/models/url/HASH/FILE.gguf             HASH: of the URL
 *
 * CACHE is $LLM_CACHE, else $XDG_CACHE_HOME/llmutils, else
 * ~/.cache/llmutils.  A file that ends in .gguf is whole and checked:
 * gguf-pull renames it to that only then.  FILE.gguf.json beside it says where
 * it came from; FILE.gguf.part and FILE.gguf.part.json are a download that may
 * be resumed, .lock is held by the process that writes there.
 */
#ifndef LLM_CMD_CACHE_H
#define LLM_CMD_CACHE_H

#include <stdbool.h>

#include "base/err.h"

/* CACHE/models, malloc'ed; it need not exist.  NULL when the environment
 * names no place for it. */
char *cache_models(struct err *e);

/* "a/b", malloc'ed; exits when memory ran out. */
char *path_join(const char *a, const char *b);

/* Is this the name of shard N of COUNT, "x-00001-of-00003.gguf"?  *STEM is
 * then the length of "x".  Both are at least 1 and N <= COUNT. */
bool shard_name(const char *name, int *n, int *count, int *stem);

/* Is PATH there, and every other shard of the model when it is one? */
bool cache_whole(const char *path);

/* The whole model in DIR (its first shard), the first by name when there are
 * several, malloc'ed; NULL when there is none. */
char *cache_in(const char *dir);

/* The file of the catalogue name NAME, malloc'ed; NULL when NAME is none or
 * not there. */
char *cache_find(const char *name);

#endif
