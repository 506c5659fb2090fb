/* SPDX-License-Identifier: MIT */
#include "kernels/quant/tile256/neon.h"
