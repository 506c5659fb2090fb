/* SPDX-License-Identifier: MIT
 * gemma3.h - the layers of Gemma 3, which EmbeddingGemma has too. */
#ifndef LLM_MODEL_ARCH_GEMMA3_H
#define LLM_MODEL_ARCH_GEMMA3_H

#include "model/arch.h"

void gemma3_build(struct build *b);

#endif
