/* SPDX-License-Identifier: MIT
 * q.h - blocks of 32 numbers as 8-bit and 4-bit integers and a scale: GGUF's
 * own formulas, with an answer for numbers that they leave undefined.
 *
 * A scale that is NaN or infinite makes every value of its block NaN or
 * infinite, whatever the integers. */
#ifndef LLM_KERNELS_OP_KVROW_Q_H
#define LLM_KERNELS_OP_KVROW_Q_H

#include "kernels/op/math/half.h"

/* The first of the greatest magnitudes; a NaN is greater than all. */
static inline float q_amax(const float *x)
{
    uint32_t max = 0;
    float m = x[0];

    for (int i = 0; i < 32; i++)
        if ((f32_bits(x[i]) & 0x7fffffff) > max) {
            max = f32_bits(x[i]) & 0x7fffffff;
            m = x[i];
        }
    return m;
}

/* d = amax / 127, q = x * (1 / d) rounded to nearest, halves away from 0. */
static inline uint16_t q8_block(int8_t *q, const float *x)
{
    float d = bits_f32(f32_bits(q_amax(x)) & 0x7fffffff) / 127;
    float id = d != 0 ? 1 / d : 0;

    for (int i = 0; i < 32; i++) {
        float t = x[i] * id, a, f;

        t = t > -127 ? t : -127;
        t = t < 127 ? t : 127;
        a = bits_f32(f32_bits(t) & 0x7fffffff);
        f = (float)(int)a;
        f += a - f >= 0.5f;
        q[i] = (int8_t)(t < 0 ? -f : f);
    }
    return f32_to_f16(d);
}

/* d = the number of the greatest magnitude / -8, q = x * (1 / d) + 8.5 cut to
 * an integer of 0..15; the value is (q - 8) * d. */
static inline uint16_t q4_block(uint8_t *q, const float *x)
{
    float d = q_amax(x) / -8, id = d != 0 ? 1 / d : 0;

    for (int i = 0; i < 32; i++) {
        float t = x[i] * id + 8.5f;

        t = t > 0 ? t : 0;
        t = t < 15 ? t : 15;
        q[i] = (uint8_t)(int)t;
    }
    return f32_to_f16(d);
}

#endif
