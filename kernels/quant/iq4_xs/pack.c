/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/iq4_xs/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f32(to, in, 0);
    for (int r = 0; r < KERN_ROWS; r++) {
        const uint8_t *p = in->p[r];
        uint32_t high = rd_u16(p + 2);

        for (int g = 0; g < 8; g += 2) {
            uint32_t low = p[4 + g / 2];
            uint8_t *s = to + IQ4_XS_S + g * 16 + r * 2;

            s[0] = (uint8_t)((low & 15) + ((high >> 2 * g & 3) << 4) - 32);
            s[1] =
                (uint8_t)((low >> 4) + ((high >> (2 * g + 2) & 3) << 4) - 32);
        }
    }
    tile256_words(to + IQ4_XS_V, in, 8, 32);
}

void iq4_xs_pack(void *panel, const void *row, size_t stride, int rows,
                 int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 136, IQ4_XS_PANEL, block);
}
