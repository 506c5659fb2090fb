/* SPDX-License-Identifier: MIT
 * floats.h - what the files of floats share: each gives the products of one
 * instruction set to all types. */
#ifndef LLM_KERNELS_QUANT_FLOATS_FLOATS_H
#define LLM_KERNELS_QUANT_FLOATS_FLOATS_H

#include "kernels/kern.h"

void floats_avx2(struct kern *k);
void floats_avx512(struct kern *k);
void floats_neon(struct kern *k);

/* The products of a file, from its float_mul() and its loads of each type. */
#define FLOATS_MUL(name, size)                                                 \
    static void name##_mul(float *y, size_t ldy, const void *panel,            \
                           const void *tile, int64_t n, int w)                 \
    {                                                                          \
        float_mul(y, ldy, panel, tile, n, w, size, name##_load);               \
    }
#define FLOATS_SET(name, size) k->quant[KERN_##name].mul = name##_mul;

#endif
