/* SPDX-License-Identifier: MIT
 * ahead.h - weights on their way from memory.
 *
 * The processor's own prefetching brings a panel's bytes too late, for one
 * column as for twelve: asking 4 KB ahead gave 1.3 to 1.4 times the tokens of
 * decoding, products by 2 to 12 columns 1.2 to 1.8 times as fast, and by 48
 * still 1.1 times (Sapphire Rapids; 1 and 2 KB gave less, 8 KB as much).  The
 * columns that come next find the panel in the cache, where asking costs 3 to 5
 * percent.  Panels lie one behind the other, so what is beyond this one's end
 * is wanted, too. */
#ifndef LLM_KERNELS_QUANT_AHEAD_H
#define LLM_KERNELS_QUANT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { AHEAD = 4096 };

/* The N bytes that are FAR from P, when this is the FIRST time that the panel
 * is read. */
static inline __attribute__((always_inline)) void
ahead_far(const void *p, size_t n, size_t far, bool first)
{
    if (first)
        for (size_t i = 0; i < n; i += 64)
            __builtin_prefetch((const char *)p + far + i);
}

static inline __attribute__((always_inline)) void ahead(const void *p, size_t n,
                                                        bool first)
{
    ahead_far(p, n, AHEAD, first);
}

#endif
