/* SPDX-License-Identifier: MIT
 * kv.h - what the files of kv share. */
#ifndef LLM_KERNELS_OP_KV_H
#define LLM_KERNELS_OP_KV_H

#include "kernels/kern.h"

void kv_init(struct kern *k, unsigned flags);
void kv_avx2(struct kern *k);
void kv_avx512(struct kern *k);

#endif
