/* SPDX-License-Identifier: MIT
 * simd_v16.h - 16 floats as two vectors of 8. */
#ifndef LLM_KERNELS_OP_MATH_SIMD_V16_H
#define LLM_KERNELS_OP_MATH_SIMD_V16_H
#if defined(VL) && VL == 8

struct v16 {
    VF a, b;
};
#define V16 struct v16

SIMD_FN V16 v16_load(const float *p)
{
    return (V16){vf_load(p), vf_load(p + 8)};
}

SIMD_FN void v16_store(float *p, V16 v)
{
    vf_store(p, v.a);
    vf_store(p + 8, v.b);
}

SIMD_FN V16 v16_set1(float a)
{
    return (V16){vf_set1(a), vf_set1(a)};
}

SIMD_FN V16 v16_add(V16 x, V16 y)
{
    return (V16){vf_add(x.a, y.a), vf_add(x.b, y.b)};
}

SIMD_FN V16 v16_sub(V16 x, V16 y)
{
    return (V16){vf_sub(x.a, y.a), vf_sub(x.b, y.b)};
}

SIMD_FN V16 v16_mul(V16 x, V16 y)
{
    return (V16){vf_mul(x.a, y.a), vf_mul(x.b, y.b)};
}

SIMD_FN V16 v16_fma(V16 x, V16 y, V16 z)
{
    return (V16){vf_fma(x.a, y.a, z.a), vf_fma(x.b, y.b, z.b)};
}

SIMD_FN V16 v16_max(V16 x, V16 y)
{
    return (V16){vf_max(x.a, y.a), vf_max(x.b, y.b)};
}

SIMD_FN V16 v16_part(V16 v, int from, int to, V16 x)
{
    return (V16){vf_select(vf_between(0, from, to), v.a, x.a),
                 vf_select(vf_between(8, from, to), v.b, x.b)};
}

SIMD_FN V16 v16_load_part(const float *p, int from, int to)
{
    return (V16){vf_load_m(p, vf_between(0, from, to)),
                 vf_load_m(p + 8, vf_between(8, from, to))};
}

SIMD_FN void v16_store_part(float *p, int from, int to, V16 v)
{
    vf_store_m(p, vf_between(0, from, to), v.a);
    vf_store_m(p + 8, vf_between(8, from, to), v.b);
}

#endif
#endif
