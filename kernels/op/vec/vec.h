/* SPDX-License-Identifier: MIT
 * vec.h - what the files of vec share. */
#ifndef LLM_KERNELS_OP_VEC_H
#define LLM_KERNELS_OP_VEC_H

#include "kernels/kern.h"

void vec_init(struct kern *k, unsigned flags);
void vec_avx2(struct kern *k);
void vec_avx512(struct kern *k);
void vec_neon(struct kern *k);

#endif
