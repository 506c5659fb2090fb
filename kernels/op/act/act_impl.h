/* SPDX-License-Identifier: MIT
 * act_impl.h - what the files here share: where a column stands in a tile. */
#ifndef LLM_KERNELS_OP_ACT_ACT_IMPL_H
#define LLM_KERNELS_OP_ACT_ACT_IMPL_H

#include <string.h>

#include "kernels/kern.h"

/* The greatest magnitudes, as bits: below TINY a block is 0, from INF on it is
 * NaN.  Bits compare as integers, so a NaN is greater than all numbers. */
enum { ACT_TINY = 27 << 23, ACT_INF = 0x7f800000, ACT_NAN = 0x7fc00000 };

/* One column's part of a block. */
struct act_q32 {
    int8_t *q; /* 32 */
    float *d;  /* 1 of each */
    int32_t *sum;
    float *ds;
};

struct act_q256 {
    int8_t *q; /* 256 */
    float *d;
    int16_t *sum16; /* 16 */
    int16_t *sum32; /* 8 */
};

static inline struct act_q32 act_q32_at(void *tile, int w, int c, int64_t b)
{
    char *p = (char *)tile + (size_t)b * (size_t)w * ACT_Q32_BYTES;
    float *f = (float *)(void *)(p + (size_t)w * 32);

    return (struct act_q32){(int8_t *)p + c * 32, f + c,
                            (int32_t *)(void *)(f + w) + c, f + 2 * w + c};
}

static inline struct act_q256 act_q256_at(void *tile, int w, int c, int64_t b)
{
    char *p = (char *)tile + (size_t)b * (size_t)w * ACT_Q256_BYTES;
    float *f = (float *)(void *)(p + (size_t)w * 256);
    int16_t *s = (int16_t *)(void *)(f + w);

    return (struct act_q256){(int8_t *)p + c * 256, f + c, s + c * 16,
                             s + w * 16 + c * 8};
}

static inline float act_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

/* Is a block of N whose greatest magnitude is AMAX none of integers times a
 * scale?  Then its scale says so. */
static inline int act_special(uint32_t amax, int8_t *q, int n, float *d)
{
    if (amax >= ACT_TINY && amax < ACT_INF)
        return 0;
    memset(q, 0, (size_t)n);
    *d = act_float(amax < ACT_TINY ? 0 : ACT_NAN);
    return 1;
}

void act_init(struct kern *k, unsigned flags);
void act_avx2(struct kern *k);
void act_avx512(struct kern *k);
void act_neon(struct kern *k);

#endif
