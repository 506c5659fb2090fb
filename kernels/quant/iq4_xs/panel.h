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
    .quant = IQ4_XS_V,
    .chunk = 64,
    .chunk_bytes = 512,
    .group = 32,
    .fit = 16, /* 16 * 15 * 128 < 2^15: of each half */
    .parts = 2,
};

kern_pack_fn iq4_xs_pack;

#endif
