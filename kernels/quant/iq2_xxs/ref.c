/* SPDX-License-Identifier: MIT
 * ref.c - iq2_xxs: 256 weights, d * (s + 1/2) / 4 * grid; s for 32, a grid
 * entry and its 7 signs for 8.
 * A block: f16 d; 8 x { 4 bytes, the entries' numbers; u32, four times 7
 * signs, s in the highest 4 bits }. */
#include "base/num.h"
#include "kernels/quant/iq2_xxs/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

static void iq2_xxs_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    p += 2;
    for (int b = 0; b < 8; b++, p += 8) {
        uint32_t s = rd_u32(p + 4);

        d[b] = scale * ((float)(s >> 28) + 0.5f) * 0.25f;
        for (int i = 0; i < 4; i++, q += 8)
            grid_put8(q, iq2_xxs_grid[p[i]], grid_iq2, grid_signs(s >> 7 * i));
    }
}

X8(iq2_xxs, 256, 66, 32)
