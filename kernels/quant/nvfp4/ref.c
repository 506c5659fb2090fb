/* SPDX-License-Identifier: MIT
 * ref.c - nvfp4: 64 weights of E2M1, a scale of UE4M3 for 16.
 * A block: 4 scales; 4 x 8 bytes, the low halves the first 8 of 16 weights, the
 * high ones the others. */
#include <math.h>

#include "kernels/quant/tile32/ref.h"
#include "kernels/quant/x8/x8.h"

/* Half of what the scale says, since tile32_fp4 is doubled; 0x7f is none. */
static float scale(uint8_t s)
{
    int e = s >> 3 & 15, m = s & 7;

    if (s == 0x7f)
        return 0;
    return e == 0 ? (float)m * 0x1p-10f : ldexpf((float)(8 + m), e - 11);
}

static void nvfp4_expand(int8_t *q, float *d, const uint8_t *p)
{
    for (int g = 0; g < 4; g++, q += 16) {
        d[g] = scale(p[g]);
        for (int i = 0; i < 8; i++) {
            uint8_t b = p[4 + 8 * g + i];

            q[i] = tile32_fp4[b & 15];
            q[8 + i] = tile32_fp4[b >> 4];
        }
    }
}

X8(nvfp4, 64, 36, 16)
