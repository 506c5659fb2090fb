/* SPDX-License-Identifier: MIT
 * ref.c - q1_0: 128 weights, d where their bit is set, else -d.
 * A block: f16 d; 16 bytes, the first weight in the lowest bit. */
#include "base/num.h"
#include "kernels/quant/x8/x8.h"

static void q1_0_expand(int8_t *q, float *d, const uint8_t *p)
{
    for (int i = 0; i < 4; i++)
        d[i] = f16_f32(rd_u16(p));
    for (int i = 0; i < 128; i++)
        q[i] = p[2 + i / 8] >> i % 8 & 1 ? 1 : -1;
}

X8(q1_0, 128, 18, 32)
