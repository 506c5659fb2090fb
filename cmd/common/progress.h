/* SPDX-License-Identifier: MIT
 * progress.h - how far a long prompt has been read: one line on a terminal,
 * rewritten in place and taken away in the end; nothing anywhere else. */
#ifndef LLM_CMD_PROGRESS_H
#define LLM_CMD_PROGRESS_H

#include <stdbool.h>

void progress_init(bool quiet);
/* DONE of TOTAL; shown at most ten times a second, and first after half a
 * second. */
void progress_show(long long done, long long total);
void progress_clear(void);

#endif
