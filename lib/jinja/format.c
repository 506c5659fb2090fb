/* SPDX-License-Identifier: MIT
 * format.c - "..." % x and "...".format(x).
 *
 * What is filled in keeps its origin; signs and padding have that of the
 * format, or of the number.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "jinja/jinja_impl.h"

enum { MAX_WIDTH = 1 << 20, MAX_PRECISION = 300 };

struct spec {
    uint32_t fill;
    char align; /* '<', '>', '^', '=' or 0 */
    char sign;  /* '+', ' ' or 0 */
    bool alt, zero;
    char group;       /* ',' or '_' */
    long width, prec; /* -1: none */
    char type;        /* 0: none */
};

static const struct spec plain = {.fill = ' ', .width = -1, .prec = -1};

/* The text from FROM on, at least as wide as S says, padded by ALIGN. */
static void pad(struct ctx *c, size_t from, const struct spec *s, char align,
                bool data)
{
    struct val v = ctx_take(c, from);
    long n, left, more;
    size_t sign = 0;

    if (failed(c))
        return;
    n = (long)str_chars(v.s);
    more = s->width > n ? s->width - n : 0;
    left = align == '<' ? 0 : align == '^' ? more / 2 : more;
    if (align == '=') {
        const unsigned char *p = v.s->p;

        sign = v.s->n && (p[0] == '-' || p[0] == '+' || p[0] == ' ');
        if (v.s->n >= sign + 2 && s->alt && p[sign] == '0' && p[sign + 1] > '9')
            sign += 2;
    }
    ctx_put_part(c, v.s, 0, sign);
    for (long i = 0; i < left && !failed(c); i++)
        ctx_put_cp(c, s->fill, data);
    ctx_put_part(c, v.s, sign, v.s->n - sign);
    for (long i = left; i < more && !failed(c); i++)
        ctx_put_cp(c, s->fill, data);
}

static void put_sign(struct ctx *c, const struct spec *s, bool minus, bool data)
{
    if (minus)
        ctx_puts(c, "-", data);
    else if (s->sign)
        ctx_put(c, &s->sign, 1, data);
}

/* The digits P[N] with separators between groups of SIZE. */
static void put_groups(struct ctx *c, const char *p, size_t n, int size,
                       char sep, bool data)
{
    for (size_t i = 0; i < n; i++) {
        if (sep && i && (n - i) % (size_t)size == 0)
            ctx_put(c, &sep, 1, data);
        ctx_put(c, p + i, 1, data);
    }
}

static void put_int(struct ctx *c, const struct spec *s, big i, bool data)
{
    int base = s->type == 'x' || s->type == 'X' ? 16
               : s->type == 'o'                 ? 8
               : s->type == 'b'                 ? 2
                                                : 10;
    const char *set = s->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned __int128 u = i < 0 ? -(unsigned __int128)i : (unsigned __int128)i;
    char digits[160];
    size_t at = sizeof digits;

    put_sign(c, s, i < 0, data);
    if (s->alt && base != 10)
        ctx_put(c, (char[]){'0', s->type}, 2, data);
    do {
        digits[--at] = set[u % (unsigned)base];
        u /= (unsigned)base;
    } while (u);
    while (s->prec > 0 && (long)(sizeof digits - at) < s->prec && at > 1)
        digits[--at] = '0';
    put_groups(c, digits + at, sizeof digits - at, base == 10 ? 3 : 4, s->group,
               data);
}

/* As C's printf has it, by e, f or g; in capitals when TYPE is one. */
static void print_real(char *to, size_t n, double f, char type, int prec,
                       bool alt)
{
    switch (type | 32) {
    case 'e':
        snprintf(to, n, alt ? "%#.*e" : "%.*e", prec, f);
        break;
    case 'f':
        snprintf(to, n, alt ? "%#.*f" : "%.*f", prec, f);
        break;
    default:
        snprintf(to, n, alt ? "%#.*g" : "%.*g", prec, f);
        break;
    }
    for (; type < 'a' && *to; to++)
        if (*to == 'e')
            *to = 'E';
}

