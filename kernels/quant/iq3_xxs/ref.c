/* SPDX-License-Identifier: MIT
 * ref.c - iq3_xxs: 256 weights, d * (s + 1/2) / 2 * grid; s for 32, 7 signs for
 * 8, a grid entry for 4.
 * A block: f16 d; 64 bytes, the entries' numbers; 8 x u32, four times 7 signs,
 * s in the highest 4 bits. */
#include "base/num.h"
#include "kernels/quant/iq3_xxs/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

static const int8_t map[8] = {4, 12, 20, 28, 36, 44, 52, 62};

static void iq3_xxs_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    for (int b = 0; b < 8; b++) {
        uint32_t s = rd_u32(p + 66 + 4 * b);

        d[b] = scale * ((float)(s >> 28) + 0.5f) * 0.5f;
        for (int i = 0; i < 4; i++, q += 8) {
            unsigned signs = grid_signs(s >> 7 * i);
            const uint8_t *e = p + 2 + 8 * b + 2 * i;

            grid_put4(q, iq3_xxs_grid[e[0]], map, signs);
            grid_put4(q + 4, iq3_xxs_grid[e[1]], map, signs >> 4);
        }
    }
}

X8(iq3_xxs, 256, 98, 32)
