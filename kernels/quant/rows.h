/* SPDX-License-Identifier: MIT
 * rows.h - the reference form of a panel: the file's rows one after the other,
 * and a product that is W times 16 calls of the type's dot().
 *
 *     static void q9_dequant(float *y, const void *row, int64_t n) ...
 *     static float q9_dot(const void *row, ...) ...
 *     ROWS(q9, 32, 10)                 elements and bytes of a block
 *
 *     void q9_init(struct kern *k)
 *     {
 *         q9_rows(k);
 *     }
 *
 * The faster forms are those of families (families.h). */
#ifndef LLM_KERNELS_QUANT_ROWS_H
#define LLM_KERNELS_QUANT_ROWS_H

#include <string.h>

#include "base/cpu.h"
#include "kernels/kern.h"

#define X(name, id, elems, bytes, act) void name##_init(struct kern *k);
#include "kernels/quant/list.h"
#undef X

/* SIZE: bytes of a row. */
static inline void rows_pack(void *panel, const void *row, size_t stride,
                             int rows, size_t size)
{
    char *p = panel;
    const char *from = row;

    for (int r = 0; r < rows; r++)
        memcpy(p + (size_t)r * size, from + (size_t)r * stride, size);
    memset(p + (size_t)rows * size, 0, (size_t)(KERN_ROWS - rows) * size);
}

static inline void rows_mul(kern_dot_fn *dot, enum kern_act act, size_t size,
                            float *y, size_t ldy, const void *panel,
                            const void *tile, int64_t n, int w)
{
    const char *p = panel;

    KERN_EACH_TILE(act, n, w, v, tile, y, ldy)
    for (int c = 0; c < v; c++)
        for (int r = 0; r < KERN_ROWS; r++)
            y[(size_t)c * ldy + (size_t)r] =
                dot(p + (size_t)r * size, tile, n, v, c);
}

#define ROWS(name, block, size)                                                \
    static void name##_pack_rows(void *panel, const void *row, size_t stride,  \
                                 int rows, int64_t n)                          \
    {                                                                          \
        rows_pack(panel, row, stride, rows, (size_t)(n / (block)) * (size));   \
    }                                                                          \
    static void name##_mul_rows(float *y, size_t ldy, const void *panel,       \
                                const void *tile, int64_t n, int w)            \
    {                                                                          \
        rows_mul(name##_dot, (block) == 256 ? KERN_ACT_Q256 : KERN_ACT_Q32,    \
                 (size_t)(n / (block)) * (size), y, ldy, panel, tile, n, w);   \
    }                                                                          \
    static struct kern_quant *name##_rows(struct kern *k)                      \
    {                                                                          \
        struct kern_quant *q = &k->quant[KERN_##name];                         \
                                                                               \
        q->layout = "rows";                                                    \
        q->panel_bytes = (size_t)KERN_ROWS * (size);                           \
        q->dequant = name##_dequant;                                           \
        q->dot = name##_dot;                                                   \
        q->pack = name##_pack_rows;                                            \
        q->mul = name##_mul_rows;                                              \
        return q;                                                              \
    }
#endif
