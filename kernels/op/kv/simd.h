/* SPDX-License-Identifier: MIT
 * simd.h - rows of K and V on vectors: what avx2.c and avx512.c are made of.
 * Only putting: rows are taken back for snapshots alone. */
#ifndef LLM_KERNELS_OP_KV_SIMD_H
#define LLM_KERNELS_OP_KV_SIMD_H

#include "kernels/op/kv/kv.h"
#include "kernels/op/kv/q.h"
#include "kernels/op/math/simd.h"

#ifdef VL

static void k_put_f16(void *page, const float *x, int d, int pos)
{
    uint16_t *p = (uint16_t *)page + (size_t)(pos / 16) * 16 * (size_t)d +
                  pos % 16,
             h[VL];
    int i;

    for (i = 0; i + VL <= d; i += VL, p += 16 * VL) {
        vf_put_f16(h, vf_load(x + i));
        for (int l = 0; l < VL; l++)
            p[l * 16] = h[l];
    }
    for (; i < d; i++, p += 16)
        *p = f32_to_f16(x[i]);
}

static void v_put_f16(void *page, const float *x, int d, int pos)
{
    uint16_t *p = (uint16_t *)page + (size_t)pos * (size_t)d;
    int i;

    for (i = 0; i + VL <= d; i += VL)
        vf_put_f16(p + i, vf_load(x + i));
    for (; i < d; i++)
        p[i] = f32_to_f16(x[i]);
}

void SIMD(kv)(struct kern *k)
{
    k->k_put[KV_F16] = k_put_f16;
    k->v_put[KV_F16] = v_put_f16;
}

#endif
#endif
