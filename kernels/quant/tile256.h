/* SPDX-License-Identifier: MIT
 * tile256.h - how a panel of super-blocks is described to the products of it.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_H
#define LLM_KERNELS_QUANT_TILE256_H

#include "kernels/kern.h"

#define TILE256_INLINE static inline __attribute__((always_inline))

struct tile256_form {
    size_t bytes;           /* of a block */
    int scale, quant;       /* where in it the integer scales and values are */
    int chunk, chunk_bytes; /* values of a chunk (64 or 128), and its size */
    int group;              /* values that share a scale */
    int step;               /* values whose sum is scaled at once */
    bool small;             /* that sum fits in 16 bits */
    bool min;               /* has dmin, and pair() is m; else d is f32, and
                               pair() is a multiple of s that I begins with */
};

#endif
