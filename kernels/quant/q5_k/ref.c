/* SPDX-License-Identifier: MIT
 * ref.c - q5_k: v of 5 bits, s and m of 6 for each 32.
 * A block: f16 d; f16 dmin; 12 bytes of s and m; 32 bytes, bit g of byte i the
 * fifth of v[32 * g + i]; 4 x 32 bytes, the low halves for 32 values, the high
 * ones for the next 32.  v <= 31, s and m <= 63. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"

static void q5_k_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p));
    k->dmin = f16_f32(rd_u16(p + 2));
    tile256_scales(k, p + 4);
    for (int i = 0; i < 256; i++) {
        int low = p[48 + i / 64 * 32 + i % 32] >> (i & 32 ? 4 : 0) & 15;

        k->v[i] = (int8_t)(low | (p[16 + i % 32] >> i / 32 & 1) << 4);
    }
}

TILE256_REF(q5_k, 176, 1)

void q5_k_init(struct kern *k)
{
    q5_k_rows(k);
}
