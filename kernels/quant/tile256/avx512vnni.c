/* SPDX-License-Identifier: MIT */
#define TILE256_WIDTHS X(12) X(8) X(7) X(6) X(5) X(4) X(3) X(2) X(1)
#include "kernels/quant/tile256/simd.h"

#include "kernels/quant/tile256/panels.h"

#define X(name) TILE256_MUL(name, avx512vnni)
#include "kernels/quant/tile256/types.h"
