/* SPDX-License-Identifier: MIT */
#include "kernels/op/soft/simd.h"
