/* SPDX-License-Identifier: MIT
 * panel.h - q3_k: 16 f32 d; s in pairs [8][16][2]; then 2 chunks of 128 values,
 * 8 vectors of 2 bits of 4 values that are 32 apart, and 4 of third bits: those
 * of vector i in the low half of vector i % 4 where i < 4, else in the high. */
#ifndef LLM_KERNELS_QUANT_Q3_K_PANEL_H
#define LLM_KERNELS_QUANT_Q3_K_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { Q3_K_S = 64, Q3_K_V = 320, Q3_K_PANEL = 1856 };

static const struct tile256_form q3_k_form = {
    .bytes = Q3_K_PANEL,
    .scale = Q3_K_S,
    .pair = Q3_K_S,
    .quant = Q3_K_V,
    .scales = TILE256_PAIRS,
    .chunk = 128,
    .chunk_bytes = 768,
    .group = 16,
    .off = 4,
    .fit = 32, /* 32 * 7 * 128 < 2^15 */
};

kern_pack_fn q3_k_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB q3_k_values(const uint8_t *q, int i, int h)
{
    VB v = tile256_right(tile256_load(q + i % 32 * 16, h), i / 32 * 2);
    VB u = tile256_right(tile256_load(q + 512 + i % 16 * 16, h),
                         i / 32 + i % 32 / 16 * 4 - 2);

    return tile256_or_and(tile256_and(v, 3), u, 4);
}
#endif

#endif
