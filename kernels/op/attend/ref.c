/* SPDX-License-Identifier: MIT */
#include "kernels/op/attend/attend.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/op/math/half.h"

/* One element of K: element I of position P of a page. */
static float k_elem(enum kern_kv t, const void *page, int d, int p, int i)
{
    size_t tile = (size_t)(p / 16) * (size_t)d;
    size_t at = (tile + (size_t)i) * 16 + (size_t)(p % 16);
    size_t block = tile / 32 + (size_t)(i / 32);
    const unsigned char *b;
    uint16_t s;
    int q;

    switch (t) {
    case KV_F32:
        return ((const float *)page)[at];
    case KV_F16:
        return f16_to_f32(((const uint16_t *)page)[at]);
    case KV_BF16:
        return bf16_to_f32(((const uint16_t *)page)[at]);
    case KV_Q8_0:
        b = (const unsigned char *)page + block * (16 * 34);
        memcpy(&s, b + p % 16 * 2, 2);
        q = ((const int8_t *)b)[32 + i % 32 * 16 + p % 16];
        return (float)q * f16_to_f32(s);
    default:
        b = (const unsigned char *)page + block * (16 * 18);
        memcpy(&s, b + p % 16 * 2, 2);
        q = b[32 + i % 16 * 16 + p % 16];
        q = i % 32 < 16 ? q & 15 : q >> 4;
        return (float)(q - 8) * f16_to_f32(s);
    }
}

static float v_elem(enum kern_kv t, const void *page, int d, int p, int i)
{
    size_t at = (size_t)p * (size_t)d + (size_t)i;
    const unsigned char *b;
    uint16_t s;
    int q;

    switch (t) {
    case KV_F32:
        return ((const float *)page)[at];
    case KV_F16:
        return f16_to_f32(((const uint16_t *)page)[at]);
    case KV_BF16:
        return bf16_to_f32(((const uint16_t *)page)[at]);
    case KV_Q8_0:
        b = (const unsigned char *)page + at / 32 * 34;
        memcpy(&s, b, 2);
        return (float)((const int8_t *)b)[2 + i % 32] * f16_to_f32(s);
    default:
        b = (const unsigned char *)page + at / 32 * 18;
        memcpy(&s, b, 2);
        q = b[2 + i % 16];
        q = i % 32 < 16 ? q & 15 : q >> 4;
        return (float)(q - 8) * f16_to_f32(s);
    }
}

static inline void score(enum kern_kv t, float *s, size_t lds, const float *q,
                         size_t ldq, int nq, const void *page, int d, int nt)
{
    for (int j = 0; j < nq; j++)
        for (int p = 0; p < nt * 16; p++) {
            const float *x = q + (size_t)j * ldq;
            float sum[4] = {0};

            for (int i = 0; i < d; i++)
                sum[i % 4] = fmaf(x[i], k_elem(t, page, d, p, i), sum[i % 4]);
            s[(size_t)j * lds + (size_t)p] =
                (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
}

static inline void mix(enum kern_kv t, float *o, size_t ldo, const float *s,
                       size_t lds, const int *lo, const int *hi, int nq,
                       const void *page, int d)
{
    for (int j = 0; j < nq; j++)
        for (int p = lo[j]; p < hi[j]; p++) {
            float a = s[(size_t)j * lds + (size_t)p];
            float *y = o + (size_t)j * ldo;

            for (int i = 0; i < d; i++)
                y[i] = fmaf(a, v_elem(t, page, d, p, i), y[i]);
        }
}

#define BOTH(t, name)                                                          \
    static void score_##name(float *s, size_t lds, const float *q, size_t ldq, \
                             int nq, const void *page, int d, int nt)          \
    {                                                                          \
        score(t, s, lds, q, ldq, nq, page, d, nt);                             \
    }                                                                          \
    static void mix_##name(float *o, size_t ldo, const float *s, size_t lds,   \
                           const int *lo, const int *hi, int nq,               \
                           const void *page, int d)                            \
    {                                                                          \
        mix(t, o, ldo, s, lds, lo, hi, nq, page, d);                           \
    }
BOTH(KV_F16, f16)
BOTH(KV_F32, f32)
BOTH(KV_BF16, bf16)
BOTH(KV_Q8_0, q8_0)
BOTH(KV_Q4_0, q4_0)

void attend_init(struct kern *k, unsigned flags)
{
#define ALL(type, name)                                                        \
    k->score[type] = score_##name;                                             \
    k->mix[type] = mix_##name;
    ALL(KV_F16, f16)
    ALL(KV_F32, f32)
    ALL(KV_BF16, bf16)
    ALL(KV_Q8_0, q8_0)
    ALL(KV_Q4_0, q4_0)
#undef ALL
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        attend_avx2(k);
    if (flags & CPU_AVX512)
        attend_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        attend_neon(k);
#endif
    (void)flags;
}
