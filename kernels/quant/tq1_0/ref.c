/* SPDX-License-Identifier: MIT
 * ref.c - tq1_0: 256 weights, d times -1, 0 or 1; five in a byte.
 * A byte is a fraction of 256 in base 3: times 3, digit by digit, the first
 * digit is the whole part.
 * A block: 48 bytes, of which the first 32 are five times 32 weights and the
 * next 16 five times 16; 4 bytes, four times 4 weights; f16 d. */
#include "base/num.h"
#include "kernels/quant/x8/x8.h"

/* DIGITS times COUNT weights of COUNT bytes. */
static int8_t *digits(int8_t *q, const uint8_t *p, int count, int number)
{
    static const uint8_t pow3[5] = {1, 3, 9, 27, 81};

    for (int i = 0; i < number; i++)
        for (int j = 0; j < count; j++) {
            unsigned rest = (uint8_t)(p[j] * pow3[i]);
            *q++ = (int8_t)((int)(rest * 3 >> 8) - 1);
        }
    return q;
}

static void tq1_0_expand(int8_t *q, float *d, const uint8_t *p)
{
    for (int i = 0; i < 8; i++)
        d[i] = f16_f32(rd_u16(p + 52));
    q = digits(q, p, 32, 5);
    q = digits(q, p + 32, 16, 5);
    digits(q, p + 48, 4, 4);
}

X8(tq1_0, 256, 54, 32)
