/* SPDX-License-Identifier: MIT
 * ref.c - mxfp4: 32 values of 4 bits (E2M1), 2^(e - 127) * table[x].
 * A block: u8 e; 16 bytes, the low halves x[0..15], the high ones x[16..31].
 * The table is doubled, so the scale is 2^(e - 128); e = 255 is no NaN here,
 * as nobody who writes these files means one. */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void mxfp4_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    (void)m;
    *d = tile32_e8m0_half(p[0]);
    for (int i = 0; i < 16; i++) {
        v[i] = tile32_fp4[p[1 + i] & 15];
        v[i + 16] = tile32_fp4[p[1 + i] >> 4];
    }
}

TILE32_REF(mxfp4, 17, 0)

void mxfp4_init(struct kern *k)
{
    mxfp4_rows(k);
}
