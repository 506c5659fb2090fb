/* SPDX-License-Identifier: MIT
 * f32: floats as they are.  See floats/ref.h. */
#include "kernels/quant/floats/ref.h"

#include "base/num.h"
#include "kernels/quant/rows.h"

static float read_elem(const void *p)
{
    return rd_f32(p);
}

FLOAT_TYPE(f32, 4, read_elem)
