/* SPDX-License-Identifier: MIT
 * EmbeddingGemma: Gemma 3 whose tokens see each other both ways. */
#include "model/arch/gemma3.h"

const struct arch arch_gemma_embedding = {"gemma-embedding", ARCH_BOTH,
                                          gemma3_build};
