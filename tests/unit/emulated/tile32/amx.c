/* SPDX-License-Identifier: MIT
 * The same source with AMX's tiles in plain C, under another name. */
#define LLM_AMX_EMULATED
#define tile32_amx emulated_tile32
#include "kernels/quant/tile32/amx.c"
