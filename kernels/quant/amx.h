/* SPDX-License-Identifier: MIT
 * amx.h - tiles of AMX: 8 registers of up to 16 rows of 64 bytes.
 *
 * C[m][n] += A[m][k] . B[k][n] over bytes of A's rows, where B has 4 bytes of k
 * beside each other: what a panel's 64 bytes, 4 values of 16 rows, are.  So a
 * panel is B, columns of activations are A's rows, and a row of C is what a
 * vector register has elsewhere: 16 rows of the panel for one column.
 *
 * With LLM_AMX_EMULATED the same in plain C, for tests on other machines. */
#ifndef LLM_KERNELS_QUANT_AMX_H
#define LLM_KERNELS_QUANT_AMX_H

#include <stdint.h>
#include <string.h>

/* What LDTILECFG reads (Intel's manual, volume 1, 18.2). */
struct amx_shape {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
};

static inline void amx_shape_set(struct amx_shape *s, int tile, int rows,
                                 int bytes)
{
    s->palette = 1;
    s->rows[tile] = (uint8_t)rows;
    s->bytes[tile] = (uint16_t)bytes;
}

#if defined(LLM_AMX_EMULATED)

static struct amx_emulated {
    struct amx_shape shape;
    int8_t tile[8][16][64];
} amx_emulated;

static inline void amx_begin(const struct amx_shape *s)
{
    memset(&amx_emulated, 0, sizeof amx_emulated);
    amx_emulated.shape = *s;
}

static inline void amx_end(void)
{
    memset(&amx_emulated, 0x55, sizeof amx_emulated);
}

static inline void amx_zero(int t)
{
    memset(amx_emulated.tile[t], 0, sizeof amx_emulated.tile[t]);
}

static inline void amx_load(int t, const void *p, size_t stride)
{
    for (int r = 0; r < amx_emulated.shape.rows[t]; r++)
        memcpy(amx_emulated.tile[t][r], (const char *)p + (size_t)r * stride,
               amx_emulated.shape.bytes[t]);
}

static inline void amx_store(int t, void *p, size_t stride)
{
    for (int r = 0; r < amx_emulated.shape.rows[t]; r++)
        memcpy((char *)p + (size_t)r * stride, amx_emulated.tile[t][r],
               amx_emulated.shape.bytes[t]);
}

static inline void amx_dot_any(int c, int a, int b, int sign)
{
    const struct amx_shape *s = &amx_emulated.shape;

    for (int m = 0; m < s->rows[c]; m++)
        for (int n = 0; n < s->bytes[c] / 4; n++) {
            int32_t sum;

            memcpy(&sum, &amx_emulated.tile[c][m][4 * n], 4);
            for (int k = 0; k < s->bytes[a]; k++) {
                int8_t v = amx_emulated.tile[b][k / 4][4 * n + k % 4];

                sum += amx_emulated.tile[a][m][k] * (sign ? v : (uint8_t)v);
            }
            memcpy(&amx_emulated.tile[c][m][4 * n], &sum, 4);
        }
}

static inline void amx_dot(int c, int a, int b)
{
    amx_dot_any(c, a, b, 1);
}

static inline void amx_dot_unsigned(int c, int a, int b)
{
    amx_dot_any(c, a, b, 0);
}

#else

/* In our own words, and with all that they read and write said: gcc 12's
 * intrinsics let stores to a shape or a tile's memory come after its use.  A
 * tile's number is part of the instruction. */
#define AMX_STRING(t) #t
#define AMX_TILE(t)   "%%tmm" AMX_STRING(t)

static inline void amx_begin(const struct amx_shape *s)
{
    __asm__ volatile("ldtilecfg %0" ::"m"(*s) : "memory");
}

static inline void amx_end(void)
{
    __asm__ volatile("tilerelease" ::: "memory");
}

#define amx_zero(t) __asm__ volatile("tilezero " AMX_TILE(t)::)
#define amx_load(t, p, stride)                                                 \
    __asm__ volatile("tileloadd (%0,%1,1), " AMX_TILE(t)::"r"(p),              \
                     "r"((int64_t)(stride))                                    \
                     : "memory")
#define amx_store(t, p, stride)                                                \
    __asm__ volatile("tilestored " AMX_TILE(t) ", (%0,%1,1)" ::"r"(p),         \
                     "r"((int64_t)(stride))                                    \
                     : "memory")
/* Signed bytes both; and A's signed, B's unsigned. */
#define amx_dot(c, a, b)                                                       \
    __asm__ volatile("tdpbssd " AMX_TILE(b) ", " AMX_TILE(a) ", " AMX_TILE(c)::)
#define amx_dot_unsigned(c, a, b)                                              \
    __asm__ volatile("tdpbsud " AMX_TILE(b) ", " AMX_TILE(a) ", " AMX_TILE(c)::)

#endif

#endif