static void put_float(struct ctx *c, const struct spec *s, double f, bool data)
{
    char text[700], *p = text, *dot;
    bool percent = s->type == '%', minus;
    long prec = s->prec;
    char type = percent ? 'f' : s->type;

    if (prec > MAX_PRECISION) {
        ctx_fail(c, "a precision of more than %d", MAX_PRECISION);
        return;
    }
    if (type == 'n' || (!type && prec >= 0))
        type = 'g';
    if (percent)
        f *= 100;
    minus = signbit(f) && !isnan(f);
    if (!type) {
        show_real(text, f);
    } else if (!isfinite(f)) {
        snprintf(text, sizeof text, "%s",
                 isnan(f)              ? (type < 'a' ? "NAN" : "nan")
                 : minus && type < 'a' ? "-INF"
                 : minus               ? "-inf"
                 : type < 'a'          ? "INF"
                                       : "inf");
    } else {
        print_real(text, sizeof text, f, type, prec < 0 ? 6 : (int)prec,
                   s->alt);
    }
    /* What repr() would show as a whole number keeps its point. */
    if (!s->type && prec >= 0 && isfinite(f) && !strpbrk(text, ".e"))
        strncat(text, ".0", 3);
    if (*p == '-')
        p++;
    put_sign(c, s, minus, data);
    dot = p + strspn(p, "0123456789");
    put_groups(c, p, (size_t)(dot - p), 3, s->group, data);
    ctx_puts(c, dot, data);
    if (percent)
        ctx_puts(c, "%", data);
}

/* ---- % ---- */

struct percent {
    const struct list *l; /* the arguments; NULL: one */
    struct val one;
    size_t used;
    const struct str *f;
    size_t at;
};

static struct val next_arg(struct ctx *c, struct percent *p)
{
    size_t i = p->used++;

    if (p->l ? i < p->l->n : i == 0)
        return p->l ? p->l->v[i] : p->one;
    return ctx_fail(c, "not enough arguments for format string");
}

static int peek(const struct percent *p)
{
    return p->at < p->f->n ? p->f->p[p->at] : 0;
}

/* A number, or "*" for an argument. */
static long number(struct ctx *c, struct percent *p, long none)
{
    long n = none;
    struct val v;

    if (peek(p) == '*') {
        p->at++;
        v = next_arg(c, p);
        if (!val_is_int(v))
            ctx_fail(c, "* wants int");
        return failed(c)          ? 0
               : v.i > MAX_WIDTH  ? MAX_WIDTH + 1
               : v.i < -MAX_WIDTH ? -MAX_WIDTH - 1
                                  : (long)v.i;
    }
    while (peek(p) >= '0' && peek(p) <= '9') {
        n = (n < 0 ? 0 : n) * 10 + (peek(p) - '0');
        if (n > MAX_WIDTH)
            n = MAX_WIDTH + 1;
        p->at++;
    }
    return n;
}

/* "(key)" picks from a mapping. */
static bool pick(struct ctx *c, struct percent *p, struct val *v)
{
    size_t from = p->at + 1, to = from;
    struct val key;
    const struct val *got;

    if (peek(p) != '(')
        return false;
    while (to < p->f->n && p->f->p[to] != ')')
        to++;
    key = str_part(c, p->f, from, to - from);
    if (p->one.type != V_DICT) {
        ctx_fail(c, "format requires a mapping");
        return true;
    }
    got = failed(c) ? NULL : dict_find(c, p->one.d, key);
    if (!got)
        ctx_fail(c, "KeyError: '%.*s'", (int)((to - from) & 127),
                 (const char *)p->f->p + from);
    else
        *v = *got;
    p->at = to + 1;
    return true;
}

static void percent_string(struct ctx *c, const struct spec *s, struct val v,
                           bool data, char align)
{
    size_t from = c->out.n;
    struct val t;

    if (s->type == 'r' || s->type == 'a')
        show_repr(c, v);
    else
        show_str(c, v);
    if (s->prec >= 0) {
        t = ctx_take(c, from);
        if (!failed(c))
            ctx_put_part(c, t.s, 0, str_offset(t.s, (size_t)s->prec));
    }
    pad(c, from, s, align, data);
}

