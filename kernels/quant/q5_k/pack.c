/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/q5_k/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f16(to, in, 0);
    tile256_f16(to + 32, in, 2);
    tile256_scales(to + Q5_K_S, to + Q5_K_M, in, 4);
    to += Q5_K_V;
    for (int c = 0; c < 4; c++)
        tile256_words(to + c * 640, in, 48 + c * 32, 8);
    for (int r = 0; r < KERN_ROWS; r++)
        for (int i = 0; i < 2; i++) {
            const uint8_t *p = in->p[r] + 16 + i * 4;
            uint32_t a = tile256_word(p), b = tile256_word(p + 8),
                     c = tile256_word(p + 16), d = tile256_word(p + 24);

            for (int k = 0; k < 4; k++) {
                uint32_t u = (a >> 2 * k & 0x03030303) |
                             (b >> 2 * k & 0x03030303) << 2 |
                             (c >> 2 * k & 0x03030303) << 4 |
                             (d >> 2 * k & 0x03030303) << 6;

                memcpy(to + k * 640 + 512 + i * 64 + r * 4, &u, 4);
            }
        }
}

void q5_k_pack(void *panel, const void *row, size_t stride, int rows, int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 176, Q5_K_PANEL, block);
}
