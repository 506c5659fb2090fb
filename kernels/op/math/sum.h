/* SPDX-License-Identifier: MIT
 * sum.h - the tree over 16 lanes: those 8 apart, 4, 2, 1. */
#ifndef LLM_KERNELS_OP_MATH_SUM_H
#define LLM_KERNELS_OP_MATH_SUM_H

static inline float sum_lanes(float l[16])
{
    for (int k = 8; k > 0; k /= 2)
        for (int i = 0; i < k; i++)
            l[i] += l[i + k];
    return l[0];
}

/* The greater, as maxps has it: B unless A is greater. */
static inline float max_of(float a, float b)
{
    return a > b ? a : b;
}

static inline float max_lanes(float l[16])
{
    for (int k = 8; k > 0; k /= 2)
        for (int i = 0; i < k; i++)
            l[i] = max_of(l[i], l[i + k]);
    return l[0];
}

#endif
