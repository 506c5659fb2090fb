/* SPDX-License-Identifier: MIT
 * cpu_rope.c - sines, cosines and a logarithm that are the same everywhere: in
 * double, by fixed sequences of fma and plain operations, rounded once to
 * float.  Their errors, some 2^-52, are far below that rounding. */
#include <math.h>

#include "backend/cpu_impl.h"

/* pi/2 in three parts, the first two of 33 bits: products with a quotient below
 * 2^20 are exact. */
static const double HALF_PI[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34,
                                 0x1.3198a2e037073p-69};

/* sin and cos of X, |X| <= pi/4, by their series. */
static void series(double x, double *s, double *c)
{
    static const double sin_c[] = {-1.0 / 6,
                                   1.0 / 120,
                                   -1.0 / 5040,
                                   1.0 / 362880,
                                   -1.0 / 39916800,
                                   1.0 / 6227020800.0,
                                   -1.0 / 1307674368000.0,
                                   1.0 / 355687428096000.0};
    static const double cos_c[] = {-1.0 / 2,
                                   1.0 / 24,
                                   -1.0 / 720,
                                   1.0 / 40320,
                                   -1.0 / 3628800,
                                   1.0 / 479001600,
                                   -1.0 / 87178291200.0,
                                   1.0 / 20922789888000.0,
                                   -1.0 / 6402373705728000.0};
    double z = x * x, a = sin_c[7], b = cos_c[8];

    for (int i = 6; i >= 0; i--)
        a = fma(a, z, sin_c[i]);
    for (int i = 7; i >= 0; i--)
        b = fma(b, z, cos_c[i]);
    *s = fma(x * z, a, x);
    *c = fma(z, b, 1.0);
}

static void sin_cos(double x, double *s, double *c)
{
    double k = rint(x * 0x1.45f306dc9c883p-1), r, a, b;
    int64_t q;

    /* Beyond 2^31 quadrants an angle means nothing any more; NaN goes here. */
    if (!(fabs(k) < 0x1p31)) {
        *s = 0;
        *c = 1;
        return;
    }
    q = (int64_t)k;
    r = fma(-k, HALF_PI[0], x);
    r = fma(-k, HALF_PI[1], r);
    r = fma(-k, HALF_PI[2], r);
    series(r, &a, &b);
    *s = q & 1 ? b : a;
    *c = q & 1 ? a : b;
    if (q & 2)
        *s = -*s;
    if ((q + 1) & 2)
        *c = -*c;
}

void cpu_rope_angles(float *cs, const struct cpu_table *t, int pos)
{
    double s, c;

    for (int i = 0; i < t->npair; i++) {
        sin_cos((double)pos * t->freq[i], &s, &c);
        cs[2 * i] = (float)(c * (double)t->mscale);
        cs[2 * i + 1] = (float)(s * (double)t->mscale);
    }
}

/* n = m * 2^e with m between sqrt(1/2) and sqrt(2); ln m = 2 atanh(s), s =
 * (m - 1) / (m + 1), |s| < 0.172. */
float cpu_rope_log(int64_t n)
{
    int e;
    double m = frexp((double)n, &e), s, z, p = 0;

    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int i = 21; i >= 1; i -= 2)
        p = fma(p, z, 1.0 / i);
    return (float)fma((double)e, 0x1.62e42fefa39efp-1, 2 * s * p);
}
