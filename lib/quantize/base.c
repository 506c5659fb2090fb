/* SPDX-License-Identifier: MIT */
#include "quantize/quantize_impl.h"

#define ROWS_NAME quantize_base
#include "quantize/rows.h"