static void percent_char(struct ctx *c, const struct spec *s, struct val v,
                         bool data, char align)
{
    size_t from = c->out.n;

    if (v.type == V_STR && str_chars(v.s) == 1)
        ctx_put_str(c, v.s);
    else if (val_is_int(v) && v.i >= 0 && v.i < 0x110000 &&
             !(v.i >= 0xd800 && v.i < 0xe000))
        ctx_put_cp(c, (uint32_t)v.i, v.data);
    else
        ctx_fail(c, "%%c requires int or char");
    pad(c, from, s, align, data);
}

static void percent_number(struct ctx *c, struct spec *s, struct val v,
                           bool data, char align)
{
    size_t from = c->out.n;
    bool real = strchr("eEfFgG", s->type) != NULL;

    if (!val_is_num(v) ||
        (!real && v.type == V_FLOAT && strchr("xXo", s->type))) {
        ctx_fail(c, "%%%c format: %s is required, not %s", s->type,
                 real ? "a real number" : "an integer", val_type_name(v));
        return;
    }
    if (real) {
        put_float(c, s, val_double(v), v.data || data);
    } else {
        if (v.type == V_FLOAT && !(fabs(v.f) < 1e37)) {
            ctx_fail(c, "an integer of more than 128 bits");
            return;
        }
        put_int(c, s, v.type == V_FLOAT ? (big)v.f : v.i, v.data || data);
    }
    if (s->zero && align != '<') {
        s->fill = '0';
        align = '=';
    }
    pad(c, from, s, align, data || v.data);
}

/* One conversion, behind its "%". */
static void percent_one(struct ctx *c, struct percent *p)
{
    bool data = str_marked(p->f, p->at - 1);
    struct spec s = plain;
    char align = '>';
    struct val v = VAL_NONE;
    bool picked = pick(c, p, &v);

    for (; peek(p) && strchr("-+ #0", peek(p)); p->at++)
        switch (peek(p)) {
        case '-':
            align = '<';
            break;
        case '#':
            s.alt = true;
            break;
        case '0':
            s.zero = true;
            break;
        default:
            s.sign = s.sign == '+' ? '+' : (char)peek(p);
        }
    s.width = number(c, p, -1);
    if (s.width < -1) {
        align = '<';
        s.width = -s.width;
    }
    if (peek(p) == '.') {
        p->at++;
        s.prec = number(c, p, 0);
    }
    while (peek(p) && strchr("hlL", peek(p)))
        p->at++;
    s.type = (char)peek(p);
    p->at++;
    if (s.width > MAX_WIDTH || s.prec > MAX_WIDTH) {
        ctx_fail(c, "a width of more than %d", MAX_WIDTH);
        return;
    }
    if (s.type == '%') {
        ctx_puts(c, "%", data);
        return;
    }
    if (!picked)
        v = next_arg(c, p);
    if (failed(c))
        return;
    if (s.type && strchr("sra", s.type))
        percent_string(c, &s, v, data, align);
    else if (s.type == 'c')
        percent_char(c, &s, v, data, align);
    else if (s.type && strchr("diuxXoeEfFgG", s.type))
        percent_number(c, &s, v, data, align);
    else if (s.type)
        ctx_fail(c, "unsupported format character '%c'", s.type);
    else
        ctx_fail(c, "incomplete format");
}

struct val format_percent(struct ctx *c, const struct str *f, struct val arg)
{
    struct percent p = {.one = arg, .f = f};
    size_t from = c->out.n, at = 0;

    if (arg.type == V_TUPLE)
        p.l = arg.l;
    for (; p.at < f->n && ctx_step(c, 1); at = p.at) {
        const unsigned char *q = memchr(f->p + at, '%', f->n - at);

        p.at = q ? (size_t)(q - f->p) : f->n;
        ctx_put_part(c, f, at, p.at - at);
        if (q) {
            p.at++;
            percent_one(c, &p);
        }
    }
    if (!failed(c) && arg.type != V_DICT && p.used < (p.l ? p.l->n : 1))
        ctx_fail(c, "not all arguments converted during string formatting");
    return ctx_take(c, from);
}

