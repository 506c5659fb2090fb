/* SPDX-License-Identifier: MIT
 * ref.c - iq1_m: 256 weights, d * (2s + 1) * (grid +- 1/8); s for 16, the sign
 * of the eighth and a grid entry for 8.
 * A block: 32 bytes, the low 8 bits of the entries' numbers; 16 bytes, for two
 * entries each three higher bits and the sign; 4 x u16, four s of 3 bits each,
 * and above them a quarter of the f16 d, the lowest first. */
#include "base/num.h"
#include "kernels/quant/iq1_s/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

/* In eighths. */
static const int8_t less[4] = {-9, -1, 7}, more[4] = {-7, 1, 9};

static void iq1_m_expand(int8_t *q, float *d, const uint8_t *p)
{
    unsigned s[4], bits = 0;
    float scale;

    for (int i = 0; i < 4; i++) {
        s[i] = rd_u16(p + 48 + 2 * i);
        bits |= s[i] >> 12 << 4 * i;
    }
    scale = f16_f32((uint16_t)bits);
    for (int g = 0; g < 16; g++) {
        unsigned h = p[32 + g];

        d[g] = scale * (float)(2 * (s[g / 4] >> g % 4 * 3 & 7) + 1) * 0.125f;
        for (int i = 0; i < 2; i++, q += 8, h >>= 4)
            grid_put8(q, iq1_grid[p[2 * g + i] | (h & 7) << 8],
                      h & 8 ? less : more, 0);
    }
}

X8(iq1_m, 256, 56, 16)
