/* SPDX-License-Identifier: MIT
 * act.h - activations as products take them: tiles of columns.
 *
 * A batch of M columns is cut into tiles of KERN_TILE columns (which registers
 * take 12 or 16 of at a time), the last one of the rest; they stand one behind
 * the other.  A tile of W columns and N elements is, block after block:
 *   F32:  float x[n][w]
 *   Q32:  for 32 elements { int8 q[w][32]; float d[w]; int32 sum[w];
 *                           float ds[w] }
 *   Q256: for 256 { int8 q[w][256]; float d[w]; int16 sum16[w][16];
 *                   int16 sum32[w][8] }
 * d = amax / 127, q = x * (127 / amax) rounded to nearest even, sums are those
 * of q (over all 32, or over each 16 and 32), ds = d * (float)sum.  Where amax
 * is below 2^-100, d and q are 0; where it is not finite, d is NaN and q 0.
 */
#ifndef LLM_KERNELS_ACT_H
#define LLM_KERNELS_ACT_H

#include <stddef.h>
#include <stdint.h>

enum { KERN_TILE = 48 };

enum kern_act { KERN_ACT_F32, KERN_ACT_Q32, KERN_ACT_Q256, KERN_NACT };

/* Bytes of a block of one column. */
enum { ACT_Q32_BYTES = 32 + 12, ACT_Q256_BYTES = 256 + 4 + 32 + 16 };

/* Elements of a block. */
static inline int kern_act_block(enum kern_act a)
{
    return a == KERN_ACT_F32 ? 1 : a == KERN_ACT_Q32 ? 32 : 256;
}

/* Bytes of a tile of W columns and N elements. */
static inline size_t kern_tile_bytes(enum kern_act a, int64_t n, int w)
{
    size_t c = a == KERN_ACT_F32   ? sizeof(float)
               : a == KERN_ACT_Q32 ? ACT_Q32_BYTES
                                   : ACT_Q256_BYTES;

    return (size_t)(n / kern_act_block(a)) * c * (size_t)w;
}

/* The tiles that W columns of N elements stand in, one after the other: V is
 * the columns of each, and TILE and Y go on with it. */
#define KERN_EACH_TILE(act, n, w, v, tile, y, ldy)                             \
    for (int v; (v = (w) < KERN_TILE ? (w) : KERN_TILE) > 0;                   \
         (w) -= v, (y) += (size_t)v * (ldy),                                   \
         (tile) = (const char *)(tile) + kern_tile_bytes(act, n, v))

#endif
