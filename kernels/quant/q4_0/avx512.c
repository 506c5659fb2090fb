/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile32_avx512.h"

TILE32_AVX512(q4_0)
