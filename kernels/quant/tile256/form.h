/* SPDX-License-Identifier: MIT
 * form.h - how a panel of super-blocks is described to the products of it.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_H
#define LLM_KERNELS_QUANT_TILE256_H

#include "kernels/kern.h"

#define TILE256_INLINE static inline __attribute__((always_inline))

/* Before a loop whose every turn is code of its own: indices must be constants.
 * (clang 14 passes over gcc's pragma: a third of the speed.) */
#if defined(__clang__)
#define TILE256_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TILE256_UNROLL _Pragma("GCC unroll 16")
#endif

/* From here on the compiler does not know what V is.  Loops up to it stay loops
 * (gcc 12 unrolls those of 2 in spite of a pragma), and what is read through it
 * is not kept for an iteration where it would be another column's: without,
 * twice to four times the code, and as much time to compile it. */
#define TILE256_HIDE(v) __asm__("" : "+r"(v))

struct tile256_form {
    size_t bytes;           /* of a block */
    int scale, quant;       /* where in it the integer scales and values are */
    int chunk, chunk_bytes; /* values of a chunk (64 or 128), and its size */
    int group;              /* values that share a scale */
    int fit;                /* products whose sum always fits in 16 bits, that
                               of all that share a scale, or of as many */
    int parts;              /* 2: FIT is that of half the values' 8 bits */
    bool min;               /* has dmin, and pair() is m; else d is f32, and
                               pair() is a multiple of s that I begins with */
};

#endif
