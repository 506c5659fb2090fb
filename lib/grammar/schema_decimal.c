/* SPDX-License-Identifier: MIT
 * schema_decimal.c - decimal numbers, and the doubles next to them. */
#include "grammar/schema_decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* D[N] times 10^(EXP - N + 1), which may have zeros at either end. */
static int set(struct decimal *out, bool neg, const char *d, size_t n,
               int64_t exp, struct err *e)
{
    while (n && *d == '0') {
        d++;
        n--;
        exp--;
    }
    while (n && d[n - 1] == '0')
        n--;
    *out = (struct decimal){.neg = neg && n};
    if (!n)
        return 0;
    if (n > DECIMAL_MAX || exp > DECIMAL_EXP || exp < -DECIMAL_EXP)
        return err_set(e, ERR_UNSUPPORTED, "too large or too long a number");
    out->n = (int)n;
    out->exp = (int)exp;
    memcpy(out->d, d, n);
    return 0;
}

int schema_decimal_read(struct decimal *out, const char *p, size_t n,
                        struct err *e)
{
    char digit[2 * DECIMAL_MAX];
    size_t i = 0, nd = 0, power_at;
    int64_t exp = -1, power = 0;
    bool neg = n && *p == '-', point = false, minus = false;

    for (i += neg; i < n && p[i] != 'e' && p[i] != 'E'; i++) {
        if (p[i] == '.') {
            point = true;
            continue;
        }
        exp += !point;
        if (!nd && p[i] == '0') {
            exp -= point || exp >= 0 ? 1 : 0;
            continue;
        }
        if (nd < sizeof digit)
            digit[nd++] = p[i];
        else if (p[i] != '0')
            return err_set(e, ERR_UNSUPPORTED, "too long a number");
    }
    power_at = i;
    if (i < n) {
        i++;
        minus = i < n && p[i] == '-';
        i += i < n && (p[i] == '-' || p[i] == '+');
        for (; i < n; i++)
            power = power > 100000 ? power : power * 10 + (p[i] - '0');
    }
    if (set(out, neg, digit, nd, exp + (minus ? -power : power), e))
        return -1;
    out->real = point || power_at < n;
    return 0;
}

bool schema_decimal_whole(const struct decimal *a)
{
    return a->n - 1 <= a->exp;
}

/* Without an exponent. */
static void plain(struct buf *out, const struct decimal *a)
{
    int last = a->n - 1 > a->exp ? a->n - 1 : a->exp;

    if (a->neg)
        buf_putc(out, '-');
    if (!a->n) {
        buf_putc(out, '0');
        return;
    }
    for (int i = a->exp < 0 ? a->exp : 0; i <= last; i++) {
        buf_putc(out, i >= 0 && i < a->n ? a->d[i] : '0');
        if (i == a->exp && i < last)
            buf_putc(out, '.');
        else if (i == a->exp)
            break;
    }
}

static void scientific(struct buf *out, const struct decimal *a, int width)
{
    if (a->neg)
        buf_putc(out, '-');
    buf_putc(out, a->d[0]);
    if (a->n > 1) {
        buf_putc(out, '.');
        buf_put(out, a->d + 1, (size_t)a->n - 1);
    }
    buf_printf(out, "e%c%0*d", a->exp < 0 ? '-' : '+', width, abs(a->exp));
}

static double nearest(const struct decimal *a)
{
    char s[DECIMAL_MAX + 32];
    int n = snprintf(s, sizeof s, "%s%c.%.*se%d", a->neg ? "-" : "",
                     a->n ? a->d[0] : '0', a->n > 1 ? a->n - 1 : 1,
                     a->n > 1 ? a->d + 1 : "0", a->exp);

    return n > 0 && (size_t)n < sizeof s ? strtod(s, NULL) : 0;
}

/* The shortest decimal that is read as V, which is finite. */
static void shortest(struct decimal *out, double v)
{
    char s[40];

    for (int digits = 0; digits < 18; digits++) {
        snprintf(s, sizeof s, "%.*e", digits, v);
        if (strtod(s, NULL) == v)
            break;
    }
    schema_decimal_read(out, s, strlen(s), NULL);
}

