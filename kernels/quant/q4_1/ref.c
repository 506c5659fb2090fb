/* SPDX-License-Identifier: MIT
 * ref.c - q4_1: 32 values x of 4 bits, d * x + m.
 * A block: f16 d, m; 16 bytes, the low halves x[0..15], the high ones
 * x[16..31]. */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void q4_1_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    *d = f16_f32(rd_u16(p));
    *m = f16_f32(rd_u16(p + 2));
    for (int i = 0; i < 16; i++) {
        v[i] = p[4 + i] & 15;
        v[i + 16] = p[4 + i] >> 4;
    }
}

TILE32_REF(q4_1, 20, 1)

void q4_1_init(struct kern *k)
{
    q4_1_rows(k);
}
