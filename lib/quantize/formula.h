/* SPDX-License-Identifier: MIT
 * formula.h - blocks of 32 whose scale is that of the greatest weight: the
 * formulas that everybody uses, to the byte. */
#ifndef LLM_QUANTIZE_FORMULA_H
#define LLM_QUANTIZE_FORMULA_H

#include <math.h>

#include "base/num.h"
#include "kernels/op/math/half.h"
#include "kernels/quant/tile32/ref.h"
#include "quantize/lanes.h"

enum { BLOCK = 32 };

/* 1 / d, or 0 where that is not finite. */
LANE_FN float inverse_of(float d)
{
    float r = d != 0 ? 1 / d : 0;

    return fabsf(r) <= 3.4028235e38f ? r : 0;
}

LANE_FN bool finite16(uint16_t h)
{
    return (h & 0x7c00) != 0x7c00;
}

LANE_FN void range_of(float *min, float *max, const float *x)
{
    vf a = vf_load(x), b = a;
    float lo[LANES], hi[LANES];

    for (int i = LANES; i < BLOCK; i += LANES) {
        a = vf_min(a, vf_load(x + i));
        b = vf_max(b, vf_load(x + i));
    }
    vf_store(lo, a);
    vf_store(hi, b);
    *min = lo[0];
    *max = hi[0];
    for (int i = 1; i < LANES; i++) {
        *min = lo[i] < *min ? lo[i] : *min;
        *max = hi[i] > *max ? hi[i] : *max;
    }
}

/* The weight that is farthest from 0, the first of equals. */
LANE_FN float extreme_of(const float *x)
{
    float min, max;

    range_of(&min, &max, x);
    if (-min > max)
        return min;
    if (max > -min || min == max)
        return max;
    for (int i = 0; i < BLOCK; i++)
        if (x[i] == min || x[i] == max)
            return x[i];
    return max;
}

/* q[i] = (x[i] - from) * inv + plus, without its fraction, at most HI. */
LANE_FN void truncate_to(int32_t *q, const float *x, float from, float inv,
                         float plus, int hi)
{
    for (int i = 0; i < BLOCK; i += LANES) {
        vf t = (vf_load(x + i) - from) * inv + plus;
        vi v = __builtin_convertvector(vf_min(t, vf_set1((float)hi)), vi);

        memcpy(q + i, &v, sizeof v);
    }
}

/* 32 levels of 4 bits: the low halves of 16 bytes, then the high ones. */
LANE_FN void put_halves(uint8_t *p, const int32_t *q)
{
    for (int i = 0; i < 16; i++)
        p[i] = (uint8_t)((q[i] & 15) | (q[i + 16] & 15) << 4);
}

LANE_FN uint32_t fifth_bits(const int32_t *q)
{
    uint32_t h = 0;

    for (int i = 0; i < BLOCK; i++)
        h |= (uint32_t)(q[i] >> 4 & 1) << i;
    return h;
}

/* Q4_0 and Q5_0: HALF is 8 or 16. */
LANE_FN bool put_x0(uint8_t *p, const float *x, int half)
{
    float d = extreme_of(x) / (float)-half;
    uint16_t h = f32_to_f16(d);
    int32_t q[BLOCK];

    truncate_to(q, x, 0, inverse_of(d), (float)half + 0.5f, 2 * half - 1);
    wr_u16(p, h);
    if (half == 16)
        wr_u32(p + 2, fifth_bits(q));
    put_halves(p + (half == 16 ? 6 : 2), q);
    return finite16(h);
}

/* Q4_1 and Q5_1: levels from 0 to HI. */
LANE_FN bool put_x1(uint8_t *p, const float *x, int hi)
{
    float min, max, d;
    uint16_t h, m;
    int32_t q[BLOCK];

    range_of(&min, &max, x);
    d = (max - min) / (float)hi;
    h = f32_to_f16(d);
    m = f32_to_f16(min);
    truncate_to(q, x, min, inverse_of(d), 0.5f, hi);
    wr_u16(p, h);
    wr_u16(p + 2, m);
    if (hi == 31)
        wr_u32(p + 4, fifth_bits(q));
    put_halves(p + (hi == 31 ? 8 : 4), q);
    return finite16(h) && finite16(m);
}

/* Halves are rounded away from 0. */
LANE_FN bool put_q8_0(uint8_t *p, const float *x)
{
    float min, max, d, inv;
    int32_t q[BLOCK];
    uint16_t h;

    range_of(&min, &max, x);
    d = fmaxf(fabsf(min), fabsf(max)) / 127;
    inv = inverse_of(d);
    h = f32_to_f16(d);
    for (int i = 0; i < BLOCK; i += LANES) {
        vf t = vf_load(x + i) * inv;
        vi v = __builtin_convertvector(t, vi);
        vf rest = t - __builtin_convertvector(v, vf);

        v -= (vi)(rest >= 0.5f);
        v += (vi)(rest <= -0.5f);
        memcpy(q + i, &v, sizeof v);
    }
    wr_u16(p, h);
    for (int i = 0; i < BLOCK; i++)
        p[2 + i] = (uint8_t)q[i];
    return finite16(h);
}

/* The indices of the nearest of E2M1's values, the lesser of two, 0 of two
 * zeros; UNIT is half of the scale. */
LANE_FN void fp4_of(int32_t *q, const float *x, float unit)
{
    static const float middle[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};

    for (int i = 0; i < BLOCK; i += LANES) {
        vf v = vf_load(x + i), a = vf_abs(v);
        vi n = {0};

        for (int k = 0; k < 7; k++)
            n -= (vi)(a > middle[k] * unit);
        n += (vi)(n > 0) & (vi)(v < 0.0f) & 8;
        memcpy(q + i, &n, sizeof n);
    }
}

/* MXFP4: the exponent of the greatest weight, less 2. */
LANE_FN int mxfp4_exponent(const float *x)
{
    float min, max;
    int e;

    range_of(&min, &max, x);
    max = max > -min ? max : -min;
    if (!(max > 0))
        return 0;
    e = (int)floorf((float)log2((double)max)) - 2 + 127;
    return e < 0 ? 0 : e;
}

LANE_FN void put_mxfp4(uint8_t *p, const float *x, int e)
{
    int32_t q[BLOCK];

    fp4_of(q, x, tile32_e8m0_half((uint8_t)e));
    p[0] = (uint8_t)e;
    put_halves(p + 1, q);
}

#endif
