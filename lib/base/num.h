/* SPDX-License-Identifier: MIT
 * num.h - checked sums and products, little-endian reads, half floats. */
#ifndef LLM_BASE_NUM_H
#define LLM_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* *r = a op b; false when the result does not fit in 64 bits. */
static inline bool mul_ok(uint64_t a, uint64_t b, uint64_t *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static inline bool add_ok(uint64_t a, uint64_t b, uint64_t *r)
{
    return !__builtin_add_overflow(a, b, r);
}

/* Little-endian reads and writes at any alignment. */
static inline uint16_t rd_u16(const void *p)
{
    const unsigned char *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t rd_u32(const void *p)
{
    const unsigned char *b = p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

static inline uint64_t rd_u64(const void *p)
{
    return rd_u32(p) | (uint64_t)rd_u32((const char *)p + 4) << 32;
}

static inline float rd_f32(const void *p)
{
    uint32_t u = rd_u32(p);
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline double rd_f64(const void *p)
{
    uint64_t u = rd_u64(p);
    double f;
    memcpy(&f, &u, 8);
    return f;
}

static inline void wr_u16(void *p, uint16_t v)
{
    unsigned char *b = p;
    b[0] = (unsigned char)v;
    b[1] = (unsigned char)(v >> 8);
}

static inline void wr_u32(void *p, uint32_t v)
{
    wr_u16(p, (uint16_t)v);
    wr_u16((char *)p + 2, (uint16_t)(v >> 16));
}

static inline void wr_u64(void *p, uint64_t v)
{
    wr_u32(p, (uint32_t)v);
    wr_u32((char *)p + 4, (uint32_t)(v >> 32));
}

/* IEEE 754 binary16, and bfloat16, to float; exact. */
static inline float f16_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31,
             m = h & 0x3ff, u;
    float f;

    if (e == 0) {
        f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    u = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
    memcpy(&f, &u, 4);
    return f;
}

static inline float bf16_f32(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

#endif
