/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/q3_k/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f32(to, in, 108);
    for (int r = 0; r < KERN_ROWS; r++) {
        const uint8_t *p = in->p[r] + 96;
        uint32_t a = tile256_word(p), b = tile256_word(p + 4),
                 h = tile256_word(p + 8);
        uint32_t w[4] = {
            (a & 0x0f0f0f0f) | (h & 0x03030303) << 4,
            (b & 0x0f0f0f0f) | (h >> 2 & 0x03030303) << 4,
            (a >> 4 & 0x0f0f0f0f) | (h >> 4 & 0x03030303) << 4,
            (b >> 4 & 0x0f0f0f0f) | (h >> 6 & 0x03030303) << 4,
        };

        /* Bytes less 32: 6 bits, so that none borrows. */
        for (int i = 0; i < 4; i++)
            w[i] = ((w[i] | 0x80808080) - 0x20202020) ^ 0x80808080;
        tile256_put_pairs(to + Q3_K_S, r, (const uint8_t *)w);
    }
    tile256_words(to + Q3_K_V, in, 32, 8);
    tile256_words(to + Q3_K_V + 768, in, 64, 8);
    for (int r = 0; r < KERN_ROWS; r++)
        for (int i = 0; i < 4; i++) {
            uint32_t a = tile256_word(in->p[r] + i * 4),
                     b = tile256_word(in->p[r] + i * 4 + 16);
            uint32_t u = (a & 0x0f0f0f0f) | (b & 0x0f0f0f0f) << 4,
                     v = (a >> 4 & 0x0f0f0f0f) | (b & 0xf0f0f0f0);
            uint8_t *h = to + Q3_K_V + 512 + i * 64 + r * 4;

            memcpy(h, &u, 4);
            memcpy(h + 768, &v, 4);
        }
}

void q3_k_pack(void *panel, const void *row, size_t stride, int rows, int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 110, Q3_K_PANEL, block);
}
