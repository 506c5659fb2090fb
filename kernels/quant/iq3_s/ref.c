/* SPDX-License-Identifier: MIT
 * ref.c - iq3_s: 256 weights, d * (2s + 1) * grid; s for 32, 8 signs for 8, a
 * grid entry for 4.
 * A block: f16 d; 64 bytes, the low 8 bits of the entries' numbers; 8 bytes,
 * the highest bit of eight entries each; 32 bytes of signs; 4 bytes of two s.
 */
#include "base/num.h"
#include "kernels/quant/iq3_s/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

static const int8_t map[8] = {1, 3, 5, 7, 9, 11, 13, 15};

static void iq3_s_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    for (int b = 0; b < 8; b++) {
        int s = p[106 + b / 2] >> b % 2 * 4 & 15;

        d[b] = scale * (float)(2 * s + 1);
        for (int i = 0; i < 8; i++, q += 4) {
            int high = p[66 + b] >> i & 1;
            int signs = p[74 + 4 * b + i / 2] >> i % 2 * 4;

            grid_put4(q, iq3_s_grid[p[2 + 8 * b + i] | high << 8], map,
                      (unsigned)signs);
        }
    }
}

X8(iq3_s, 256, 110, 32)
