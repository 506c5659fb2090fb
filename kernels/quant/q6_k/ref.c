/* SPDX-License-Identifier: MIT
 * ref.c - q6_k: v of 6 bits less 32, s of 8 for each 16.
 * A block: 2 x 64 bytes of low halves, 2 x 32 of the high 2 bits, 16 x s, f16
 * d.  Of 128 values, the first 64 have their low 4 bits in the low halves of 64
 * bytes, the others in the high ones; the high 2 of 4 values that are 32 apart
 * share a byte.  |v| <= 32, |s| <= 128. */
#include "kernels/quant/tile256/ref.h"
#include "base/num.h"

static void q6_k_block(struct tile256_block *k, const uint8_t *p)
{
    k->d = f16_f32(rd_u16(p + 208));
    k->dmin = 0;
    memcpy(k->s, p + 192, 16);
    memset(k->m, 0, sizeof k->m);
    for (int i = 0; i < 256; i++) {
        int low = p[i / 128 * 64 + i % 64] >> (i & 64 ? 4 : 0) & 15;
        int high = p[128 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;

        k->v[i] = (int8_t)((low | high << 4) - 32);
    }
}

TILE256_REF(q6_k, 210, 0)

void q6_k_init(struct kern *k)
{
    q6_k_rows(k);
}