/* ---- .format() ---- */

static bool is_align(int ch)
{
    return ch == '<' || ch == '>' || ch == '^' || ch == '=';
}

/* [[fill]align][sign][#][0][width][grouping][.precision][type] */
static bool parse_spec(struct ctx *c, struct spec *s, const struct str *f)
{
    struct percent p = {.f = f};
    uint32_t fill = 0;
    size_t len = f->n ? utf8_get(f->p, f->n, &fill) : 0;

    *s = plain;
    if (len && len < f->n && is_align(f->p[len])) {
        s->fill = fill;
        s->align = (char)f->p[len];
        p.at = len + 1;
    } else if (is_align(peek(&p))) {
        s->align = (char)peek(&p);
        p.at++;
    }
    if (peek(&p) == '+' || peek(&p) == '-' || peek(&p) == ' ') {
        s->sign = peek(&p) == '-' ? 0 : (char)peek(&p);
        p.at++;
    }
    if (peek(&p) == '#') {
        s->alt = true;
        p.at++;
    }
    if (peek(&p) == '0') {
        s->zero = true;
        p.at++;
    }
    if (peek(&p) != '*')
        s->width = number(c, &p, -1);
    if (peek(&p) == ',' || peek(&p) == '_') {
        s->group = (char)peek(&p);
        p.at++;
    }
    if (peek(&p) == '.') {
        p.at++;
        if (peek(&p) != '*')
            s->prec = number(c, &p, -1);
    }
    s->type = (char)peek(&p);
    p.at += s->type != 0;
    if (s->width > MAX_WIDTH || s->prec > MAX_WIDTH)
        ctx_fail(c, "a width of more than %d", MAX_WIDTH);
    else if (p.at < f->n)
        ctx_fail(c, "Invalid format specifier");
    return !failed(c);
}

static void format_value(struct ctx *c, struct val v, const struct str *f)
{
    struct spec s;
    size_t from = c->out.n;
    bool number = val_is_num(v) && !(v.type == V_BOOL && !f->n);
    bool data = v.data || str_any_data(f);

    if (!parse_spec(c, &s, f))
        return;
    if (s.zero && !s.align) {
        s.align = '=';
        s.fill = '0';
    }
    if (number && s.type == 'c') {
        percent_char(c, &plain, v, data, '<');
    } else if (number &&
               (v.type == V_FLOAT || (s.type && strchr("eEfFgG%", s.type)))) {
        if (s.type && !strchr("eEfFgGn%", s.type))
            ctx_fail(c, "Unknown format code '%c' for object of type 'float'",
                     s.type);
        put_float(c, &s, val_double(v), data);
    } else if (number) {
        if (s.type && !strchr("dxXobn", s.type))
            ctx_fail(c, "Unknown format code '%c' for object of type 'int'",
                     s.type);
        put_int(c, &s, v.i, data);
    } else {
        if (s.type && s.type != 's')
            ctx_fail(c, "Unknown format code '%c' for object of type '%s'",
                     s.type, val_type_name(v));
        if (v.type != V_STR && f->n)
            ctx_fail(c, "unsupported format string passed to %s.__format__",
                     val_type_name(v));
        s.type = 's';
        percent_string(c, &s, v, data, s.align ? s.align : '<');
        return;
    }
    pad(c, from, &s, s.align ? s.align : '>', data);
}

/* One replacement field: f[at..to), between its braces. */
struct field {
    const struct str *f;
    const struct args *a;
    big next; /* automatic numbers; -1 after one that was given */
};

/* The argument NAME[N] stands for. */
static struct val field_arg(struct ctx *c, struct field *x, size_t at, size_t n)
{
    const unsigned char *p = x->f->p + at;
    struct str s = {.p = p, .n = n};
    big i = x->next;

