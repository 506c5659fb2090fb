/* SPDX-License-Identifier: MIT */
#define X8_WIDTHS X(4) X(2) X(1)
#include "kernels/quant/x8/simd.h"

const struct x8_muls x8_avx2 = {x8_g16, x8_g32};
