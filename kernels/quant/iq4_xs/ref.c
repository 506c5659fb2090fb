/* SPDX-License-Identifier: MIT
 * ref.c - iq4_xs: v a table's value of 4 bits, s of 6 bits less 32 for each
 * 32.
 * A block: f16 d; u16 of the high 2 bits of s; 4 bytes of two low 4 bits each;
 * 8 x 16 bytes, the low halves for 16 values, the high ones for the next 16.
 * |v| <= 127, |s| <= 32. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"
#include "kernels/quant/tile32/ref.h"

static void iq4_xs_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p));
    k->dmin = 0;
    memset(k->m, 0, sizeof k->m);
    for (int i = 0; i < 16; i++) {
        int low = p[4 + i / 4] >> (i & 2 ? 4 : 0) & 15;

        k->s[i] = (int8_t)((low | (rd_u16(p + 2) >> i / 2 * 2 & 3) << 4) - 32);
    }
    for (int i = 0; i < 256; i++)
        k->v[i] =
            tile32_iq4[p[8 + i / 32 * 16 + i % 16] >> (i & 16 ? 4 : 0) & 15];
}

TILE256_REF(iq4_xs, 136, 0)

void iq4_xs_init(struct kern *k)
{
    iq4_xs_rows(k);
}
