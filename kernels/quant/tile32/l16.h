/* SPDX-License-Identifier: MIT
 * l16.h - the panel "l16" of types with blocks of 32.
 *
 * Blocks stand in groups of as many as have 64 bytes of scales; the last group
 * may have fewer.  A group is the scales of each block, then the integers of
 * each.  A block's scales, [16 rows]: u8 exponents, or f16 d, then f16 m where
 * the type has one.  Its integers, in vectors of 64 bytes, row r at 4r:
 *   4 bits: 4 vectors; byte i of vector j has x[4j + i] in the low half, and
 *           x[16 + 4j + i] in the high one
 *   5 bits: a vector, bit j of whose byte i is the fifth of x[4j + i]; then the
 *           4 vectors of the lower bits
 *   8 bits: 8 vectors, byte i of vector j is x[4j + i] + 128
 * A panel of n elements whose n is a multiple of 64 (of 128 for exponents) is a
 * whole number of vectors.
 */
#ifndef LLM_KERNELS_QUANT_TILE32_L16_H
#define LLM_KERNELS_QUANT_TILE32_L16_H

#include "kernels/quant/rows.h"
#include "kernels/quant/tile32/ref.h"

/* What there is to know about a type. */
struct tile32_form {
    int bits;   /* of an integer, unsigned: 4, 5 or 8 */
    int scales; /* bytes of a row's scales: 1 (E8M0), 2 (f16), 4 (and m) */
    int off;    /* what is taken from an integer, or a value in the table */
    int table;  /* integers are indices into VALUE, */
    int top;    /* whose greatest value this is; else the greatest integer */
    int8_t value[16]; /* without the offset */
    bool split;       /* 8 bits in two planes, see below */
    bool most;        /* only the first of them, for an upper bound */
};

static const struct tile32_form tile32_q4_0 = {4, 2, 8, 0, 15, {0}, 0, 0};
static const struct tile32_form tile32_q4_1 = {4, 4, 0, 0, 15, {0}, 0, 0};
static const struct tile32_form tile32_q5_0 = {5, 2, 16, 0, 31, {0}, 0, 0};
static const struct tile32_form tile32_q5_1 = {5, 4, 0, 0, 31, {0}, 0, 0};
static const struct tile32_form tile32_q8_0 = {8, 2, 128, 0, 255, {0}, 0, 0};
static const struct tile32_form tile32_iq4_nl = {4,   2,          128, 1,
                                                 241, TILE32_IQ4, 0,   0};
static const struct tile32_form tile32_mxfp4 = {4,  1,          12, 1,
                                                24, TILE32_FP4, 0,  0};

/* Matrices of q8_0 whose greatest product is looked for have another panel,
 * "l16split": what q4_0 has, of the high halves of the integers, x[i] + 128;
 * then, of each block, 4 vectors of the low halves.  SPLIT reads both.  MOST
 * reads the first plane alone, and takes for the low halves what makes the
 * product most:
 *
 *     16 * sum(high * x) - 128 * sum(x) + 15 * sum(x > 0 ? x : 0)
 *
 * whose last two terms, in 16ths and rounded up, stand where a tile has ds
 * (kern_most()).  All else goes as in the exact product, step by step and
 * each no less than there, for rounding never turns two numbers round: so is
 * the result.  Scales are 0 or more, as pack() turns the signs of both; where
 * it cannot, for -128 has no positive, the bound is NaN. */
static const struct tile32_form tile32_split = {8,   2,   128,  0,
                                                255, {0}, true, false};
static const struct tile32_form tile32_upper = {4,  2,   0,     0,
                                                15, {0}, false, true};

/* Bytes of a block's scales and integers (of the first plane), and blocks of a
 * group. */
#define TILE32_S(f) ((f)->scales * 16)
#define TILE32_Q(f) ((f)->split ? 256 : (f)->bits * 64)
#define TILE32_G(f) (4 / (f)->scales)

#endif
