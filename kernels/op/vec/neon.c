/* SPDX-License-Identifier: MIT */
#include "kernels/op/vec/simd.h"
