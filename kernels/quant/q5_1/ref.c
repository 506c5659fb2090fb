/* SPDX-License-Identifier: MIT
 * ref.c - q5_1: 32 values x of 5 bits, d * x + m.
 * A block: f16 d, m; u32 h, bit i the fifth of x[i]; 16 bytes, the low halves
 * for x[0..15], the high ones for x[16..31]. */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void q5_1_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    uint32_t h = rd_u32(p + 4);

    *d = f16_f32(rd_u16(p));
    *m = f16_f32(rd_u16(p + 2));
    for (int i = 0; i < 16; i++) {
        v[i] = (int8_t)((p[8 + i] & 15) | (h >> i & 1) << 4);
        v[i + 16] = (int8_t)(p[8 + i] >> 4 | (h >> (i + 16) & 1) << 4);
    }
}

TILE32_REF(q5_1, 24, 1)

void q5_1_init(struct kern *k)
{
    q5_1_rows(k);
}
