/* SPDX-License-Identifier: MIT
 * ref.c - q2_0: 64 weights, d times -1 to 2 in 2 bits.
 * A block: f16 d; 16 bytes, the first weight in the lowest bits. */
#include "base/num.h"
#include "kernels/quant/x8/x8.h"

static void q2_0_expand(int8_t *q, float *d, const uint8_t *p)
{
    for (int i = 0; i < 2; i++)
        d[i] = f16_f32(rd_u16(p));
    for (int i = 0; i < 64; i++)
        q[i] = (int8_t)((p[2 + i / 4] >> i % 4 * 2 & 3) - 1);
}

X8(q2_0, 64, 18, 32)
