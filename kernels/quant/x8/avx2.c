/* SPDX-License-Identifier: MIT
 * avx2.c - x8's product: 2 vectors of 8 rows, 4 columns at once.
 *
 * The sums of floats wait in memory: 8 registers are the integer sums of a
 * group, and the others what they are made of. */
#include "kernels/quant/x8/x8.h"

#include <immintrin.h>

/* acc[c][r] += a record of the panel times W columns of U, whose scales are DX.
 */
static inline __attribute__((always_inline)) void
cols(float acc[][KERN_ROWS], const char *p, const uint8_t u[][32],
     const float *dx, int w, int group)
{
    const int groups = 32 / group, each = group / 4;
    const __m256i one = _mm256_set1_epi16(1);

#pragma GCC unroll 2
    for (int g = 0; g < groups; g++) {
        const float *d = (const float *)(const void *)p + g * KERN_ROWS;
        const void *c0 = p + (groups + g) * 64, *c1 = (const char *)c0 + 32;
        __m256i s[4][2];

#pragma GCC unroll 4
        for (int c = 0; c < w; c++) {
            s[c][0] = _mm256_loadu_si256(c0);
            s[c][1] = _mm256_loadu_si256(c1);
        }
#pragma GCC unroll 8
        for (int i = g * each; i < (g + 1) * each; i++) {
            const void *q = p + groups * 128 + i * 64;
            __m256i q0 = _mm256_loadu_si256(q);
            __m256i q1 = _mm256_loadu_si256((const __m256i *)q + 1);
#pragma GCC unroll 4
            for (int c = 0; c < w; c++) {
                int32_t v;
                __m256i x;

                memcpy(&v, u[c] + i * 4, 4);
                x = _mm256_set1_epi32(v);
                s[c][0] = _mm256_add_epi32(
                    s[c][0],
                    _mm256_madd_epi16(_mm256_maddubs_epi16(x, q0), one));
                s[c][1] = _mm256_add_epi32(
                    s[c][1],
                    _mm256_madd_epi16(_mm256_maddubs_epi16(x, q1), one));
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < w; c++)
#pragma GCC unroll 2
            for (int h = 0; h < 2; h++) {
                __m256 f = _mm256_mul_ps(_mm256_loadu_ps(d + 8 * h),
                                         _mm256_broadcast_ss(dx + c));

                _mm256_storeu_ps(
                    acc[c] + 8 * h,
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(s[c][h]), f,
                                    _mm256_loadu_ps(acc[c] + 8 * h)));
            }
    }
}

static inline __attribute__((always_inline)) void
one_tile(float *y, size_t ldy, const void *panel, const void *tile, int64_t n,
         int w, int group)
{
    const __m256i flip = _mm256_set1_epi8(-128);
    const char *p = panel, *x = tile;
    float acc[KERN_TILE][KERN_ROWS] = {{0}};
    uint8_t u[KERN_TILE][32];

    for (int64_t k = 0; k < n; k += 32) {
        const float *dx = (const float *)(const void *)(x + w * 32);
        int c = 0;

        for (int i = 0; i < w; i++) {
            const void *from = x + i * 32;
            void *to = u[i];

            _mm256_storeu_si256(
                to, _mm256_xor_si256(_mm256_loadu_si256(from), flip));
        }
        for (; c + 4 <= w; c += 4)
            cols(acc + c, p, u + c, dx + c, 4, group);
        if (w - c == 3)
            cols(acc + c, p, u + c, dx + c, 3, group);
        else if (w - c == 2)
            cols(acc + c, p, u + c, dx + c, 2, group);
        else if (w - c == 1)
            cols(acc + c, p, u + c, dx + c, 1, group);
        p += x8_bytes(group);
        x += (size_t)w * ACT_Q32_BYTES;
    }
    for (int c = 0; c < w; c++)
        memcpy(y + (size_t)c * ldy, acc[c], sizeof acc[c]);
}

static void mul16(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    one_tile(y, ldy, panel, tile, n, v, 16);
}

static void mul32(float *y, size_t ldy, const void *panel, const void *tile,
                  int64_t n, int w)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    one_tile(y, ldy, panel, tile, n, v, 32);
}

const struct x8_muls x8_avx2 = {mul16, mul32};