    if (!n || (p[0] >= '0' && p[0] <= '9')) {
        if (n && !num_parse_int(&s, 10, &i))
            i = -1;
        if (n ? x->next > 0 : x->next < 0)
            return ctx_fail(c, "cannot switch between manual and automatic "
                               "field numbering");
        x->next = n ? -1 : x->next + 1;
        if (i < 0 || i >= x->a->n)
            return ctx_fail(c,
                            "Replacement index %d out of range for "
                            "positional args tuple",
                            (int)(i & 0xffff));
        return x->a->v[i];
    }
    for (int k = 0; k < x->a->nkw; k++)
        if (str_same(x->a->kw[k].key, &s))
            return x->a->kw[k].v;
    return ctx_fail(c, "KeyError: '%.*s'", (int)(n & 127), (const char *)p);
}

/* name.attr[item] */
static struct val field_value(struct ctx *c, struct field *x, size_t at,
                              size_t end)
{
    const unsigned char *p = x->f->p;
    size_t to = at;
    struct val v, k;
    big i;

    while (to < end && p[to] != '.' && p[to] != '[')
        to++;
    v = field_arg(c, x, at, to - at);
    while (to < end && ctx_step(c, 1)) {
        bool item = p[to] == '[';

        at = ++to;
        while (to < end && (item ? p[to] != ']' : p[to] != '.' && p[to] != '['))
            to++;
        k = str_part(c, x->f, at, to - at);
        if (failed(c))
            break;
        if (item && num_parse_int(k.s, 10, &i))
            k = val_int(i);
        v = item ? eval_item(c, v, k) : eval_attr(c, v, k.s);
        if (v.type == V_UNDEF)
            val_undefined(c, v);
        to += item;
    }
    return v;
}

static size_t field_end(const struct str *f, size_t at)
{
    int depth = 1;

    for (; at < f->n; at++) {
        depth += (f->p[at] == '{') - (f->p[at] == '}');
        if (!depth)
            break;
    }
    return at;
}

/* A spec may have fields itself, but no deeper. */
static struct val expand_spec(struct ctx *c, struct field *x, size_t at,
                              size_t end)
{
    size_t from = c->out.n;

    while (at < end && ctx_step(c, 1)) {
        if (x->f->p[at] == '{') {
            size_t to = field_end(x->f, at + 1);

            show_str(c, field_value(c, x, at + 1, to < end ? to : end));
            at = to + 1;
        } else {
            ctx_put_part(c, x->f, at++, 1);
        }
    }
    return ctx_take(c, from);
}

static void put_field(struct ctx *c, struct field *x, size_t at, size_t end)
{
    size_t colon = at, bang;
    struct val v, spec;
    int conv = 0, depth = 0;

    while (colon < end && (depth || x->f->p[colon] != ':')) {
        depth += (x->f->p[colon] == '[') - (x->f->p[colon] == ']');
        colon++;
    }
    bang = colon;
    if (bang >= at + 2 && x->f->p[bang - 2] == '!') {
        bang -= 2;
        conv = x->f->p[bang + 1];
    }
    v = field_value(c, x, at, bang);
    if (conv == 'r' || conv == 'a' || conv == 's') {
        size_t from = c->out.n;

        if (conv == 's')
            show_str(c, v);
        else
            show_repr(c, v);
        v = ctx_take(c, from);
    }
    spec = expand_spec(c, x, colon < end ? colon + 1 : end, end);
    if (!failed(c))
        format_value(c, v, spec.s);
}

struct val format_braces(struct ctx *c, const struct str *f,
                         const struct args *a)
{
    struct field x = {f, a, 0};
    size_t from = c->out.n, at = 0, to;

    while (at < f->n && ctx_step(c, 1)) {
        unsigned char ch = f->p[at];
        bool twice = at + 1 < f->n && f->p[at + 1] == ch;

        if (ch != '{' && ch != '}') {
            for (to = at; to < f->n && f->p[to] != '{' && f->p[to] != '}';)
                to++;
            ctx_put_part(c, f, at, to - at);
            at = to;
        } else if (twice) {
            ctx_put_part(c, f, at, 1);
            at += 2;
        } else if (ch == '}') {
            ctx_fail(c, "Single '}' encountered in format string");
        } else {
            to = field_end(f, at + 1);
            if (to >= f->n) {
                ctx_fail(c, "expected '}' before end of string");
                break;
            }
            put_field(c, &x, at + 1, to);
            at = to + 1;
        }
    }
    return ctx_take(c, from);
}
