/* SPDX-License-Identifier: MIT
 * ref.c - iq1_s: 256 weights, d * (2s + 1) * (grid +- 1/8); s and the sign of
 * the eighth for 32, and a grid entry for 8.
 * A block: f16 d; 32 bytes, the low 8 bits of the entries' numbers; 8 x u16,
 * three higher bits of four entries each, s in 3 bits, the sign. */
#include "base/num.h"
#include "kernels/quant/iq1_s/grid_data.h"
#include "kernels/quant/x8/grid.h"
#include "kernels/quant/x8/x8.h"

/* In eighths. */
static const int8_t less[4] = {-9, -1, 7}, more[4] = {-7, 1, 9};

static void iq1_s_expand(int8_t *q, float *d, const uint8_t *p)
{
    float scale = f16_f32(rd_u16(p));

    for (int b = 0; b < 8; b++) {
        unsigned h = rd_u16(p + 34 + 2 * b);

        d[b] = scale * (float)(2 * (h >> 12 & 7) + 1) * 0.125f;
        for (int i = 0; i < 4; i++, q += 8)
            grid_put8(q, iq1_grid[p[2 + 4 * b + i] | (h >> 3 * i & 7) << 8],
                      h >> 15 ? less : more, 0);
    }
}

X8(iq1_s, 256, 50, 32)
