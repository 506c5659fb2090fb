/* SPDX-License-Identifier: MIT
 * bf16: the upper half of a float.  See floats/ref.h. */
#include "kernels/quant/floats/ref.h"

#include "base/num.h"
#include "kernels/quant/rows.h"

static float read_elem(const void *p)
{
    return bf16_f32(rd_u16(p));
}

FLOAT_TYPE(bf16, 2, read_elem)
