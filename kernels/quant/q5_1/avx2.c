/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile32_avx2.h"

TILE32_AVX2(q5_1)
