/* SPDX-License-Identifier: MIT
 * tile32.h - what the files of tile32 share: each gives the products of one
 * instruction set to all types. */
#ifndef LLM_KERNELS_QUANT_TILE32_TILE32_H
#define LLM_KERNELS_QUANT_TILE32_TILE32_H

#include "kernels/quant/tile32/l16.h"

/* Panels "l16", which all of the following take. */
void tile32_pack(struct kern *k);
void tile32_avx2(struct kern *k);
void tile32_avx2vnni(struct kern *k);
void tile32_avx512(struct kern *k);
void tile32_avx512vnni(struct kern *k);
void tile32_neon(struct kern *k);
void tile32_dotprod(struct kern *k);
void tile32_i8mm(struct kern *k);
void tile32_amx(struct kern *k);

/* Products of each type and level. */
#define X(name)                                                                \
    kern_mul_fn tile32_##name##_avx2, tile32_##name##_avx2vnni,                \
        tile32_##name##_avx512, tile32_##name##_avx512vnni;
#include "kernels/quant/tile32/types.h"
X(split)
X(upper)
#undef X

/* The products of a file, from its tile32_tile(), and what puts them in their
 * places. */
#define TILE32_MUL(name, level)                                                \
    void tile32_##name##_##level(float *y, size_t ldy, const void *panel,      \
                                 const void *tile, int64_t n, int w)           \
    {                                                                          \
        KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)                    \
        tile32_tile(&tile32_##name, y, ldy, panel, tile, n, v);                \
    }
#define TILE32_SET(name, level)                                                \
    k->quant[KERN_##name].mul = tile32_##name##_##level;

#endif
