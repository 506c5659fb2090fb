/* SPDX-License-Identifier: MIT
 * panels.h - the panels of all types with super-blocks. */
#ifndef LLM_KERNELS_QUANT_TILE256_PANELS_H
#define LLM_KERNELS_QUANT_TILE256_PANELS_H

#include "kernels/quant/iq4_xs/panel.h"
#include "kernels/quant/q2_k/panel.h"
#include "kernels/quant/q3_k/panel.h"
#include "kernels/quant/q4_k/panel.h"
#include "kernels/quant/q5_k/panel.h"
#include "kernels/quant/q6_k/panel.h"

#endif
