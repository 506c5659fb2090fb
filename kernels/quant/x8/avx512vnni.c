/* SPDX-License-Identifier: MIT
 * avx512vnni.c - x8's product: 16 rows a vector, all columns of a tile at once.
 */
#include "kernels/quant/x8/x8.h"

#include <immintrin.h>

enum { COLS = 12 };

/* The activations of 32 weights, as unsigned bytes. */
static inline void bias(uint8_t u[][32], const char *x, int w)
{
    __m256i flip = _mm256_set1_epi8(-128);

    for (int c = 0; c < w; c++) {
        const void *from = x + c * 32;
        void *to = u[c];

        _mm256_storeu_si256(to,
                            _mm256_xor_si256(_mm256_loadu_si256(from), flip));
    }
}

static inline __attribute__((always_inline)) void
cols(float *y, size_t ldy, const char *p, const char *x, int64_t n, int ldx,
     int c0, int w, int group)
{
    const int groups = 32 / group, each = group / 4;
    uint8_t u[COLS][32] __attribute__((aligned(64)));
    __m512 acc[COLS];

#pragma GCC unroll 12
    for (int c = 0; c < w; c++)
        acc[c] = _mm512_setzero_ps();
    for (int64_t k = 0; k < n; k += 32) {
        const float *dx = (const float *)(const void *)(x + ldx * 32) + c0;

        bias(u, x + c0 * 32, w);
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            __m512 d = _mm512_loadu_ps(p + g * 64);
            __m512i s[COLS];

#pragma GCC unroll 12
            for (int c = 0; c < w; c++)
                s[c] = _mm512_loadu_si512(p + (groups + g) * 64);
#pragma GCC unroll 8
            for (int i = g * each; i < (g + 1) * each; i++) {
                __m512i q = _mm512_loadu_si512(p + groups * 128 + i * 64);
#pragma GCC unroll 12
                for (int c = 0; c < w; c++) {
                    int32_t v;
                    memcpy(&v, u[c] + i * 4, 4);
                    s[c] = _mm512_dpbusd_epi32(s[c], _mm512_set1_epi32(v), q);
                }
            }
#pragma GCC unroll 12
            for (int c = 0; c < w; c++)
                acc[c] = _mm512_fmadd_ps(
                    _mm512_cvtepi32_ps(s[c]),
                    _mm512_mul_ps(d, _mm512_set1_ps(dx[c])), acc[c]);
        }
        p += x8_bytes(group);
        x += (size_t)ldx * ACT_Q32_BYTES;
    }
#pragma GCC unroll 12
    for (int c = 0; c < w; c++)
        _mm512_storeu_ps(y + (size_t)c * ldy, acc[c]);
}

static inline __attribute__((always_inline)) void
mul(float *y, size_t ldy, const void *panel, const void *tile, int64_t n, int w,
    int group)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    for (int c = 0; c < v;) {
#define W(number)                                                              \
    if (v - c >= number) {                                                     \
        cols(y + (size_t)c * ldy, ldy, panel, tile, n, v, c, number, group);   \
        c += number;                                                           \
        continue;                                                              \
    }
        W(COLS) W(8) W(4) W(2) W(1)
#undef W
    }
}

static void mul16(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 16);
}

static void mul32(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 32);
}

const struct x8_muls x8_avx512vnni = {mul16, mul32};
