/* SPDX-License-Identifier: MIT */
#if defined(__GNUC__) && !defined(__clang__)
/* What it loads early takes the registers of sums. */
#pragma GCC optimize("no-schedule-insns")
#endif
#include "kernels/op/attend/simd.h"
