/* SPDX-License-Identifier: MIT */
#include "kernels/op/kvrow/kvrow.h"

#include <string.h>

#include "base/cpu.h"
#include "kernels/op/kvrow/q.h"

bool kern_kv_ok(enum kern_kv t, int d)
{
    return d > 0 && ((t != KV_Q8_0 && t != KV_Q4_0) || d % 32 == 0);
}

size_t kern_kv_bytes(enum kern_kv t, int d, int npos)
{
    static const unsigned char block[KV_NTYPE] = {[KV_F16] = 64,
                                                  [KV_F32] = 128,
                                                  [KV_BF16] = 64,
                                                  [KV_Q8_0] = 34,
                                                  [KV_Q4_0] = 18};

    /* Float types have no blocks, and any d. */
    return (size_t)block[t] * (size_t)d * (size_t)npos / 32;
}

/* Float types: element I of position POS stands at its place in K, or V. */
static size_t k_at(int d, int pos, int i)
{
    return (size_t)(pos / 16) * 16 * (size_t)d + (size_t)i * 16 +
           (size_t)(pos % 16);
}

static size_t v_at(int d, int pos, int i)
{
    return (size_t)pos * (size_t)d + (size_t)i;
}

#define FLOATS(kv, type, elem, put, get)                                       \
    static void kv##_put_##type(void *page, const float *x, int d, int pos)    \
    {                                                                          \
        elem *p = page;                                                        \
                                                                               \
        for (int i = 0; i < d; i++)                                            \
            p[kv##_at(d, pos, i)] = put(x[i]);                                 \
    }                                                                          \
    static void kv##_get_##type(float *x, const void *page, int d, int pos)    \
    {                                                                          \
        const elem *p = page;                                                  \
                                                                               \
        for (int i = 0; i < d; i++)                                            \
            x[i] = get(p[kv##_at(d, pos, i)]);                                 \
    }
FLOATS(k, f16, uint16_t, f32_to_f16, f16_to_f32)
FLOATS(v, f16, uint16_t, f32_to_f16, f16_to_f32)
FLOATS(k, bf16, uint16_t, f32_to_bf16, bf16_to_f32)
FLOATS(v, bf16, uint16_t, f32_to_bf16, bf16_to_f32)
FLOATS(k, f32, uint32_t, f32_bits, bits_f32)
FLOATS(v, f32, uint32_t, f32_bits, bits_f32)

/* Block B of position POS: its scale, and where its integers begin and how far
 * apart they are. */
static char *k_block(const void *page, int d, int pos, int b, size_t bytes)
{
    size_t tile = (size_t)(pos / 16) * (size_t)(d / 32) + (size_t)b;

    return (char *)page + tile * 16 * bytes + pos % 16 * 2;
}

static char *k_ints(const void *page, int d, int pos, int b, size_t bytes)
{
    return k_block(page, d, pos, b, bytes) - pos % 16 * 2 + 32 + pos % 16;
}

static char *v_block(const void *page, int d, int pos, int b, size_t bytes)
{
    return (char *)page + ((size_t)pos * (size_t)(d / 32) + (size_t)b) * bytes;
}

static char *v_ints(const void *page, int d, int pos, int b, size_t bytes)
{
    return v_block(page, d, pos, b, bytes) + 2;
}

#define QUANTS(kv, step)                                                       \
    static void kv##_put_q8_0(void *page, const float *x, int d, int pos)      \
    {                                                                          \
        for (int b = 0; b < d / 32; b++) {                                     \
            int8_t q[32];                                                      \
            uint16_t s = q8_block(q, x + b * 32);                              \
            char *p = kv##_ints(page, d, pos, b, 34);                          \
                                                                               \
            memcpy(kv##_block(page, d, pos, b, 34), &s, 2);                    \
            for (int i = 0; i < 32; i++)                                       \
                p[i * (step)] = (char)q[i];                                    \
        }                                                                      \
    }                                                                          \
    static void kv##_get_q8_0(float *x, const void *page, int d, int pos)      \
    {                                                                          \
        for (int b = 0; b < d / 32; b++) {                                     \
            const int8_t *p = (void *)kv##_ints(page, d, pos, b, 34);          \
            uint16_t s;                                                        \
                                                                               \
            memcpy(&s, kv##_block(page, d, pos, b, 34), 2);                    \
            for (int i = 0; i < 32; i++)                                       \
                x[b * 32 + i] = (float)p[i * (step)] * f16_to_f32(s);          \
        }                                                                      \
    }                                                                          \
    static void kv##_put_q4_0(void *page, const float *x, int d, int pos)      \
    {                                                                          \
        for (int b = 0; b < d / 32; b++) {                                     \
            uint8_t q[32];                                                     \
            uint16_t s = q4_block(q, x + b * 32);                              \
            char *p = kv##_ints(page, d, pos, b, 18);                          \
                                                                               \
            memcpy(kv##_block(page, d, pos, b, 18), &s, 2);                    \
            for (int i = 0; i < 16; i++)                                       \
                p[i * (step)] = (char)(q[i] | q[i + 16] << 4);                 \
        }                                                                      \
    }                                                                          \
    static void kv##_get_q4_0(float *x, const void *page, int d, int pos)      \
    {                                                                          \
        for (int b = 0; b < d / 32; b++) {                                     \
            const uint8_t *p = (void *)kv##_ints(page, d, pos, b, 18);         \
            uint16_t s;                                                        \
            float v;                                                           \
                                                                               \
            memcpy(&s, kv##_block(page, d, pos, b, 18), 2);                    \
            v = f16_to_f32(s);                                                 \
            for (int i = 0; i < 16; i++) {                                     \
                x[b * 32 + i] = (float)((p[i * (step)] & 15) - 8) * v;         \
                x[b * 32 + i + 16] = (float)((p[i * (step)] >> 4) - 8) * v;    \
            }                                                                  \
        }                                                                      \
    }
QUANTS(k, 16)
QUANTS(v, 1)

void kvrow_init(struct kern *k, unsigned flags)
{
#define ALL(type, name)                                                        \
    k->k_put[type] = k_put_##name;                                             \
    k->v_put[type] = v_put_##name;                                             \
    k->k_get[type] = k_get_##name;                                             \
    k->v_get[type] = v_get_##name;
    ALL(KV_F16, f16)
    ALL(KV_F32, f32)
    ALL(KV_BF16, bf16)
    ALL(KV_Q8_0, q8_0)
    ALL(KV_Q4_0, q4_0)
#undef ALL
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        kvrow_avx2(k);
    if (flags & CPU_AVX512)
        kvrow_avx512(k);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        kvrow_neon(k);
#endif
    (void)flags;
}
