/* SPDX-License-Identifier: MIT */
#include "kernels/op/norm/simd.h"
