/* SPDX-License-Identifier: MIT
 * form.h - how a panel of super-blocks is described to the products of it.
 *
 * A type's panel.h has one struct tile256_form and, for files that have vectors
 * (TILE256_VECTORS), one function
 *
 *     VB <type>_values(const uint8_t *q, int i, int h)
 *
 * values I..I+3 of the chunk at Q, a byte each, of the rows of part H: where
 * vectors take fewer than 16 rows, as many parts as make 16 (with AVX2 two,
 * with NEON four), else H is 0.  It is made of these, which each instruction
 * set's header has for its own vectors of bytes VB, and whose N and MASK are
 * constants once all is inlined:
 *
 *     VB tile256_load(const uint8_t *p, int h)    part H of the 64 bytes at P
 *     VB tile256_right(VB v, int n)               words to the right by N bits,
 *                                                 or to the left by -N
 *     VB tile256_and(VB v, int mask)              V & MASK in each byte
 *     VB tile256_or_and(VB a, VB b, int mask)     A | (B & MASK)
 *
 * Where the form has a table, they are indices into it.  All else is data. */
#ifndef LLM_KERNELS_QUANT_TILE256_FORM_H
#define LLM_KERNELS_QUANT_TILE256_FORM_H

#include "kernels/kern.h"

#define TILE256_INLINE static inline __attribute__((always_inline))

/* How s of a block's groups stand. */
enum tile256_scales {
    TILE256_EACH,  /* unsigned, a byte for each row, group after group; m of
                      two groups together elsewhere, [group / 2][16 rows][2] */
    TILE256_PAIRS, /* signed, of two groups together */
    TILE256_HALVES /* the same, s in the low half of a byte and m in the high */
};

struct tile256_form {
    size_t bytes;               /* of a block */
    int scale, pair, quant;     /* where in it s, m and the values are */
    enum tile256_scales scales; /* PAIRS: d is f32; else f16 d and dmin */
    int chunk, chunk_bytes; /* values of a chunk (64 or 128), and its size */
    int group;              /* values that share a scale */
    int off;                /* what values are too high by; 0 where m is */
    int fit; /* products of a value and an activation whose sum always fits in
                16 bits; of a table's, with half of the value's bits */
    uint8_t table[16];
};

/* Has F a table? */
#define TILE256_TABLE(f) ((f)->table[15] != 0)

/* Of values() of all types, mul() at each level: init.c chooses. */
#define X(name)                                                                \
    kern_mul_fn tile256_##name##_avx2, tile256_##name##_avx2vnni,              \
        tile256_##name##_avx512, tile256_##name##_avx512vnni,                  \
        tile256_##name##_amx;
#include "kernels/quant/tile256/types.h"
#undef X
/* These set those of ARM. */
void tile256_neon(struct kern *k);
void tile256_dotprod(struct kern *k);
void tile256_i8mm(struct kern *k);

#endif
