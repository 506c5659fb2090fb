/* SPDX-License-Identifier: MIT
 * ref.c - q4_0: 32 values x of 4 bits, d * (x - 8).
 * A block: f16 d; 16 bytes, the low halves x[0..15], the high ones x[16..31].
 */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void q4_0_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    (void)m;
    *d = f16_f32(rd_u16(p));
    for (int i = 0; i < 16; i++) {
        v[i] = (int8_t)((p[2 + i] & 15) - 8);
        v[i + 16] = (int8_t)((p[2 + i] >> 4) - 8);
    }
}

TILE32_REF(q4_0, 18, 0)

void q4_0_init(struct kern *k)
{
    q4_0_rows(k);
}
