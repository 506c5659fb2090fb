/* SPDX-License-Identifier: MIT
 * tile32_l16.h - the panel "l16" of types with blocks of 32.
 *
 * Blocks stand in groups of as many as have 64 bytes of scales; the last group
 * may have fewer.  A group is the scales of each block, then the integers of
 * each.  A block's scales, [16 rows]: u8 exponents, or f16 d, then f16 m where
 * the type has one.  Its integers, in vectors of 64 bytes, row r at 4r:
 *   4 bits: 4 vectors; byte i of vector j has x[4j + i] in the low half, and
 *           x[16 + 4j + i] in the high one
 *   5 bits: a vector, bit j of whose byte i is the fifth of x[4j + i]; then the
 *           4 vectors of the lower bits
 *   8 bits: 8 vectors, byte i of vector j is x[4j + i] + 128
 * A panel of n elements whose n is a multiple of 64 (of 128 for exponents) is a
 * whole number of vectors.
 */
#ifndef LLM_KERNELS_QUANT_TILE32_L16_H
#define LLM_KERNELS_QUANT_TILE32_L16_H

#include <string.h>

#include "kernels/quant/rows.h"
#include "kernels/quant/tile32_ref.h"

/* What there is to know about a type. */
struct tile32_form {
    int bits;   /* of an integer, unsigned: 4, 5 or 8 */
    int scales; /* bytes of a row's scales: 1 (E8M0), 2 (f16), 4 (and m) */
    int off;    /* what is taken from an integer, or a value in the table */
    int table;  /* integers are indices into VALUE, */
    int top;    /* whose greatest value this is; else the greatest integer */
    int8_t value[16]; /* without the offset */
};

static const struct tile32_form tile32_q4_0 = {4, 2, 8, 0, 15, {0}};
static const struct tile32_form tile32_q4_1 = {4, 4, 0, 0, 15, {0}};
static const struct tile32_form tile32_q5_0 = {5, 2, 16, 0, 31, {0}};
static const struct tile32_form tile32_q5_1 = {5, 4, 0, 0, 31, {0}};
static const struct tile32_form tile32_q8_0 = {8, 2, 128, 0, 255, {0}};
static const struct tile32_form tile32_iq4_nl = {4, 2, 128, 1, 241, TILE32_IQ4};
static const struct tile32_form tile32_mxfp4 = {4, 1, 12, 1, 24, TILE32_FP4};

/* Bytes of a block's scales and integers, and blocks of a group. */
#define TILE32_S(f) ((f)->scales * 16)
#define TILE32_Q(f) ((f)->bits * 64)
#define TILE32_G(f) (4 / (f)->scales)

/* Bit j of byte i: bit 4j + i of H.  Over 16 of them it becomes vectors. */
static inline uint32_t tile32_plane(uint32_t h)
{
    uint32_t a = h & 0x11111111, b = h >> 1 & 0x11111111,
             c = h >> 2 & 0x11111111, d = h >> 3 & 0x11111111;

    /* Two nibbles' bits beside each other, then four's, then eight's. */
    a = (a | a >> 3) & 0x03030303;
    b = (b | b >> 3) & 0x03030303;
    c = (c | c >> 3) & 0x03030303;
    d = (d | d >> 3) & 0x03030303;
    a = (a | a >> 6) & 0x000f000f;
    b = (b | b >> 6) & 0x000f000f;
    c = (c | c >> 6) & 0x000f000f;
    d = (d | d >> 6) & 0x000f000f;
    a = (a | a >> 12) & 0xff;
    b = (b | b >> 12) & 0xff;
    c = (c | c >> 12) & 0xff;
    d = (d | d >> 12) & 0xff;
    return a | b << 8 | c << 16 | d << 24;
}

/* One block of 16 rows, at SRC[r], into its scales S and integers Q. */
static inline __attribute__((always_inline)) void
tile32_pack_block(const struct tile32_form *f, uint8_t *s, uint8_t *q,
                  const uint8_t *const *src)
{
    uint32_t v, h[16];
    int at = f->scales + (f->bits == 5 ? 4 : 0);

    for (int r = 0; r < 16; r++) {
        if (f->scales == 1)
            s[r] = src[r][0];
        else
            memcpy(s + 2 * r, src[r], 2);
        if (f->scales == 4)
            memcpy(s + 32 + 2 * r, src[r] + 2, 2);
    }
    if (f->bits == 5) {
        for (int r = 0; r < 16; r++)
            memcpy(h + r, src[r] + f->scales, 4);
        for (int r = 0; r < 16; r++)
            h[r] = tile32_plane(h[r]);
        memcpy(q, h, 64);
        q += 64;
    }
    for (int r = 0; r < 16; r++)
        for (int j = 0; j < (f->bits == 8 ? 8 : 4); j++) {
            memcpy(&v, src[r] + at + 4 * j, 4);
            v ^= f->bits == 8 ? 0x80808080 : 0;
            memcpy(q + 64 * j + 4 * r, &v, 4);
        }
}

static inline __attribute__((always_inline)) void
tile32_pack(const struct tile32_form *f, void *panel, const void *row,
            size_t stride, int rows, int64_t n)
{
    const int size = f->scales + (f->bits == 5 ? 20 : f->bits * 4);
    static const uint8_t zero[34];
    const uint8_t *src[16];
    uint8_t *p = panel;

    for (int r = 0; r < 16; r++)
        src[r] = r < rows ? (const uint8_t *)row + (size_t)r * stride : zero;
    for (int64_t b = 0, nb = n / 32; b < nb; b += TILE32_G(f)) {
        int g = (int)(nb - b < TILE32_G(f) ? nb - b : TILE32_G(f));

        for (int i = 0; i < g; i++) {
            tile32_pack_block(f, p + i * TILE32_S(f),
                              p + g * TILE32_S(f) + i * TILE32_Q(f), src);
            for (int r = 0; r < rows; r++)
                src[r] += size;
        }
        p += g * (TILE32_S(f) + TILE32_Q(f));
    }
}

#endif
