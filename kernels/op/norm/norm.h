/* SPDX-License-Identifier: MIT
 * norm.h - what the files of norm share. */
#ifndef LLM_KERNELS_OP_NORM_H
#define LLM_KERNELS_OP_NORM_H

#include "kernels/kern.h"

void norm_init(struct kern *k, unsigned flags);
void norm_avx2(struct kern *k);
void norm_avx512(struct kern *k);
void norm_neon(struct kern *k);

#endif
