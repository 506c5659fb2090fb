/* SPDX-License-Identifier: MIT
 * hash.h - XXH3-128 of contents, as 32 hex digits and a NUL. */
#ifndef LLM_GGUF_HASH_H
#define LLM_GGUF_HASH_H

#include "gguf/gguf.h"

/* Every byte of T's data, and nothing else of it. */
void gguf_tensor_hash(char hex[33], const struct gguf_tensor *t);

/* All metadata and every tensor's name, type, shape and hash, whatever the
 * order, split, version and alignment.  TENSOR[i] is tensor i's hash; without
 * TENSOR, the first 4 KiB of each tensor stand for it: gguf_model_id(). */
void gguf_whole_hash(char hex[33], const struct gguf *g,
                     const char (*tensor)[33]);

#endif
