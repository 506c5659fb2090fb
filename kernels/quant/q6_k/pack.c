/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/q6_k/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f32(to, in, 208);
    tile256_pairs(to + Q6_K_S, in, 192);
    to += Q6_K_V;
    for (int c = 0; c < 2; c++, to += 1536) {
        tile256_words(to, in, c * 64, 16);
        tile256_words(to + 1024, in, 128 + c * 32, 8);
    }
}

void q6_k_pack(void *panel, const void *row, size_t stride, int rows, int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 210, Q6_K_PANEL, block);
}
