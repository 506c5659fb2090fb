/* SPDX-License-Identifier: MIT
 * ref.c - iq4_nl: 32 values of 4 bits, d * table[x].
 * A block: f16 d; 16 bytes, the low halves x[0..15], the high ones x[16..31].
 */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void iq4_nl_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    (void)m;
    *d = f16_f32(rd_u16(p));
    for (int i = 0; i < 16; i++) {
        v[i] = tile32_iq4[p[2 + i] & 15];
        v[i + 16] = tile32_iq4[p[2 + i] >> 4];
    }
}

TILE32_REF(iq4_nl, 18, 0)

void iq4_nl_init(struct kern *k)
{
    iq4_nl_rows(k);
}
