/* SPDX-License-Identifier: MIT
 * ref.c - iq2_s: 256 weights, d * (s + 1/2) / 4 * grid; s for 16, a grid entry
 * and 8 signs for 8.
 * A block: f16 d; 32 bytes, the low 8 bits of the entries' numbers; 32 bytes of
 * signs; 8 bytes, two higher bits of four entries each; 8 bytes of two s. */
#include "base/num.h"
#include "kernels/quant/iq2_s/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

static void iq2_s_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    for (int g = 0; g < 16; g++) {
        int s = p[74 + g / 2] >> g % 2 * 4 & 15;

        d[g] = scale * ((float)s + 0.5f) * 0.25f;
        for (int i = 2 * g; i < 2 * g + 2; i++, q += 8) {
            int high = p[66 + i / 4] >> i % 4 * 2 & 3;
            grid_put8(q, iq2_s_grid[p[2 + i] | high << 8], grid_iq2, p[34 + i]);
        }
    }
}

X8(iq2_s, 256, 82, 16)
