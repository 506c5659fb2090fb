/* SPDX-License-Identifier: MIT
 * panel.h - q5_k: 16 f16 d, 16 f16 dmin; s[8][16]; m in pairs [4][16][2]; then
 * 4 chunks of 64 values, 8 vectors whose low halves are 32 values, the high
 * ones the next, and 2 of fifth bits: those of vector i are bits i / 2 * 2 and
 * the next of vector i % 2. */
#ifndef LLM_KERNELS_QUANT_Q5_K_PANEL_H
#define LLM_KERNELS_QUANT_Q5_K_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { Q5_K_S = 64, Q5_K_M = 192, Q5_K_V = 320, Q5_K_PANEL = 2880 };

static const struct tile256_form q5_k_form = {
    .bytes = Q5_K_PANEL,
    .scale = Q5_K_S,
    .pair = Q5_K_M,
    .quant = Q5_K_V,
    .scales = TILE256_EACH,
    .chunk = 64,
    .chunk_bytes = 640,
    .group = 32,
    .fit = 8, /* 8 * 31 * 128 < 2^15 */
};

kern_pack_fn q5_k_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB q5_k_values(const uint8_t *q, int i, int h)
{
    VB v = tile256_right(tile256_load(q + i % 32 * 16, h), i / 32 * 4);
    VB u = tile256_right(tile256_load(q + 512 + i % 8 * 16, h),
                         i / 32 + i % 32 / 8 * 2 - 4);

    return tile256_or_and(tile256_and(v, 15), u, 16);
}
#endif

#endif
