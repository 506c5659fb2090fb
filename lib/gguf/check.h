/* SPDX-License-Identifier: MIT
 * check.h - what gguf_open() does not look at: the tensors' contents, and what
 * a key's name says of its type. */
#ifndef LLM_GGUF_CHECK_H
#define LLM_GGUF_CHECK_H

#include "gguf/gguf.h"

/* How many blocks of T have a scale that is NaN or infinite; of a type without
 * blocks, how many elements are.  *FIRST is the first one's index.  Integer
 * types have none. */
uint64_t gguf_bad_blocks(uint64_t *first, const struct gguf_tensor *t);

/* Bytes of shard I beyond its last tensor and that tensor's padding, or, when
 * it has no tensors, beyond the start of its data. */
uint64_t gguf_trailing(const struct gguf *g, int i);

/* Bytes between tensors of shard I, and before the first, that are more than
 * padding. */
uint64_t gguf_gaps(const struct gguf *g, int i);

/* Has key I, when its name is a known one, a type that its readers take, and,
 * when it goes with the tokens, as many elements as those?  0, or -1 with
 * ERR_FORMAT. */
int gguf_check_key(const struct gguf *g, size_t i, struct err *e);

/* What a value of KEY is usually given, or, for an ARRAY, its elements; false
 * when the name is not known, or is not one of an array. */
bool gguf_usual_type(enum gguf_type *type, const struct gguf *g,
                     struct gguf_str key, bool array);

#endif
