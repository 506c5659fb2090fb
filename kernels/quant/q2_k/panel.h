/* SPDX-License-Identifier: MIT
 * panel.h - q2_k: 16 f16 d, 16 f16 dmin; s and m in halves of a byte, in pairs
 * [8][16][2]; then 2 chunks of 128 values, 8 vectors of 2 bits of 4 values that
 * are 32 apart. */
#ifndef LLM_KERNELS_QUANT_Q2_K_PANEL_H
#define LLM_KERNELS_QUANT_Q2_K_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { Q2_K_S = 64, Q2_K_V = 320, Q2_K_PANEL = 1344 };

static const struct tile256_form q2_k_form = {
    .bytes = Q2_K_PANEL,
    .scale = Q2_K_S,
    .pair = Q2_K_S,
    .quant = Q2_K_V,
    .scales = TILE256_HALVES,
    .chunk = 128,
    .chunk_bytes = 512,
    .group = 16,
    .fit = 64, /* 64 * 3 * 128 < 2^15 */
};

kern_pack_fn q2_k_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB q2_k_values(const uint8_t *q, int i, int h)
{
    return tile256_and(
        tile256_right(tile256_load(q + i % 32 * 16, h), i / 32 * 2), 3);
}
#endif

#endif
