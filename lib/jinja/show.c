/* SPDX-License-Identifier: MIT
 * show.c - values as text: Python's str() and repr(), and json.dumps().
 *
 * Brackets and commas of a list that is data are data.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/unicode.h"
#include "base/utf8.h"
#include "jinja/jinja_impl.h"

void show_int(struct ctx *c, big i, bool data)
{
    unsigned __int128 u = i < 0 ? -(unsigned __int128)i : (unsigned __int128)i;
    char s[48];
    size_t at = sizeof s;

    do {
        s[--at] = (char)('0' + (int)(u % 10));
        u /= 10;
    } while (u);
    if (i < 0)
        s[--at] = '-';
    ctx_put(c, s + at, sizeof s - at, data);
}

/* The fewest digits that read back as F; where the point is decides between
 * the two forms. */
void show_real(char *to, double f)
{
    char s[40], digits[24], *e;
    int n = 0, exp, prec = 0;

    if (!isfinite(f)) {
        snprintf(to, 32, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    do
        snprintf(s, sizeof s, "%.*e", prec, f);
    while (prec++ < 17 && strtod(s, NULL) != f);
    e = strchr(s, 'e');
    exp = (int)strtol(e + 1, NULL, 10);
    for (const char *p = s; p < e; p++)
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    if (s[0] == '-')
        *to++ = '-';
    if (exp < -4 || exp >= 16)
        snprintf(to, 47, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "",
                 digits + 1, exp < 0 ? '-' : '+', abs(exp));
    else if (exp < 0)
        snprintf(to, 47, "0.%.*s%s", -exp - 1, "000", digits);
    else if (exp + 1 < n)
        snprintf(to, 47, "%.*s.%s", exp + 1, digits, digits + exp + 1);
    else
        snprintf(to, 47, "%s%.*s.0", digits, exp + 1 - n, "000000000000000");
}

static void put_float(struct ctx *c, struct val v)
{
    char s[50];

    show_real(s, v.f);
    ctx_puts(c, s, v.data);
}

static bool printable(uint32_t cp)
{
    uint8_t u = unicode_class(cp);

    if (cp < 127)
        return cp >= ' ';
    return !unicode_is(u, UNI_C | UNI_Z);
}

static void put_escaped(struct ctx *c, uint32_t cp, bool data)
{
    char s[16];

    snprintf(s, sizeof s,
             cp == '\n'     ? "\\n"
             : cp == '\r'   ? "\\r"
             : cp == '\t'   ? "\\t"
             : cp < 0x100   ? "\\x%02x"
             : cp < 0x10000 ? "\\u%04x"
                            : "\\U%08x",
             cp);
    ctx_puts(c, s, data);
}

static void repr_str(struct ctx *c, const struct str *s, bool bytes)
{
    bool single = s->n && memchr(s->p, '\'', s->n),
         twice = s->n && memchr(s->p, '"', s->n);
    char quote = single && !twice ? '"' : '\'';
    bool data = s->n ? str_marked(s, 0) : s->data;
    uint32_t cp;

    ctx_put(c, &quote, 1, data);
    for (size_t i = 0, len; i < s->n && ctx_step(c, 1); i += len) {
        len = utf8_get(s->p + i, bytes ? 1 : s->n - i, &cp);
        data = str_marked(s, i);
        if (bytes && s->p[i] >= 0x80)
            put_escaped(c, s->p[i], data);
        else if (cp == (unsigned char)quote || cp == '\\')
            ctx_put(c, (char[]){'\\', (char)cp}, 2, data);
        else if (printable(cp))
            ctx_put(c, s->p + i, len, data);
        else
            put_escaped(c, cp, data);
    }
    ctx_put(c, &quote, 1, s->n ? str_marked(s, s->n - 1) : data);
}

static void repr_list(struct ctx *c, const struct list *l, char open,
                      char close)
{
    ctx_put(c, &open, 1, l->data);
    for (size_t i = 0; i < l->n && !failed(c); i++) {
        if (i)
            ctx_puts(c, ", ", l->data);
        show_repr(c, l->v[i]);
    }
    if (open == '(' && l->n == 1)
        ctx_puts(c, ",", l->data);
    ctx_put(c, &close, 1, l->data);
}

/* KIND: as a view's, or 'd', a dict. */
static void repr_dict(struct ctx *c, const struct dict *d, int kind)
{
    for (size_t i = 0; i < d->n && !failed(c); i++) {
        ctx_puts(c, i ? ", " : "", d->data);
        if (kind == 'i')
            ctx_puts(c, "(", d->data);
        if (kind != 'v')
            show_repr(c, d->e[i].k);
        if (kind == 'd' || kind == 'i')
            ctx_puts(c, kind == 'd' ? ": " : ", ", d->data);
        if (kind != 'k')
            show_repr(c, d->e[i].v);
        if (kind == 'i')
            ctx_puts(c, ")", d->data);
    }
}

static void repr_range(struct ctx *c, const struct list *l)
{
    big to = l->from + (big)l->n * l->step;

    ctx_puts(c, "range(", false);
    show_int(c, l->from, false);
    ctx_puts(c, ", ", false);
    show_int(c, to, false);
    if (l->step != 1) {
        ctx_puts(c, ", ", false);
        show_int(c, l->step, false);
    }
    ctx_puts(c, ")", false);
}

static void repr_view(struct ctx *c, struct val v)
{
    const struct dict *d = v.view.d;

    ctx_puts(c, val_type_name(v), d->data);
    ctx_puts(c, "([", d->data);
    repr_dict(c, d, v.view.kind);
    ctx_puts(c, "])", d->data);
}

static void repr_map(struct ctx *c, struct val v)
{
    if (v.type == V_SPACE)
        ctx_puts(c, "<Namespace ", false);
    ctx_puts(c, "{", v.d->data);
    repr_dict(c, v.d, 'd');
    ctx_puts(c, v.type == V_SPACE ? "}>" : "}", v.d->data);
}

static void repr_other(struct ctx *c, struct val v)
{
    ctx_puts(c, "<", false);
    ctx_puts(c, val_type_name(v), false);
    if (v.type == V_LOOP) {
        ctx_puts(c, " ", false);
        show_int(c, (big)v.loop->i + 1, false);
        ctx_puts(c, "/", false);
        show_int(c, (big)v.loop->l->n, false);
    } else if (v.type == V_MACRO && v.macro->name) {
        ctx_puts(c, " '", false);
        ctx_put_str(c, v.macro->name);
        ctx_puts(c, "'", false);
    } else if (v.type == V_FUNC) {
        ctx_puts(c, " ", false);
        ctx_puts(c, v.func.def->name, false);
    }
    ctx_puts(c, ">", false);
}

void show_repr(struct ctx *c, struct val v)
{
    if (!ctx_enter(c) || !ctx_step(c, 1))
        return;
    switch (v.type) {
    case V_UNDEF:
        ctx_puts(c, "Undefined", false);
        break;
    case V_NONE:
        ctx_puts(c, "None", v.data);
        break;
    case V_BOOL:
        ctx_puts(c, v.i ? "True" : "False", v.data);
        break;
    case V_INT:
        show_int(c, v.i, v.data);
        break;
    case V_FLOAT:
        put_float(c, v);
        break;
    case V_BYTES:
        ctx_puts(c, "b", v.s->data);
        repr_str(c, v.s, true);
        break;
    case V_STR:
        repr_str(c, v.s, false);
        break;
    case V_LIST:
        repr_list(c, v.l, '[', ']');
        break;
    case V_TUPLE:
        repr_list(c, v.l, '(', ')');
        break;
    case V_DICT:
    case V_SPACE:
        repr_map(c, v);
        break;
    case V_VIEW:
        repr_view(c, v);
        break;
    case V_RANGE:
        repr_range(c, v.l);
        break;
    default:
        repr_other(c, v);
        break;
    }
    ctx_leave(c);
}

void show_str(struct ctx *c, struct val v)
{
    if (v.type == V_STR)
        ctx_put_str(c, v.s);
    else if (v.type != V_UNDEF)
        show_repr(c, v);
}

struct val show_val(struct ctx *c, struct val v)
{
    size_t from = c->out.n;

    if (v.type == V_STR)
        return v;
    show_str(c, v);
    return ctx_take(c, from);
}

/* ---- JSON, as json.dumps() ---- */

/* How many bytes of P[N] stand in JSON as they are. */
static size_t plain_run(const unsigned char *p, size_t n, bool ascii)
{
    size_t i = 0;

    while (i < n && p[i] >= 32 && p[i] != '"' && p[i] != '\\' &&
           !(ascii && p[i] >= 127))
        i++;
    return i;
}

static void json_str(struct ctx *c, const struct str *s, bool ascii)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    bool data = s->n ? str_marked(s, 0) : s->data;
    uint32_t cp;
    char hex[16];

    ctx_puts(c, "\"", data);
    for (size_t i = 0, len; i < s->n && ctx_step(c, 1); i += len) {
        const char *known;

        len = plain_run(s->p + i, s->n - i, ascii);
        if (len) {
            ctx_put_part(c, s, i, len);
            continue;
        }
        len = utf8_get(s->p + i, s->n - i, &cp);
        data = str_marked(s, i);
        known = cp && cp < 128 ? strchr(from, (int)cp) : NULL;
        if (known) {
            ctx_put(c, (char[]){'\\', to[known - from]}, 2, data);
        } else if (cp < 32 || (ascii && cp >= 127 && cp < 0x10000)) {
            snprintf(hex, sizeof hex, "\\u%04x", cp);
            ctx_puts(c, hex, data);
        } else if (ascii && cp >= 0x10000) {
            snprintf(hex, sizeof hex, "\\u%04x\\u%04x", 0xd7c0 + (cp >> 10),
                     0xdc00 + (cp & 0x3ff));
            ctx_puts(c, hex, data);
        } else {
            ctx_put(c, s->p + i, len, data);
        }
    }
    ctx_puts(c, "\"", s->n ? str_marked(s, s->n - 1) : data);
}

static void json_value(struct ctx *c, struct val v, const struct show_json *o,
                       int level);

/* A new line at LEVEL, where lines are wanted. */
static void json_line(struct ctx *c, const struct show_json *o, int level,
                      bool data)
{
    if (o->indent < 0 && !o->pad)
        return;
    ctx_puts(c, "\n", data);
    for (int i = 0; i < level && !failed(c); i++) {
        if (o->pad)
            ctx_put_str(c, o->pad);
        for (int k = 0; !o->pad && k < o->indent && !failed(c); k++)
            ctx_puts(c, " ", data);
    }
}

static void json_sep(struct ctx *c, const struct str *s, const char *usual,
                     bool data)
{
    if (s)
        ctx_put(c, s->p, s->n, data || str_any_data(s));
    else
        ctx_puts(c, usual, data);
}

static void json_list(struct ctx *c, const struct list *l,
                      const struct show_json *o, int level)
{
    const char *usual = o->indent >= 0 || o->pad ? "," : ", ";

    ctx_puts(c, "[", l->data);
    for (size_t i = 0; i < l->n && !failed(c); i++) {
        if (i)
            json_sep(c, o->item, usual, l->data);
        json_line(c, o, level + 1, l->data);
        json_value(c, l->v[i], o, level + 1);
    }
    if (l->n)
        json_line(c, o, level, l->data);
    ctx_puts(c, "]", l->data);
}

/* A key as a string. */
static void json_key(struct ctx *c, struct val k, const struct show_json *o)
{
    size_t from = c->out.n;

    if (k.type == V_STR) {
        json_str(c, k.s, o->ascii);
    } else if (val_is_num(k) || k.type == V_NONE) {
        json_value(c, k, o, 0);
        k = ctx_take(c, from);
        if (!failed(c))
            json_str(c, k.s, o->ascii);
    } else {
        ctx_fail(c, "keys must be str, int, float, bool or None, not %s",
                 val_type_name(k));
    }
}

static void json_dict(struct ctx *c, const struct dict *d,
                      const struct show_json *o, int level)
{
    const char *usual = o->indent >= 0 || o->pad ? "," : ", ";
    struct list *l;

    ctx_puts(c, "{", d->data);
    l = list_new(c, V_LIST, d->n, d->data).l;
    for (size_t i = 0; i < d->n && !failed(c); i++) {
        l->v[i] = val_int((big)i);
        l->n++;
    }
    if (o->sort && !failed(c)) {
        struct val *keys = ctx_alloc(c, d->n + 1, sizeof *keys);

        for (size_t i = 0; keys && i < d->n; i++)
            keys[i] = d->e[i].k;
        list_sort(c, l, keys, false);
    }
    for (size_t i = 0; i < d->n && !failed(c); i++) {
        const struct pair *e = &d->e[(size_t)l->v[i].i];

        if (i)
            json_sep(c, o->item, usual, d->data);
        json_line(c, o, level + 1, d->data);
        json_key(c, e->k, o);
        json_sep(c, o->key, ": ", d->data);
        json_value(c, e->v, o, level + 1);
    }
    if (d->n)
        json_line(c, o, level, d->data);
    ctx_puts(c, "}", d->data);
}

static void json_float(struct ctx *c, struct val v)
{
    if (isnan(v.f))
        ctx_puts(c, "NaN", v.data);
    else if (isinf(v.f))
        ctx_puts(c, v.f < 0 ? "-Infinity" : "Infinity", v.data);
    else
        put_float(c, v);
}

static void json_value(struct ctx *c, struct val v, const struct show_json *o,
                       int level)
{
    if (!ctx_enter(c) || !ctx_step(c, 1))
        return;
    switch (v.type) {
    case V_NONE:
        ctx_puts(c, "null", v.data);
        break;
    case V_BOOL:
        ctx_puts(c, v.i ? "true" : "false", v.data);
        break;
    case V_INT:
        show_int(c, v.i, v.data);
        break;
    case V_FLOAT:
        json_float(c, v);
        break;
    case V_STR:
        json_str(c, v.s, o->ascii);
        break;
    case V_LIST:
    case V_TUPLE:
        json_list(c, v.l, o, level);
        break;
    case V_DICT:
        json_dict(c, v.d, o, level);
        break;
    default:
        ctx_fail(c, "Object of type %s is not JSON serializable",
                 val_type_name(v));
        break;
    }
    ctx_leave(c);
}

void show_dumps(struct ctx *c, struct val v, const struct show_json *o)
{
    json_value(c, v, o, 0);
}
