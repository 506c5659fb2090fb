/* SPDX-License-Identifier: MIT
 * quote.h - bytes for people, on one line and harmless to a terminal. */
#ifndef LLM_CMD_QUOTE_H
#define LLM_CMD_QUOTE_H

#include <stddef.h>

#include "base/buf.h"

/* P[N] between quotes, as JSON has it, but for bytes that are no UTF-8, which
 * are \xHH. */
void quote_put(struct buf *out, const void *p, size_t n);

#endif
