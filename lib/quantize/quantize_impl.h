/* SPDX-License-Identifier: MIT
 * quantize_impl.h - what the instruction sets' files give quantize.c. */
#ifndef LLM_QUANTIZE_QUANTIZE_IMPL_H
#define LLM_QUANTIZE_QUANTIZE_IMPL_H

#include "quantize/quantize.h"

extern const struct quantize quantize_base, quantize_avx2;

#endif
