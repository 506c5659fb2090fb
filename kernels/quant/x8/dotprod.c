/* SPDX-License-Identifier: MIT */
#include "kernels/quant/x8/neon.h"
