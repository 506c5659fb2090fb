/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/pack.h"
#include "kernels/quant/q4_k/panel.h"

static void block(uint8_t *to, const struct tile256_rows *in)
{
    tile256_f16(to, in, 0);
    tile256_f16(to + 32, in, 2);
    tile256_scales(to + Q4_K_S, to + Q4_K_M, in, 4);
    tile256_words(to + Q4_K_V, in, 16, 32);
}

void q4_k_pack(void *panel, const void *row, size_t stride, int rows, int64_t n)
{
    tile256_pack(panel, row, stride, rows, n, 144, Q4_K_PANEL, block);
}
