/* SPDX-License-Identifier: MIT
 * ref.c - q4_k: v of 4 bits, s and m of 6 for each 32.
 * A block: f16 d; f16 dmin; 12 bytes of s and m; 4 x 32 bytes, the low halves
 * for 32 values, the high ones for the next 32.  v <= 15, s and m <= 63. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"

static void q4_k_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p));
    k->dmin = f16_f32(rd_u16(p + 2));
    tile256_scales(k, p + 4);
    for (int i = 0; i < 128; i++) {
        int at = i / 32 * 64 + i % 32;

        k->v[at] = p[16 + i] & 15;
        k->v[at + 32] = (int8_t)(p[16 + i] >> 4);
    }
}

TILE256_REF(q4_k, 144, 1)

void q4_k_init(struct kern *k)
{
    q4_k_rows(k);
}
