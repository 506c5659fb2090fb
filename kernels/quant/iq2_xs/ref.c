/* SPDX-License-Identifier: MIT
 * ref.c - iq2_xs: 256 weights, d * (s + 1/2) / 4 * grid; s for 16, a grid entry
 * and its 7 signs for 8.
 * A block: f16 d; 32 x u16, an entry's number in 9 bits and its signs; 8 bytes
 * of two s. */
#include "base/num.h"
#include "kernels/quant/iq2_xs/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

static void iq2_xs_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    for (int g = 0; g < 16; g++) {
        int s = p[66 + g / 2] >> g % 2 * 4 & 15;

        d[g] = scale * ((float)s + 0.5f) * 0.25f;
        for (int i = 0; i < 2; i++, q += 8) {
            unsigned e = rd_u16(p + 2 + 4 * g + 2 * i);
            grid_put8(q, iq2_xs_grid[e & 511], grid_iq2, grid_signs(e >> 9));
        }
    }
}

X8(iq2_xs, 256, 74, 16)
