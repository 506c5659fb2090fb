/* SPDX-License-Identifier: MIT
 * num.c - numbers, as Python has them; integers have 128 bits, and what does
 * not fit is an error.
 */
#include <math.h>
#include <stdlib.h>

#include "jinja/jinja_impl.h"

bool num_mul(big a, big b, big *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static int digit(unsigned char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10
                                                : 99;
}

/* Without the whitespace around. */
static struct str trimmed(const struct str *s)
{
    struct str t = *s;

    while (t.n && str_is_space(t.p[0]))
        t.p++, t.n--;
    while (t.n && str_is_space(t.p[t.n - 1]))
        t.n--;
    return t;
}

bool num_parse_int(const struct str *from, int base, big *out)
{
    struct str s = trimmed(from);
    bool minus = s.n && s.p[0] == '-', any = false;
    big v = 0;
    int prefix = 0;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s.p++, s.n--;
    if (s.n > 2 && s.p[0] == '0') {
        int c = s.p[1] | 32;

        prefix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    }
    if (prefix && (base == 0 || base == prefix)) {
        s.p += 2, s.n -= 2;
        base = prefix;
        if (s.n > 1 && s.p[0] == '_')
            s.p++, s.n--;
    }
    base = base ? base : 10;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '_' && any && i + 1 < s.n && s.p[i + 1] != '_')
            continue;
        if (digit(s.p[i]) >= base || !num_mul(v, base, &v) ||
            __builtin_add_overflow(v, (big)digit(s.p[i]), &v))
            return false;
        any = true;
    }
    *out = minus ? -v : v;
    return any;
}

bool num_parse_float(const struct str *from, double *out)
{
    struct str s = trimmed(from);
    char t[512], *stop;
    size_t n = 0;

    if (s.n >= sizeof t)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '_' && i && i + 1 < s.n && digit(s.p[i - 1]) < 10 &&
            digit(s.p[i + 1]) < 10)
            continue;
        if (!strchr("0123456789+-.eEinfINFatyATY", s.p[i]) || !s.p[i])
            return false;
        t[n++] = (char)s.p[i];
    }
    t[n] = 0;
    *out = strtod(t, &stop);
    return n && !*stop && !strchr(t, '(');
}

static struct val overflow(struct ctx *c)
{
    return ctx_fail(c, "an integer of more than 128 bits");
}

static struct val zero(struct ctx *c, enum op op, bool real)
{
    return ctx_fail(c, op == OP_DIV ? real ? "float division by zero"
                                           : "division by zero"
                       : op == OP_FLOOR && real ? "float floor division by zero"
                       : real                   ? "float modulo"
                              : "integer division or modulo by zero");
}

static double floor_mod(double a, double b)
{
    double m = fmod(a, b);

    if (m && (m < 0) != (b < 0))
        m += b;
    return m ? m : copysign(0, b);
}

static double nearest(double x)
{
    double f = floor(x);

    return x - f > 0.5 ? f + 1 : f;
}

static struct val floats(struct ctx *c, enum op op, double a, double b)
{
    if ((op == OP_DIV || op == OP_FLOOR || op == OP_MOD) && b == 0)
        return zero(c, op, true);
    switch (op) {
    case OP_ADD:
        return val_float(a + b);
    case OP_SUB:
        return val_float(a - b);
    case OP_MUL:
        return val_float(a * b);
    case OP_DIV:
        return val_float(a / b);
    case OP_FLOOR:
        return val_float(nearest((a - floor_mod(a, b)) / b));
    case OP_MOD:
        return val_float(floor_mod(a, b));
    default:
        break;
    }
    if (a == 0 && b < 0)
        return ctx_fail(c, "0.0 cannot be raised to a negative power");
    if (a < 0 && b != floor(b))
        return ctx_fail(c, "a negative number to a fraction's power");
    return val_float(pow(a, b));
}

static struct val power(struct ctx *c, big a, big b)
{
    big r = 1;

    if (b < 0)
        return floats(c, OP_POW, (double)a, (double)b);
    if (a == 0 || a == 1)
        return val_int(b ? a : 1);
    if (a == -1)
        return val_int(b & 1 ? -1 : 1);
    if (b > 127)
        return overflow(c);
    for (; b; b--)
        if (!num_mul(r, a, &r))
            return overflow(c);
    return val_int(r);
}

static struct val ints(struct ctx *c, enum op op, big a, big b)
{
    big r = 0;
    bool over = false;

    switch (op) {
    case OP_ADD:
        over = __builtin_add_overflow(a, b, &r);
        break;
    case OP_SUB:
        over = __builtin_sub_overflow(a, b, &r);
        break;
    case OP_MUL:
        over = !num_mul(a, b, &r);
        break;
    case OP_POW:
        return power(c, a, b);
    default:
        if (b == 0)
            return zero(c, op, false);
        if (op == OP_DIV)
            return val_float((double)a / (double)b);
        if (b == -1) {
            over = __builtin_sub_overflow((big)0, a, &r);
            r = op == OP_MOD ? 0 : r;
            over = over && op == OP_FLOOR;
            break;
        }
        r = a % b;
        if (r && (r < 0) != (b < 0))
            r += b;
        r = op == OP_MOD ? r : (a - r) / b;
        break;
    }
    return over ? overflow(c) : val_int(r);
}

struct val num_binary(struct ctx *c, enum op op, struct val a, struct val b)
{
    struct val v = a.type == V_FLOAT || b.type == V_FLOAT
                       ? floats(c, op, val_double(a), val_double(b))
                       : ints(c, op, a.i, b.i);

    v.data = a.data || b.data;
    return v;
}
