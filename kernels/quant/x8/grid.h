/* SPDX-License-Identifier: MIT
 * grid.h - groups of weights looked up in a type's grid (grid_data.h). */
#ifndef LLM_KERNELS_QUANT_X8_GRID_H
#define LLM_KERNELS_QUANT_X8_GRID_H

#include <stdint.h>

/* IQ2: 8 magnitudes. */
static const int8_t grid_iq2[4] = {8, 25, 43};

/* 7 signs and their parity: in 8 weights the negative ones are even. */
static inline unsigned grid_signs(unsigned s)
{
    s &= 127;
    return s | (unsigned)__builtin_parity(s) << 7;
}

/* q[i] = MAP's value for entry E's 2 bits i, negative where bit i of SIGNS is
 * set. */
static inline void grid_put8(int8_t *q, unsigned e, const int8_t map[4],
                             unsigned signs)
{
    for (int i = 0; i < 8; i++) {
        int v = map[e >> 2 * i & 3];
        q[i] = (int8_t)(signs >> i & 1 ? -v : v);
    }
}

/* Likewise with 4 values of 3 bits, 4 apart. */
static inline void grid_put4(int8_t *q, unsigned e, const int8_t map[8],
                             unsigned signs)
{
    for (int i = 0; i < 4; i++) {
        int v = map[e >> 4 * i & 7];
        q[i] = (int8_t)(signs >> i & 1 ? -v : v);
    }
}

#endif
