/* SPDX-License-Identifier: MIT
 * ref.c - blocks expanded to rows, products and panels. */
#include "kernels/quant/x8/x8.h"

#include <math.h>
#include <string.h>

#include "kernels/quant/tile32/ref.h"

void x8_dequant(const struct x8 *t, float *y, const void *row, int64_t n)
{
    const uint8_t *p = row;
    int8_t q[X8_MAX];
    float d[X8_MAX / 16];

    for (int64_t b = 0; b < n / t->elems; b++, p += t->bytes) {
        t->expand(q, d, p);
        for (int i = 0; i < t->elems; i++)
            *y++ = d[i / t->group] * (float)q[i];
    }
}

float x8_dot(const struct x8 *t, const void *row, const void *tile, int64_t n,
             int w, int c)
{
    const uint8_t *p = row;
    int8_t q[X8_MAX];
    float d[X8_MAX / 16], acc = 0;

    for (int64_t k = 0; k < n; k += t->group) {
        int at = (int)(k % t->elems);
        struct tile32 x = tile32_at(tile, w, c, k / 32);
        const int8_t *xq = x.q + k % 32;
        int32_t s = 0;

        if (at == 0) {
            t->expand(q, d, p);
            p += t->bytes;
        }
        for (int i = 0; i < t->group; i++)
            s += q[at + i] * xq[i];
        acc = fmaf((float)s, d[at / t->group] * x.d, acc);
    }
    return acc;
}

/* One row's block into 32-weight records, at row R of each. */
static void put(char *to, int r, const int8_t *q, const float *d,
                const struct x8 *t)
{
    int groups = 32 / t->group;

    for (int k = 0; k < t->elems; k += 32, to += x8_bytes(t->group)) {
        float *td = (float *)(void *)to + r;
        int32_t *tc = (int32_t *)(void *)to + groups * KERN_ROWS + r;
        char *tq = to + groups * 128 + 4 * r;

        for (int g = 0; g < groups; g++) {
            const int8_t *v = q + k + g * t->group;
            int32_t s = 0;

            for (int i = 0; i < t->group; i++)
                s += v[i];
            td[g * KERN_ROWS] = d[k / t->group + g];
            tc[g * KERN_ROWS] = -128 * s;
        }
        for (int i = 0; i < 8; i++)
            memcpy(tq + i * 64, q + k + 4 * i, 4);
    }
}

void x8_pack(const struct x8 *t, void *panel, const void *row, size_t stride,
             int rows, int64_t n)
{
    size_t size = x8_bytes(t->group) * (size_t)(t->elems / 32);
    const uint8_t *from = row;
    char *to = panel;
    int8_t q[X8_MAX];
    float d[X8_MAX / 16];

    for (int64_t b = 0; b < n / t->elems; b++, to += size, from += t->bytes) {
        if (rows < KERN_ROWS)
            memset(to, 0, size);
        for (int r = 0; r < rows; r++) {
            t->expand(q, d, from + (size_t)r * stride);
            put(to, r, q, d, t);
        }
    }
}

static void mul(float *y, size_t ldy, const void *panel, const void *tile,
                int64_t n, int w, int group)
{
    KERN_EACH_TILE(KERN_ACT_Q32, n, w, v, tile, y, ldy)
    for (int c = 0; c < v; c++) {
        const char *p = panel;
        float acc[KERN_ROWS] = {0};

        for (int64_t k = 0; k < n; k += 32, p += x8_bytes(group)) {
            struct tile32 x = tile32_at(tile, v, c, k / 32);
            const float *d = (const float *)(const void *)p;
            const int8_t *q = (const int8_t *)p + 32 / group * 128;

            for (int g = 0; g < 32 / group; g++) {
                int32_t s[KERN_ROWS] = {0};

                for (int i = g * group; i < (g + 1) * group; i++)
                    for (int r = 0; r < KERN_ROWS; r++)
                        s[r] += q[i / 4 * 64 + r * 4 + i % 4] * x.q[i];
                for (int r = 0; r < KERN_ROWS; r++)
                    acc[r] =
                        fmaf((float)s[r], d[g * KERN_ROWS + r] * x.d, acc[r]);
            }
        }
        memcpy(y + (size_t)c * ldy, acc, sizeof acc);
    }
}

void x8_mul16(float *y, size_t ldy, const void *panel, const void *tile,
              int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 16);
}

void x8_mul32(float *y, size_t ldy, const void *panel, const void *tile,
              int64_t n, int w)
{
    mul(y, ldy, panel, tile, n, w, 32);
}
