/* SPDX-License-Identifier: MIT */
#include "kernels/op/kv/simd.h"
