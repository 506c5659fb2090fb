/* SPDX-License-Identifier: MIT
 * http.h - GET, with redirects followed by hand.
 *
 * 1. The hub's token goes to the hub's own scheme, host and port: it is put
 *    into the request for each hop anew, never carried over.
 * 2. http and https only; from https never back to http; ten hops.
 * 3. No compression is asked for: what is sent is what Content-Length says.
 */
#ifndef LLM_CMD_PULL_HTTP_H
#define LLM_CMD_PULL_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "cmd/pull/part.h"

/* The hub: $HF_ENDPOINT or https://huggingface.co, without a slash at the
 * end. */
const char *http_hub(void);

/* The body of URL, at most 16 MB, into OUT. */
int http_text(struct buf *out, const char *url, struct err *e);

/* Bring P to its end with bytes from URL: resumed where the server can, from
 * the start where it can't, tried again after what may pass.  P is checked
 * (part_check()) but not published. */
int http_file(struct part *p, const char *url, struct err *e);

/* "a/b c" with every part percent-encoded, malloc'ed; NULL without memory. */
char *http_escape(const char *path);

#endif
