/* SPDX-License-Identifier: MIT
 * panel.h - iq4_xs: 16 f32 d; s in pairs [4][16][2]; then 8 groups of 32
 * values, 4 vectors whose low halves are 16 values, the high ones the next. */
#ifndef LLM_KERNELS_QUANT_IQ4_XS_PANEL_H
#define LLM_KERNELS_QUANT_IQ4_XS_PANEL_H

#include "kernels/quant/tile256/form.h"

enum { IQ4_XS_S = 64, IQ4_XS_V = 192, IQ4_XS_PANEL = 2240 };

static const struct tile256_form iq4_xs_form = {
    .bytes = IQ4_XS_PANEL,
    .scale = IQ4_XS_S,
    .pair = IQ4_XS_S,
    .quant = IQ4_XS_V,
    .scales = TILE256_PAIRS,
    .chunk = 64,
    .chunk_bytes = 512,
    .group = 32,
    .off = 128,
    .fit = 16, /* 16 * 15 * 128 < 2^15 */
    .table = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197,
              217, 241},
};

kern_pack_fn iq4_xs_pack;

#ifdef TILE256_VECTORS
TILE256_INLINE VB iq4_xs_values(const uint8_t *q, int i, int h)
{
    return tile256_and(
        tile256_right(tile256_load(q + i / 32 * 256 + i % 16 * 16, h),
                      i % 32 / 16 * 4),
        15);
}
#endif

#endif
