/* SPDX-License-Identifier: MIT
 * size.h - bytes and counts for people. */
#ifndef LLM_CMD_SIZE_H
#define LLM_CMD_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* "1.5 GiB"; in BUF. */
const char *size_text(char buf[32], uint64_t bytes);
/* "134.5 M"; in BUF. */
const char *count_text(char buf[32], uint64_t n);
/* "2G" and "1.5MiB" are bytes, in powers of 1024; false for what is no size. */
bool size_parse(uint64_t *bytes, const char *s);

#endif
