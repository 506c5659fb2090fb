/* SPDX-License-Identifier: MIT
 * kvrow.h - what the files of kvrow share. */
#ifndef LLM_KERNELS_OP_KVROW_H
#define LLM_KERNELS_OP_KVROW_H

#include "kernels/kern.h"

void kvrow_init(struct kern *k, unsigned flags);
void kvrow_avx2(struct kern *k);
void kvrow_avx512(struct kern *k);
void kvrow_neon(struct kern *k);

#endif
