/* SPDX-License-Identifier: MIT
 * ref.c - q3_k: v of 3 bits less 4, s of 6 bits less 32 for each 16.
 * A block: 32 bytes, bit g of byte i the third of v[32 * g + i]; 2 x 32 bytes,
 * each holding the low 2 bits of 4 values that are 32 apart; 12 bytes of s, the
 * low 4 bits in the halves of 0-7, the high 2 in those of 8-11; f16 d.
 * |v| <= 4, |s| <= 32. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"

static void q3_k_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p + 108));
    k->dmin = 0;
    for (int i = 0; i < 16; i++) {
        int low = p[96 + i % 8] >> (i < 8 ? 0 : 4) & 15;

        k->s[i] = (int8_t)((low | (p[104 + i % 4] >> i / 4 * 2 & 3) << 4) - 32);
        k->m[i] = 0;
    }
    for (int i = 0; i < 256; i++) {
        int low = p[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;

        k->v[i] = (int8_t)((low | (p[i % 32] >> i / 32 & 1) << 2) - 4);
    }
}

TILE256_REF(q3_k, 110, 0)

void q3_k_init(struct kern *k)
{
    q3_k_rows(k);
}
