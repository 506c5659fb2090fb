/* SPDX-License-Identifier: MIT
 * ref.c - q2_k: v of 2 bits, s and m of 4 for each 16.
 * A block: 16 bytes, s in the low half, m in the high; 2 x 32 bytes, each
 * holding 2 bits of 4 values that are 32 apart; f16 d; f16 dmin.  v <= 3, s and
 * m <= 15. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"

static void q2_k_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p + 80));
    k->dmin = f16_f32(rd_u16(p + 82));
    for (int i = 0; i < 16; i++) {
        k->s[i] = p[i] & 15;
        k->m[i] = p[i] >> 4;
    }
    for (int i = 0; i < 256; i++)
        k->v[i] = p[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

TILE256_REF(q2_k, 84, 1)

void q2_k_init(struct kern *k)
{
    q2_k_rows(k);
}
