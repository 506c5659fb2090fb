/* SPDX-License-Identifier: MIT
 * f16: IEEE 754 binary16.  See floats/ref.h. */
#include "kernels/quant/floats/ref.h"

#include "base/num.h"
#include "kernels/quant/rows.h"

static float read_elem(const void *p)
{
    return f16_f32(rd_u16(p));
}

FLOAT_TYPE(f16, 2, read_elem)
