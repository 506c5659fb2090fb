/* SPDX-License-Identifier: MIT
 * rope.h - what the files of rope share. */
#ifndef LLM_KERNELS_OP_ROPE_H
#define LLM_KERNELS_OP_ROPE_H

#include "kernels/kern.h"

void rope_init(struct kern *k, unsigned flags);
void rope_avx2(struct kern *k);
void rope_avx512(struct kern *k);
void rope_neon(struct kern *k);

#endif
