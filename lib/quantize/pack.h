/* SPDX-License-Identifier: MIT
 * pack.h - levels and scales to the bytes of a super-block; kernels/quant has
 * the layouts, in ref.c of each type. */
#ifndef LLM_QUANTIZE_PACK_H
#define LLM_QUANTIZE_PACK_H

#include "base/num.h"
#include "quantize/super.h"

/* Level I of the 256, in their own order. */
LANE_FN int level_at(const struct super *o, int n, int i)
{
    return (int)o->q[i % n * (WEIGHTS / n) + i / n];
}

/* BITS of each of 256 values V, from bit FROM on: those of 8 / BITS values that
 * are STEP apart share a byte. */
LANE_FN void put_bits(uint8_t *p, const uint8_t *v, int from, int bits,
                      int step)
{
    int share = 8 / bits, mask = (1 << bits) - 1;

    for (int b = 0; b < WEIGHTS; b += share * step, p += step)
        for (int i = 0; i < step; i++) {
            int byte = 0;

            for (int k = 0; k < share; k++)
                byte |= (v[b + k * step + i] >> from & mask) << k * bits;
            p[i] = (uint8_t)byte;
        }
}

LANE_FN void levels_of(uint8_t *v, const struct super *o, int n, int plus)
{
    for (int i = 0; i < WEIGHTS; i++)
        v[i] = (uint8_t)(level_at(o, n, i) + plus);
}

LANE_FN void put_q2_k(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS];

    levels_of(v, o, 16, 0);
    for (int g = 0; g < 16; g++)
        p[g] = (uint8_t)((int)o->s[g] | (int)o->m[g] << 4);
    put_bits(p + 16, v, 0, 2, 32);
    wr_u16(p + 80, o->d);
    wr_u16(p + 82, o->dmin);
}

LANE_FN void put_q3_k(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS], s[16];

    levels_of(v, o, 16, 4);
    for (int g = 0; g < 16; g++)
        s[g] = (uint8_t)((int)o->s[g] + 32);
    put_bits(p, v, 2, 1, 32);
    put_bits(p + 32, v, 0, 2, 32);
    for (int i = 0; i < 8; i++)
        p[96 + i] = (uint8_t)((s[i] & 15) | (s[i + 8] & 15) << 4);
    for (int i = 0; i < 4; i++)
        p[104 + i] = (uint8_t)(s[i] >> 4 | s[i + 4] >> 4 << 2 |
                               s[i + 8] >> 4 << 4 | s[i + 12] >> 4 << 6);
    wr_u16(p + 108, o->d);
}

/* The 8 scales and offsets of Q4_K and Q5_K: 6 bits each in 12 bytes. */
LANE_FN void put_scales(uint8_t *p, const struct super *o)
{
    for (int i = 0; i < 4; i++) {
        int s0 = (int)o->s[i], s1 = (int)o->s[i + 4];
        int m0 = (int)o->m[i], m1 = (int)o->m[i + 4];

        p[i] = (uint8_t)(s0 | s1 >> 4 << 6);
        p[i + 4] = (uint8_t)(m0 | m1 >> 4 << 6);
        p[i + 8] = (uint8_t)((s1 & 15) | (m1 & 15) << 4);
    }
}

LANE_FN void put_q4_k(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS];

    levels_of(v, o, 32, 0);
    wr_u16(p, o->d);
    wr_u16(p + 2, o->dmin);
    put_scales(p + 4, o);
    put_bits(p + 16, v, 0, 4, 32);
}

LANE_FN void put_q5_k(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS];

    levels_of(v, o, 32, 0);
    wr_u16(p, o->d);
    wr_u16(p + 2, o->dmin);
    put_scales(p + 4, o);
    put_bits(p + 16, v, 4, 1, 32);
    put_bits(p + 48, v, 0, 4, 32);
}

LANE_FN void put_q6_k(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS];

    levels_of(v, o, 16, 32);
    put_bits(p, v, 0, 4, 64);
    put_bits(p + 128, v, 4, 2, 32);
    for (int g = 0; g < 16; g++)
        p[192 + g] = (uint8_t)(int8_t)o->s[g];
    wr_u16(p + 208, o->d);
}

/* Which of IQ4_NL's values V is. */
LANE_FN uint8_t iq4_index(int v)
{
    uint8_t i = 0;

    for (int k = 1; k < 16; k++)
        i = (uint8_t)(i + (v >= tile32_iq4[k]));
    return i;
}

LANE_FN void put_iq4_xs(uint8_t *p, const struct super *o)
{
    uint8_t v[WEIGHTS], s[8];
    unsigned high = 0;

    for (int i = 0; i < WEIGHTS; i++)
        v[i] = iq4_index(level_at(o, 32, i));
    for (int g = 0; g < 8; g++) {
        s[g] = (uint8_t)((int)o->s[g] + 32);
        high |= (unsigned)s[g] >> 4 << 2 * g;
    }
    wr_u16(p, o->d);
    wr_u16(p + 2, (uint16_t)high);
    for (int i = 0; i < 4; i++)
        p[4 + i] = (uint8_t)((s[2 * i] & 15) | (s[2 * i + 1] & 15) << 4);
    put_bits(p + 8, v, 0, 4, 16);
}

#endif
