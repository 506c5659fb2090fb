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
    .quant = Q2_K_V,
    .chunk = 128,
    .chunk_bytes = 512,
    .group = 16,
    .fit = 64, /* 64 * 3 * 128 < 2^15 */
    .parts = 1,
    .min = true,
};

kern_pack_fn q2_k_pack;

#endif
