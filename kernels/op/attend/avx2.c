/* SPDX-License-Identifier: MIT */
#include "kernels/op/attend/simd.h"
