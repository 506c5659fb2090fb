/* SPDX-License-Identifier: MIT */
#define TILE32_WIDTHS X(12) X(8) X(7) X(6) X(5) X(4) X(3) X(2) X(1)
#include "kernels/quant/tile32/simd.h"

#define X(name) TILE32_MUL(name, avx512vnni)
#include "kernels/quant/tile32/types.h"
X(split)
X(upper)
#undef X

void tile32_avx512vnni(struct kern *k)
{
#define X(name) TILE32_SET(name, avx512vnni)
#include "kernels/quant/tile32/types.h"
#undef X
    k->split.mul = tile32_split_avx512vnni;
    k->split.most = tile32_upper_avx512vnni;
}
