/* SPDX-License-Identifier: MIT
 * ref.c - tq2_0: 256 weights, d times -1 to 2 in 2 bits.
 * A block: 2 x 32 bytes, each four times 32 weights, the first in the lowest
 * bits; f16 d. */
#include "base/num.h"
#include "kernels/quant/x8/x8.h"

static void tq2_0_expand(int8_t *q, float *d, const uint8_t *p)
{
    for (int i = 0; i < 8; i++)
        d[i] = f16_f32(rd_u16(p + 64));
    for (int i = 0; i < 256; i++)
        q[i] = (int8_t)((p[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
}

X8(tq2_0, 256, 66, 32)
