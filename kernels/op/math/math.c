/* SPDX-License-Identifier: MIT
 * Series, with arguments reduced so far that a dozen terms are enough; only
 * additions, products, quotients and fma(), which IEEE 754 defines. */
#include "kernels/op/math/math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAGIC 0x1.8p52 /* adding it rounds to an integer, in the last bits */

static uint64_t bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

static double from_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, 8);
    return d;
}

/* C[0] + C[1] x + ... */
static double series(double x, const double *c, int n)
{
    double y = c[n - 1];

    for (int i = n - 2; i >= 0; i--)
        y = fma(y, x, c[i]);
    return y;
}

void kern_sincos(double x, double *s, double *c)
{
    static const double sine[] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
    static const double cosine[] = {1.0 / 24,
                                    -1.0 / 720,
                                    1.0 / 40320,
                                    -1.0 / 3628800,
                                    1.0 / 479001600,
                                    -1.0 / 87178291200,
                                    1.0 / 20922789888000};
    double t, n, r, r2, sn, cs;

    if (!(fabs(x) < 0x1p50)) {
        *s = *c = NAN;
        return;
    }
    t = fma(x, 0x1.45f306dc9c883p-1, MAGIC);
    n = t - MAGIC;
    /* The first is exact while n is below 2^26 or so. */
    r = fma(n, -0x1.921fb54442d18p+0, x);
    r = fma(n, -0x1.1a62633145c07p-54, r);
    r2 = r * r;
    sn = fma(series(r2, sine, 7) * r2, r, r);
    cs = fma(r2, -0.5, 1);
    cs = fma(series(r2, cosine, 7) * r2, r2, cs);
    switch (bits(t) & 3) {
    case 0:
        *s = sn;
        *c = cs;
        break;
    case 1:
        *s = cs;
        *c = -sn;
        break;
    case 2:
        *s = -sn;
        *c = -cs;
        break;
    default:
        *s = -cs;
        *c = sn;
    }
}

/* e^(x + low) */
static double exp_sum(double x, double low)
{
    static const double c[] = {
        1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
        1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    double t, n, r, y;
    int k;

    if (x != x)
        return x + x;
    if (x > 710)
        return INFINITY;
    if (x < -746)
        return 0;
    t = fma(x, 0x1.71547652b82fep+0, MAGIC);
    n = t - MAGIC;
    r = fma(n, -0x1.62e42fefa39efp-1, x);
    r = fma(n, -0x1.abc9e3b39803fp-56, r) + low;
    y = 1 + fma(series(r, c, 12) * r, r, r);
    /* Twice half the exponent: 2^n alone may be out of range. */
    k = (int)n / 2;
    y *= from_bits((uint64_t)(1023 + k) << 52);
    return y * from_bits((uint64_t)(1023 + ((int)n - k)) << 52);
}

double kern_exp_f64(double x)
{
    return exp_sum(x, 0);
}

/* The logarithm of a positive finite X, *LOW what the result lacks. */
static double log_sum(double x, double *low)
{
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                               2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                               2.0 / 19, 2.0 / 21, 2.0 / 23};
    double e = 0, m, a, b, f, fl, f2, h, l, y;

    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    e += (double)((int)(bits(x) >> 52) - 1023);
    m = from_bits((bits(x) & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e += 1;
    }
    /* ln m = 2 artanh f, f = (m - 1) / (m + 1) and FL its rounding error */
    a = m - 1;
    b = m + 1;
    f = a / b;
    fl = (fma(-f, b, a) - f * (m - (b - 1))) / b;
    f2 = f * f;
    l = fma(series(f2, c, 11) * f2, f, fl + fl);
    /* ln 2 in two parts, the first so short that e times it is exact */
    h = e * 0x1.62e42fefa4p-1;
    l = fma(e, -0x1.8432a1b0e2634p-43, l);
    y = h + 2 * f;
    a = y - h;
    l += (h - (y - a)) + (2 * f - a);
    h = y + l;
    *low = (y - h) + l;
    return h;
}

double kern_log_f64(double x)
{
    double low;

    if (!(x > 0))
        return x == 0 ? -INFINITY : NAN;
    if (x > 0x1.fffffffffffffp1023)
        return x;
    return log_sum(x, &low);
}

double kern_pow_f64(double a, double b)
{
    double h, l, y;

    if (b == 0 || a == 1)
        return 1;
    if (!(a > 0) || a > 0x1.fffffffffffffp1023)
        return a < 0 || a != a || b != b ? NAN
               : (a == 0) == (b > 0)     ? 0
                                         : INFINITY;
    h = log_sum(a, &l);
    y = b * h;
    /* Beyond the exponential's range anyway; and the error of an infinite
     * product would be no number. */
    if (!(fabs(y) < 1000))
        return exp_sum(y, 0);
    return exp_sum(y, fma(b, h, -y) + b * l);
}
