/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/q2_k/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f16(to, in, 80);
    tile256_f16(to + 32, in, 82);
    tile256_pairs(to + Q2_K_S, in, 0);
    tile256_words(to + Q2_K_V, in, 16, 16);
}

void q2_k_pack(void *panel, const void *row, size_t stride, int rows, int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 84, Q2_K_PANEL, block);
}
