/* SPDX-License-Identifier: MIT
 * panel.h - q6_k: 16 f32 d; s in pairs [8][16][2]; then 2 chunks of 128 values,
 * 16 vectors whose low halves are 64 values, the high ones the next, and 8 of
 * the high 2 bits of 4 values that are 32 apart. */
#ifndef LLM_KERNELS_QUANT_Q6_K_PANEL_H
#define LLM_KERNELS_QUANT_Q6_K_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { Q6_K_S = 64, Q6_K_V = 320, Q6_K_PANEL = 3392 };

static const struct tile256_form q6_k_form = {
    .bytes = Q6_K_PANEL,
    .scale = Q6_K_S,
    .pair = Q6_K_S,
    .quant = Q6_K_V,
    .scales = TILE256_PAIRS,
    .chunk = 128,
    .chunk_bytes = 1536,
    .group = 16,
    .off = 32,
    .fit = 4, /* 4 * 63 * 128 < 2^15 */
};

kern_pack_fn q6_k_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB q6_k_values(const uint8_t *q, int i, int h)
{
    VB v = tile256_right(tile256_load(q + i % 64 * 16, h), i / 64 * 4);
    VB u =
        tile256_right(tile256_load(q + 1024 + i % 32 * 16, h), i / 32 * 2 - 4);

    return tile256_or_and(tile256_and(v, 15), u, 48);
}
#endif

#endif
