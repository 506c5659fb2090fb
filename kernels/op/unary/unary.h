/* SPDX-License-Identifier: MIT
 * unary.h - what the files of unary share. */
#ifndef LLM_KERNELS_OP_UNARY_H
#define LLM_KERNELS_OP_UNARY_H

#include "kernels/kern.h"

void unary_init(struct kern *k, unsigned flags);
void unary_avx2(struct kern *k);
void unary_avx512(struct kern *k);
void unary_neon(struct kern *k);

#endif
