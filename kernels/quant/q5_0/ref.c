/* SPDX-License-Identifier: MIT
 * ref.c - q5_0: 32 values x of 5 bits, d * (x - 16).
 * A block: f16 d; u32 h, bit i the fifth of x[i]; 16 bytes, the low halves for
 * x[0..15], the high ones for x[16..31]. */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void q5_0_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    uint32_t h = rd_u32(p + 2);

    (void)m;
    *d = f16_f32(rd_u16(p));
    for (int i = 0; i < 16; i++) {
        v[i] = (int8_t)(((p[6 + i] & 15) | (h >> i & 1) << 4) - 16);
        v[i + 16] = (int8_t)((p[6 + i] >> 4 | (h >> (i + 16) & 1) << 4) - 16);
    }
}

TILE32_REF(q5_0, 22, 0)

void q5_0_init(struct kern *k)
{
    q5_0_rows(k);
}
