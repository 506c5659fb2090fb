/* SPDX-License-Identifier: MIT */
#include "quantize/quantize.h"

#include <stddef.h>

#include "base/cpu.h"
#include "quantize/quantize_impl.h"

void quantize_init(struct quantize *q, unsigned flags)
{
    *q = quantize_base;
    (void)flags;
#ifdef __x86_64__
    if (flags & CPU_AVX2)
        *q = quantize_avx2;
#endif
}

const struct quantize_type *quantize_type(const struct quantize *q, uint32_t id)
{
    for (int i = 0; i < QUANTIZE_NTYPE; i++)
        if (q->type[i].id == id)
            return &q->type[i];
    return NULL;
}
