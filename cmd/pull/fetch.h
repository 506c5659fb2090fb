/* SPDX-License-Identifier: MIT
 * fetch.h - bring a model here from the first of its sources that works. */
#ifndef LLM_CMD_PULL_FETCH_H
#define LLM_CMD_PULL_FETCH_H

#include "base/err.h"
#include "cmd/pull/name.h"

/* N's model, from the cache MODELS or into it; its path, malloc'ed, into
 * *PATH.  With OUT it ends up there instead.  SHA256 is what it must be, or
 * NULL.  What each source failed with has been said on stderr when several
 * did. */
int fetch(char **path, const struct name *n, const char *models,
          const char *out, const char *sha256, struct err *e);

#endif
