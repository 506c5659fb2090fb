/* SPDX-License-Identifier: MIT
 * x8.h - the types whose blocks are looked up, not computed: one form for all.
 *
 * Each such type gives an expander, and has everything else from here: a block
 * of 64 to 256 weights becomes int8 values times a float for each group of 16
 * or 32 of them, exactly.  A product adds group after group, in order:
 *     acc = fma((float)(sum of q * x), d * dx, acc)
 *
 * A panel, layout "x8g16" or "x8g32", is for every 32 weights
 *     float d[32 / group][16 rows];
 *     int32 c[32 / group][16];        -128 * sum of q
 *     int8 q[8][16][4 weights];
 * c is there for instructions that multiply unsigned by signed bytes: they take
 * x + 128, and c for the sum to start from.  That is more memory than the
 * file's 1.1 to 4.5 bits a weight (10 or 12), and no look-up in the product.
 *
 * |q| is at most 64, so two products of u8 and q fit in an int16.
 */
#ifndef LLM_KERNELS_QUANT_X8_X8_H
#define LLM_KERNELS_QUANT_X8_X8_H

#include "kernels/quant/rows.h"

enum { X8_MAX = 256 }; /* weights of a block at most */

/* A block from the file to its values and the scale of each group. */
typedef void x8_expand_fn(int8_t *q, float *d, const uint8_t *block);

/* A type: elements and bytes of a block, elements of a group. */
struct x8 {
    x8_expand_fn *expand;
    int elems, bytes, group;
};

/* Bytes of 32 weights of a panel. */
static inline size_t x8_bytes(int group)
{
    return (size_t)(32 / group) * 128 + 512;
}

void x8_dequant(const struct x8 *t, float *y, const void *row, int64_t n);
float x8_dot(const struct x8 *t, const void *row, const void *tile, int64_t n,
             int w, int c);
void x8_pack(const struct x8 *t, void *panel, const void *row, size_t stride,
             int rows, int64_t n);
void x8_mul16(float *y, size_t ldy, const void *panel, const void *tile,
              int64_t n, int w);
void x8_mul32(float *y, size_t ldy, const void *panel, const void *tile,
              int64_t n, int w);

/* Products of an instruction set, for groups of 16 and of 32. */
struct x8_muls {
    kern_mul_fn *mul16, *mul32;
};
extern const struct x8_muls x8_avx2, x8_avx2vnni, x8_avx512, x8_avx512vnni;
extern const struct x8_muls x8_neon, x8_dotprod, x8_i8mm;

/* All of a type but its expander, NAME_expand(). */
#define X8(name, number, size, grouped)                                        \
    static const struct x8 name##_type = {name##_expand, number, size,         \
                                          grouped};                            \
    static void name##_dequant(float *y, const void *row, int64_t n)           \
    {                                                                          \
        x8_dequant(&name##_type, y, row, n);                                   \
    }                                                                          \
    static float name##_dot(const void *row, const void *tile, int64_t n,      \
                            int w, int c)                                      \
    {                                                                          \
        return x8_dot(&name##_type, row, tile, n, w, c);                       \
    }                                                                          \
    static void name##_pack(void *panel, const void *row, size_t stride,       \
                            int rows, int64_t n)                               \
    {                                                                          \
        x8_pack(&name##_type, panel, row, stride, rows, n);                    \
    }                                                                          \
    void name##_init(struct kern *k)                                           \
    {                                                                          \
        struct kern_quant *q = &k->quant[KERN_##name];                         \
                                                                               \
        q->layout = (grouped) == 16 ? "x8g16" : "x8g32";                       \
        q->panel_bytes = x8_bytes(grouped) * (size_t)((number) / 32);          \
        q->dequant = name##_dequant;                                           \
        q->dot = name##_dot;                                                   \
        q->pack = name##_pack;                                                 \
        q->mul = (grouped) == 16 ? x8_mul16 : x8_mul32;                        \
    }

#endif
