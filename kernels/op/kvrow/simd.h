/* SPDX-License-Identifier: MIT
 * simd.h - rows of K and V on vectors: what avx2.c, avx512.c and neon.c are
 * made of.  Only putting: rows are taken back for snapshots alone. */
#ifndef LLM_KERNELS_OP_KVROW_SIMD_H
#define LLM_KERNELS_OP_KVROW_SIMD_H

#include "kernels/op/kvrow/kvrow.h"
#include "kernels/op/kvrow/q.h"
#include "kernels/op/kvrow/simd_neon.h"
#include "kernels/op/kvrow/simd_x86.h"
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

static void v_put_q8_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)pos * (size_t)(d / 32) * 34;

    for (int b = 0; b < d / 32; b++, p += 34) {
        uint16_t s = q8_simd((int8_t *)p + 2, x + b * 32);

        memcpy(p, &s, 2);
    }
}

static void v_put_q4_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)pos * (size_t)(d / 32) * 18;

    for (int b = 0; b < d / 32; b++, p += 18) {
        uint16_t s = q4_simd((uint8_t *)p + 2, x + b * 32);

        memcpy(p, &s, 2);
    }
}

static void k_put_q8_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)(pos / 16) * (size_t)(d / 32) * (16 * 34);

    for (int b = 0; b < d / 32; b++, p += 16 * 34) {
        int8_t q[32];
        uint16_t s = q8_simd(q, x + b * 32);

        memcpy(p + pos % 16 * 2, &s, 2);
        for (int i = 0; i < 32; i++)
            p[32 + i * 16 + pos % 16] = (char)q[i];
    }
}

static void k_put_q4_0(void *page, const float *x, int d, int pos)
{
    char *p = (char *)page + (size_t)(pos / 16) * (size_t)(d / 32) * (16 * 18);

    for (int b = 0; b < d / 32; b++, p += 16 * 18) {
        uint8_t q[16];
        uint16_t s = q4_simd(q, x + b * 32);

        memcpy(p + pos % 16 * 2, &s, 2);
        for (int i = 0; i < 16; i++)
            p[32 + i * 16 + pos % 16] = (char)q[i];
    }
}

void SIMD(kvrow)(struct kern *k)
{
    k->k_put[KV_F16] = k_put_f16;
    k->v_put[KV_F16] = v_put_f16;
    k->k_put[KV_Q8_0] = k_put_q8_0;
    k->v_put[KV_Q8_0] = v_put_q8_0;
    k->k_put[KV_Q4_0] = k_put_q4_0;
    k->v_put[KV_Q4_0] = v_put_q4_0;
}

#endif
#endif
