/* SPDX-License-Identifier: MIT
 * pack.h - what the panels of super-blocks have in common: 4 bytes of
 * 16 rows make a vector of 64.
 *
 * A panel's block begins with 64 bytes of scales, as 16 f16 d and 16 f16 dmin,
 * or 16 f32 d; then the integer scales, a byte each, row by row: each for
 * itself, or the two of 32 values together ("pairs"); then the integers, in the
 * file's own order of 4 bytes that hold 4 neighbours (in some types their high
 * bits are gathered first).  A block is a multiple of 64 bytes.
 */
#ifndef LLM_KERNELS_QUANT_TILE256_PACK_H
#define LLM_KERNELS_QUANT_TILE256_PACK_H

#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "kernels/kern.h"

/* One block of 16 rows; those that are not there are zeros. */
struct tile256_rows {
    const uint8_t *p[KERN_ROWS];
};

/* Calls BLOCK(to, rows) for each block; a block has FROM bytes in a row and TO
 * in the panel. */
static inline __attribute__((always_inline)) void
tile256_pack(void *panel, const void *row, size_t stride, int rows, int64_t n,
             size_t from, size_t to,
             void (*block)(uint8_t *to, const struct tile256_rows *in))
{
    static const uint8_t zero[256];
    struct tile256_rows in;
    uint8_t *p = panel;

    for (int r = 0; r < KERN_ROWS; r++)
        in.p[r] = r < rows ? (const uint8_t *)row + stride * (size_t)r : zero;
    for (int64_t b = 0; b < n; b += 256, p += to) {
        block(p, &in);
        for (int r = 0; r < rows; r++)
            in.p[r] += from;
    }
}

/* N words of 4 bytes at AT of each row. */
static inline __attribute__((always_inline)) void
tile256_words(uint8_t *to, const struct tile256_rows *in, int at, int n)
{
    for (int r = 0; r < KERN_ROWS; r++)
        for (int i = 0; i < n; i++)
            memcpy(to + i * 64 + r * 4, in->p[r] + at + i * 4, 4);
}

static inline uint32_t tile256_word(const uint8_t *p)
{
    uint32_t u;

    memcpy(&u, p, 4);
    return u;
}

/* 16 f16 of the rows at AT, as they are and as f32. */
static inline void tile256_f16(uint8_t *to, const struct tile256_rows *in,
                               int at)
{
    for (int r = 0; r < KERN_ROWS; r++)
        memcpy(to + r * 2, in->p[r] + at, 2);
}

static inline void tile256_f32(uint8_t *to, const struct tile256_rows *in,
                               int at)
{
    for (int r = 0; r < KERN_ROWS; r++) {
        float d = f16_f32(rd_u16(in->p[r] + at));

        memcpy(to + r * 4, &d, 4);
    }
}

/* The 16 bytes at P for row R, and at AT of each row, as [8][16][2]. */
static inline void tile256_put_pairs(uint8_t *to, int r, const uint8_t *p)
{
    for (int i = 0; i < 8; i++)
        memcpy(to + i * 32 + r * 2, p + i * 2, 2);
}

static inline void tile256_pairs(uint8_t *to, const struct tile256_rows *in,
                                 int at)
{
    for (int r = 0; r < KERN_ROWS; r++)
        tile256_put_pairs(to, r, in->p[r] + at);
}

/* The 12 bytes of scales and minimums at AT of Q4_K's and Q5_K's rows, to
 * s[8][16] and m[4][16][2]. */
static inline void tile256_scales(uint8_t *s, uint8_t *m,
                                  const struct tile256_rows *in, int at)
{
    for (int r = 0; r < KERN_ROWS; r++) {
        uint32_t a = tile256_word(in->p[r] + at),
                 b = tile256_word(in->p[r] + at + 4),
                 c = tile256_word(in->p[r] + at + 8);
        uint32_t s0 = a & 0x3f3f3f3f,
                 s4 = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030),
                 m0 = b & 0x3f3f3f3f,
                 m4 = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);

        for (int i = 0; i < 4; i++) {
            s[i * 16 + r] = (uint8_t)(s0 >> i * 8);
            s[i * 16 + 64 + r] = (uint8_t)(s4 >> i * 8);
        }
        for (int i = 0; i < 2; i++) {
            wr_u16(m + i * 32 + r * 2, (uint16_t)(m0 >> i * 16));
            wr_u16(m + i * 32 + 64 + r * 2, (uint16_t)(m4 >> i * 16));
        }
    }
}

#endif
