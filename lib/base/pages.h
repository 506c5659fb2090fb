/* SPDX-License-Identifier: MIT
 * pages.h - large zeroed memory, in 2 MB pages where the system has them.
 *
 * Tables that are read at random, and weights, spend 10 to 20 % of their time
 * on address translation in 4 KB pages, and the first touch of each page costs
 * a fault. */
#ifndef LLM_BASE_PAGES_H
#define LLM_BASE_PAGES_H

#include <stddef.h>

/* N bytes, zeroed, aligned to 2 MB when N is at least that; NULL when memory
 * ran out.  pages_free() wants the same N. */
void *pages_alloc(size_t n);
void pages_free(void *p, size_t n);

#endif
