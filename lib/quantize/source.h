/* SPDX-License-Identifier: MIT
 * source.h - a model's tensors as floats. */
#ifndef LLM_QUANTIZE_SOURCE_H
#define LLM_QUANTIZE_SOURCE_H

#include "gguf/gguf.h"
#include "quantize/quantize.h"

/* Can elements of this type be had? */
bool source_known(uint32_t type);
/* N elements at P, whole blocks of the type, to floats. */
void source_load(float *to, const void *p, uint32_t type, int64_t n,
                 const struct quantize *q);

#endif
