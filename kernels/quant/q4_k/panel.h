/* SPDX-License-Identifier: MIT
 * panel.h - q4_k: 16 f16 d, 16 f16 dmin; s[8][16]; m in pairs [4][16][2]; then
 * 4 chunks of 64 values, 8 vectors whose low halves are 32 values, the high
 * ones the next. */
#ifndef LLM_KERNELS_QUANT_Q4_K_PANEL_H
#define LLM_KERNELS_QUANT_Q4_K_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { Q4_K_S = 64, Q4_K_M = 192, Q4_K_V = 320, Q4_K_PANEL = 2368 };

static const struct tile256_form q4_k_form = {
    .bytes = Q4_K_PANEL,
    .scale = Q4_K_S,
    .pair = Q4_K_M,
    .quant = Q4_K_V,
    .scales = TILE256_EACH,
    .chunk = 64,
    .chunk_bytes = 512,
    .group = 32,
    .fit = 16, /* 16 * 15 * 128 < 2^15 */
};

kern_pack_fn q4_k_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB q4_k_values(const uint8_t *q, int i, int h)
{
    return tile256_and(
        tile256_right(tile256_load(q + i % 32 * 16, h), i / 32 * 4), 15);
}
#endif

#endif
