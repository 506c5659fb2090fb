/* SPDX-License-Identifier: MIT
 * bar.h - one line of progress on a terminal; nothing anywhere else. */
#ifndef LLM_CMD_PULL_BAR_H
#define LLM_CMD_PULL_BAR_H

#include <stdint.h>

/* WHAT is shown as it is, so must be safe to print; it is not copied.  FROM
 * bytes were there before, TOTAL is -1 when unknown. */
void bar_start(const char *what, int64_t from, int64_t total);
void bar_at(int64_t n);
/* Wipe the line, so that what follows starts on a clean one. */
void bar_end(void);

#endif
