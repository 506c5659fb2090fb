/* SPDX-License-Identifier: MIT
 * The same source with AMX's tiles in plain C, under other names. */
#define LLM_AMX_EMULATED
#define tile256_q2_k_amx   emulated_q2_k
#define tile256_q3_k_amx   emulated_q3_k
#define tile256_q4_k_amx   emulated_q4_k
#define tile256_q5_k_amx   emulated_q5_k
#define tile256_q6_k_amx   emulated_q6_k
#define tile256_iq4_xs_amx emulated_iq4_xs
#include "kernels/quant/tile256/amx.c"

void emulated_tile256(struct kern *k);

void emulated_tile256(struct kern *k)
{
#undef X
#define X(name) k->quant[KERN_##name].mul = tile256_##name##_amx;
#include "kernels/quant/tile256/types.h"
}
