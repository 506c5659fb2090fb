/* SPDX-License-Identifier: MIT
 * simd.h - x8's product for vectors of x86: a lane is a row, and 16 rows are
 * one vector or two.
 *
 * A file of an instruction set says X8_WIDTHS, X(columns that registers take at
 * a time) from the most on. */
#ifndef LLM_KERNELS_QUANT_X8_SIMD_H
#define LLM_KERNELS_QUANT_X8_SIMD_H

#include "kernels/quant/vec.h"

#if defined(VL)

#include "kernels/quant/ahead.h"
#include "kernels/quant/x8/x8.h"

enum { X8_PARTS = KERN_ROWS / VL, X8_MOST = 12 };

/* The activations of 32 weights, as unsigned bytes. */
VEC_FN void x8_unsigned(uint8_t u[][32], const char *x, int nc)
{
    const __m256i flip = _mm256_set1_epi8(-128);

    for (int c = 0; c < nc; c++) {
        const void *from = x + c * 32;
        void *to = u[c];

        _mm256_storeu_si256(to,
                            _mm256_xor_si256(_mm256_loadu_si256(from), flip));
    }
}

/* S + products of unsigned and signed bytes; two of them fit in 16 bits. */
VEC_FN VI x8_quads(VI s, VI u, VI q)
{
#if VEC_VNNI
    return vi_dot(s, u, q);
#else
    return vi_dot16(s, vi_dot8(u, q), vi_set16(1));
#endif
}

/* acc[h][c] += group G of the record at P times columns U, whose d are DX. */
VEC_FN void x8_group(VF acc[][X8_MOST], int nc, const char *p, int g,
                     const uint8_t u[][32], const float *dx, int group)
{
    const int groups = 32 / group, each = group / 4;
    VI s[X8_PARTS][X8_MOST];

    VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        s[h][c] = vi_load(p + (groups + g) * 64 + h * VL * 4);
    }
    VEC_UNROLL for (int i = g * each; i < (g + 1) * each; i++)
    {
        VI q[X8_PARTS];

        VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
        {
            q[h] = vi_load(p + groups * 128 + i * 64 + h * VL * 4);
        }
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            VI v = vi_each(u[c] + i * 4);

            VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
            {
                s[h][c] = x8_quads(s[h][c], v, q[h]);
                VEC_KEEP(s[h][c]);
            }
        }
    }
    VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
    {
        VF d = vf_load(p + g * 64 + h * VL * 4);

        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            acc[h][c] =
                vf_fma(vf_of(s[h][c]), vf_mul(d, vf_each(dx + c)), acc[h][c]);
        }
    }
}

/* Columns C0..C0+NC-1 of W. */
VEC_FN void x8_cols(float *y, size_t ldy, const char *p, const char *x,
                    int64_t n, int w, int c0, int nc, int group)
{
    uint8_t u[X8_MOST][32] __attribute__((aligned(64)));
    VF acc[X8_PARTS][X8_MOST];

    VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[h][c] = vf_zero();
    }
    for (int64_t k = 0; k < n; k += 32) {
        const float *dx = (const float *)(const void *)(x + w * 32) + c0;

        ahead(p, x8_bytes(group), c0 == 0);
        x8_unsigned(u, x + c0 * 32, nc);
        VEC_UNROLL for (int g = 0; g < 32 / group; g++)
        {
            x8_group(acc, nc, p, g, (const uint8_t(*)[32])u, dx, group);
        }
        p += x8_bytes(group);
        x += (size_t)w * ACT_Q32_BYTES;
    }
    VEC_UNROLL for (int h = 0; h < X8_PARTS; h++)
        VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        vf_store(y + (size_t)(c0 + c) * ldy + h * VL, acc[h][c]);
    }
}

VEC_FN void x8_mul(float *y, size_t ldy, const void *panel, const void *tile,
                   int64_t n, int w, int group)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    for (int c = 0; c < v;) {
#define X(nc)                                                                  \
    if (v - c >= nc) {                                                         \
        x8_cols(y, ldy, panel, tile, n, v, c, nc, group);                      \
        c += nc;                                                               \
        continue;                                                              \
    }
        X8_WIDTHS
#undef X
    }
}

static void x8_g16(float *y, size_t ldy, const void *panel, const void *tile,
                   int64_t n, int w)
{
    x8_mul(y, ldy, panel, tile, n, w, 16);
}

static void x8_g32(float *y, size_t ldy, const void *panel, const void *tile,
                   int64_t n, int w)
{
    x8_mul(y, ldy, panel, tile, n, w, 32);
}

#endif
#endif
