/* SPDX-License-Identifier: MIT
 * attend.h - what the files of attend share. */
#ifndef LLM_KERNELS_OP_ATTEND_H
#define LLM_KERNELS_OP_ATTEND_H

#include "kernels/kern.h"

void attend_init(struct kern *k, unsigned flags);
void attend_avx2(struct kern *k);
void attend_avx512(struct kern *k);
void attend_neon(struct kern *k);

#endif
