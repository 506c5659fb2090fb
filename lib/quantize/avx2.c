/* SPDX-License-Identifier: MIT */
#include "quantize/quantize_impl.h"

#define ROWS_NAME quantize_avx2
#include "quantize/rows.h"