/* A itself when it is whole, else as a double. */
static void settle(struct decimal *out, const struct decimal *a)
{
    double v = nearest(a);

    if (schema_decimal_whole(a) || !isfinite(v))
        *out = *a;
    else
        shortest(out, v);
}

void schema_decimal_write(struct buf *out, const struct decimal *a)
{
    struct decimal v;

    settle(&v, a);
    if (!schema_decimal_whole(&v) && v.exp < -4)
        scientific(out, &v, 2);
    else
        plain(out, &v);
}

void schema_decimal_spellings(struct buf *out, const struct decimal *a)
{
    struct decimal v, d;

    settle(&v, a);
    plain(out, &v);
    buf_putc(out, 0);
    if (!v.n) {
        buf_put(out,
                "-0\0"
                "0.0\0"
                "-0.0",
                12);
        return;
    }
    if (schema_decimal_whole(&v)) {
        if (v.exp < 16) {
            plain(out, &v);
            buf_put(out, ".0", 3);
        }
        if (v.exp > 308)
            return;
        shortest(&d, nearest(&v));
        if (v.exp >= 16 && d.n == v.n && !memcmp(d.d, v.d, (size_t)d.n)) {
            scientific(out, &v, 2);
            buf_putc(out, 0);
        }
    } else if (v.exp < -4) {
        scientific(out, &v, 2);
        buf_putc(out, 0);
        if (v.exp > -10) {
            scientific(out, &v, 1);
            buf_putc(out, 0);
        }
    }
}

int schema_decimal_ceiling(struct decimal *out, const struct decimal *a,
                           bool strict, struct err *e)
{
    char d[DECIMAL_MAX + 2] = "0";
    int n = a->n && a->exp >= 0 ? a->exp + 1 : 0; /* digits before the point */
    bool whole = schema_decimal_whole(a);
    /* By how much the magnitude changes. */
    bool up = !a->neg && (!whole || strict), down = a->neg && whole && strict;

    for (int i = 0; i < n; i++)
        d[1 + i] = i < a->n ? a->d[i] : '0';
    if (up) {
        int i = n;

        while (i && d[i] == '9')
            d[i--] = '0';
        d[i]++;
    } else if (down) {
        int i = n;

        while (i && d[i] == '0')
            d[i--] = '9';
        d[i]--;
    }
    return set(out, a->neg, d, (size_t)n + 1, n, e);
}

/* How V compares with A: exactly where A is written as a
 * whole number, else as doubles. */
static int compare(double v, const struct decimal *a)
{
    char s[DECIMAL_MAX];
    struct decimal exact;
    int sign = a->neg ? -1 : 1, n;

    if (a->real || !schema_decimal_whole(a) || !isfinite(v))
        return v < nearest(a) ? -1 : v > nearest(a);
    snprintf(s, sizeof s, "%.0f", v);
    schema_decimal_read(&exact, s, strlen(s), NULL);
    if (exact.neg != a->neg || !exact.n || !a->n)
        return v < nearest(a) ? -1 : v > nearest(a);
    if (exact.exp != a->exp)
        return exact.exp > a->exp ? sign : -sign;
    n = exact.n < a->n ? exact.n : a->n;
    n = memcmp(exact.d, a->d, (size_t)n);
    return n ? (n < 0 ? -sign : sign) : (exact.n - a->n) * sign;
}

enum schema_reach schema_decimal_double(struct decimal *out,
                                        const struct decimal *a, bool strict)
{
    double v = nearest(a);
    int cmp;

    if (!isfinite(v))
        return v > 0 ? REACH_NONE : REACH_ALL;
    cmp = compare(v, a);
    if (cmp < 0 || (strict && cmp == 0))
        v = nextafter(v, INFINITY);
    if (!isfinite(v))
        return REACH_NONE;
    shortest(out, v);
    return REACH_SOME;
}
