/* SPDX-License-Identifier: MIT */
#define TILE32_WIDTHS X(8) X(4) X(2) X(1)
#include "kernels/quant/tile32/simd.h"

#define X(name) TILE32_MUL(name, avx512)
#include "kernels/quant/tile32/types.h"
X(split)
X(upper)
#undef X

void tile32_avx512(struct kern *k)
{
#define X(name) TILE32_SET(name, avx512)
#include "kernels/quant/tile32/types.h"
#undef X
    k->split.mul = tile32_split_avx512;
    k->split.most = tile32_upper_avx512;
}
