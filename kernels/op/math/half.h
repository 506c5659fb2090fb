/* SPDX-License-Identifier: MIT
 * half.h - binary16 and bfloat16 from and to float, bit by bit as the
 * processor's own instructions do it: to nearest even, denormals kept, too
 * great is infinite, a NaN keeps its sign and upper bits and becomes quiet. */
#ifndef LLM_KERNELS_OP_MATH_HALF_H
#define LLM_KERNELS_OP_MATH_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static inline float bits_f32(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint16_t f32_to_f16(float f)
{
    uint32_t u = f32_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;

    if (a > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) /* 65520 and more */
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) /* below 2^-14: the sum's last bit is 2^-24 */
        return (uint16_t)(sign | (f32_bits(bits_f32(a) + 0.5f) - 0x3f000000));
    a += 0xfff + (a >> 13 & 1);
    return (uint16_t)(sign | ((a - 0x38000000) >> 13));
}

static inline float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, a = h & 0x7fff;

    if (a < 0x400)
        return bits_f32(sign | f32_bits((float)a * 0x1p-24f));
    if (a > 0x7c00)
        a |= 0x200;
    return bits_f32(sign |
                    ((a << 13) + (a < 0x7c00 ? 0x38000000 : 0x70000000)));
}

static inline uint16_t f32_to_bf16(float f)
{
    uint32_t u = f32_bits(f);

    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline float bf16_to_f32(uint16_t h)
{
    return bits_f32((uint32_t)h << 16);
}

#endif
