/* SPDX-License-Identifier: MIT
 * simd.h - softmax on vectors: what avx2.c, avx512.c and neon.c are made of. */
#ifndef LLM_KERNELS_OP_SOFT_SIMD_H
#define LLM_KERNELS_OP_SOFT_SIMD_H

#include "kernels/op/math/simd.h"
#include "kernels/op/soft/soft.h"

#ifdef VL

/* The elements LO..HI-1 of the 16 from I on, as lanes FROM..TO-1. */
#define LANES(i)                                                               \
    int from = lo > (i) ? lo - (i) : 0, to = hi - (i) < 16 ? hi - (i) : 16
#define WHOLE (from == 0 && to == 16)

static void softmax(float *s, int lo, int hi, int n, float scale, float cap,
                    float *m, float *l)
{
    V16 sv = v16_set1(scale), least = v16_set1(-INFINITY), max = least, v;
    V16 sum = v16_set1(0), mv;
    VF capv = vf_set1(cap);

    memset(s, 0, (size_t)lo * sizeof *s);
    memset(s + hi, 0, (size_t)(n - hi) * sizeof *s);
    for (int i = lo / 16 * 16; i < hi; i += 16) {
        LANES(i);

        v = WHOLE ? v16_load(s + i) : v16_load_part(s + i, from, to);
        v = v16_mul(v, sv);
        if (cap != 0)
            v = v16_softcap(v, capv);
        if (WHOLE) {
            v16_store(s + i, v);
        } else {
            v16_store_part(s + i, from, to, v);
            v = v16_part(v, from, to, least);
        }
        max = v16_max(v, max);
    }
    *m = v16_maximum(max);
    mv = v16_set1(*m);
    for (int i = lo / 16 * 16; i < hi; i += 16) {
        LANES(i);

        if (WHOLE) {
            v = v16_exp(v16_sub(v16_load(s + i), mv));
            v16_store(s + i, v);
        } else {
            v = v16_load_part(s + i, from, to);
            v = v16_exp(v16_sub(v, mv));
            v16_store_part(s + i, from, to, v);
            v = v16_part(v, from, to, v16_set1(0));
        }
        sum = v16_add(sum, v);
    }
    *l = v16_sum(sum);
}

static void merge(float *m, float *l, float *o, float m1, float l1,
                  const float *o1, int64_t d)
{
    float max = m1 > *m ? m1 : *m, l0[VL] = {*l}, l2[VL] = {l1};
    VF a = vf_exp(vf_sub(vf_set1(*m), vf_set1(max)));
    VF b = vf_exp(vf_sub(vf_set1(m1), vf_set1(max)));
    int64_t i;

    *m = max;
    vf_store(l0, vf_fma(vf_load(l0), a, vf_mul(vf_load(l2), b)));
    *l = l0[0];
    for (i = 0; i + VL <= d; i += VL)
        vf_store(o + i, vf_fma(vf_load(o + i), a, vf_mul(vf_load(o1 + i), b)));
    if (i < d) {
        VM t = vf_first((int)(d - i));

        vf_store_m(
            o + i, t,
            vf_fma(vf_load_m(o + i, t), a, vf_mul(vf_load_m(o1 + i, t), b)));
    }
}

void SIMD(soft)(struct kern *k)
{
    k->softmax = softmax;
    k->merge = merge;
}

#endif
#endif
