/* SPDX-License-Identifier: MIT
 * progress.h - how far something long has come: one line on a terminal,
 * rewritten in place and taken away in the end; nothing anywhere else. */
#ifndef LLM_CMD_PROGRESS_H
#define LLM_CMD_PROGRESS_H

#include <stdbool.h>

void progress_init(bool quiet);
/* DONE of TOTAL tokens of a prompt; a part, up to 1, of anything else.  Shown
 * at most ten times a second, and first after half a second. */
void progress_show(long long done, long long total);
void progress_part(double part);
void progress_clear(void);

#endif
