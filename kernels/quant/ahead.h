/* SPDX-License-Identifier: MIT
 * ahead.h - weights on their way from memory.
 *
 * Few columns need a panel's bytes faster than the processor's own prefetching
 * brings them: asking 4 KB ahead made a token of decoding 1.3 to 1.4 times as
 * fast (Sapphire Rapids; 1 and 2 KB gave less, 8 KB as much).  Panels lie one
 * behind the other, so what is beyond this one's end is wanted, too. */
#ifndef LLM_KERNELS_QUANT_AHEAD_H
#define LLM_KERNELS_QUANT_AHEAD_H

#include <stddef.h>

enum { AHEAD = 4096, AHEAD_COLS = 2 };

/* The N bytes that are AHEAD of P, when COLS columns are few. */
static inline __attribute__((always_inline)) void ahead(const void *p, size_t n,
                                                        int cols)
{
    if (cols <= AHEAD_COLS)
        for (size_t i = 0; i < n; i += 64)
            __builtin_prefetch((const char *)p + AHEAD + i);
}

#endif
