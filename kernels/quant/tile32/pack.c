/* SPDX-License-Identifier: MIT
 * pack.c - rows of the file into panels "l16". */
#include <string.h>

#include "kernels/quant/tile32/tile32.h"

/* Bit j of byte i: bit 4j + i of H.  Over 16 of them it becomes vectors. */
static inline uint32_t plane(uint32_t h)
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
pack_block(const struct tile32_form *f, uint8_t *s, uint8_t *q,
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
            h[r] = plane(h[r]);
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
pack(const struct tile32_form *f, void *panel, const void *row, size_t stride,
     int rows, int64_t n)
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
            pack_block(f, p + i * TILE32_S(f),
                       p + g * TILE32_S(f) + i * TILE32_Q(f), src);
            for (int r = 0; r < rows; r++)
                src[r] += size;
        }
        p += g * (TILE32_S(f) + TILE32_Q(f));
    }
}

/* The signs of a block whose scale is negative turn, if they can. */
static void turn(uint8_t block[34])
{
    if (!(block[1] & 128) || memchr(block + 2, 128, 32))
        return;
    block[1] ^= 128;
    for (int i = 2; i < 34; i++)
        block[i] = (uint8_t)-block[i];
}

static void split_pack(void *panel, const void *row, size_t stride, int rows,
                       int64_t n)
{
    const struct tile32_form *f = &tile32_split;
    uint8_t *p = panel, *low = p + n / 32 * (TILE32_S(f) + TILE32_Q(f));

    for (int64_t b = 0, nb = n / 32; b < nb; b += TILE32_G(f)) {
        int g = (int)(nb - b < TILE32_G(f) ? nb - b : TILE32_G(f));

        for (int i = 0; i < g; i++, low += 256)
            for (int r = 0; r < 16; r++) {
                const uint8_t *src = (const uint8_t *)row + (size_t)r * stride;
                uint8_t k[34] = {0}, *q = p + g * TILE32_S(f) + i * 256 + 4 * r;

                if (r < rows)
                    memcpy(k, src + (b + i) * 34, sizeof k);
                turn(k);
                memcpy(p + i * TILE32_S(f) + 2 * r, k, 2);
                for (int j = 0; j < 16; j++) {
                    uint8_t a = k[2 + j] ^ 128, c = k[18 + j] ^ 128;
                    int at = j / 4 * 64 + j % 4;

                    q[at] = (uint8_t)(a >> 4 | (c & 0xf0));
                    low[4 * r + at] = (uint8_t)((a & 15) | c << 4);
                }
            }
        p += g * (TILE32_S(f) + TILE32_Q(f));
    }
}

void kern_most(void *tile, int w, int c, int64_t n)
{
    char *p = tile;

    for (int64_t b = 0; b < n / 32; b++, p += (size_t)w * ACT_Q32_BYTES) {
        const int8_t *x = (const int8_t *)p + 32 * c;
        char *f = p + w * 32;
        int32_t sum = 0, plus = 0, start;
        float d;

        for (int i = 0; i < 32; i++) {
            sum += x[i];
            plus += x[i] > 0 ? x[i] : 0;
        }
        memcpy(&d, f + 4 * c, 4);
        start = (15 * plus + 15) / 16 - 8 * sum;
        /* Where products round to denormals steps may differ: more than any. */
        if (d < 0x1p-90f)
            start = 1 << 24;
        memcpy(f + 8 * w + 4 * c, &start, 4);
    }
}

#define X(name)                                                                \
    static void name##_pack(void *panel, const void *row, size_t stride,       \
                            int rows, int64_t n)                               \
    {                                                                          \
        pack(&tile32_##name, panel, row, stride, rows, n);                     \
    }
#include "kernels/quant/tile32/types.h"
#undef X

void tile32_pack(struct kern *k)
{
    struct kern_quant *q;

#define X(name)                                                                \
    q = &k->quant[KERN_##name];                                                \
    q->layout = "l16";                                                         \
    q->panel_bytes =                                                           \
        (size_t)TILE32_S(&tile32_##name) + TILE32_Q(&tile32_##name);           \
    q->pack = name##_pack;
#include "kernels/quant/tile32/types.h"
#undef X
    k->split = k->quant[KERN_q8_0];
    k->split.layout = "l16split";
    k->split.panel_bytes =
        (size_t)TILE32_S(&tile32_split) + 2 * (size_t)TILE32_Q(&tile32_split);
    k->split.pack = split_pack;
    k->split.mul = NULL;
}
