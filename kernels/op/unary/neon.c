/* SPDX-License-Identifier: MIT */
#include "kernels/op/unary/simd.h"
