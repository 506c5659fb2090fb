/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile32/neon.h"
