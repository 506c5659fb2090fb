/* SPDX-License-Identifier: MIT */
#include "kernels/op/rope/simd.h"
