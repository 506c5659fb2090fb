/* SPDX-License-Identifier: MIT */
#include "kernels/op/kvrow/simd.h"
