/* SPDX-License-Identifier: MIT
 * adapter.h - LoRA adapters: files of matrices that are added to a model's.
 *
 * A file adapts weights W[n_out][n_in] by pairs A[r][n_in] and B[n_out][r],
 * called after them, with ".lora_a" and ".lora_b" at the end: W x becomes
 *
 *     W x + scale * (alpha / r) * B (A x)
 *
 * where SCALE is what a sequence asks for, and ALPHA the file's; where that is
 * 0 or absent, alpha / r is 1.
 */
#ifndef LLM_MODEL_ADAPTER_H
#define LLM_MODEL_ADAPTER_H

#include "base/err.h"
#include "gguf/gguf.h"

struct adapter;

/* The adapter in G, which must outlive *out.  ERR_FORMAT: no adapter, or pairs
 * that are none; ERR_UNSUPPORTED: of another kind.  Whether it fits a model,
 * model_open() says. */
int adapter_open(struct adapter **out, const struct gguf *g, struct err *e);
void adapter_close(struct adapter *a);

const struct gguf *adapter_gguf(const struct adapter *a);
/* XXH3-128 of all that it is, as 32 hex digits. */
const char *adapter_id(const struct adapter *a);
double adapter_alpha(const struct adapter *a); /* 0: none */

/* Tensor T's own name, and which of the two it is ('a' or 'b'); 0: neither. */
int adapter_part(struct gguf_str *base, const struct gguf_tensor *t);

#endif
