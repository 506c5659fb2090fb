/* SPDX-License-Identifier: MIT
 * ref.c - q8_0: 32 values x of 8 bits, d * x.
 * A block: f16 d; int8 x[32]. */
#include "kernels/quant/tile32/ref.h"
#include "base/num.h"
#include "kernels/quant/rows.h"

static void q8_0_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    (void)m;
    *d = f16_f32(rd_u16(p));
    memcpy(v, p + 2, 32);
}

TILE32_REF(q8_0, 34, 0)

void q8_0_init(struct kern *k)
{
    q8_0_rows(k);
}
