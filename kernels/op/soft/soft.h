/* SPDX-License-Identifier: MIT
 * soft.h - what the files of soft share. */
#ifndef LLM_KERNELS_OP_SOFT_H
#define LLM_KERNELS_OP_SOFT_H

#include "kernels/kern.h"

void soft_init(struct kern *k, unsigned flags);
void soft_avx2(struct kern *k);
void soft_avx512(struct kern *k);
void soft_neon(struct kern *k);

#endif
