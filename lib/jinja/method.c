/* SPDX-License-Identifier: MIT
 * method.c - the methods of strings, as Python has them.
 */
#include "base/unicode.h"
#include "base/utf8.h"
#include "jinja/jinja_impl.h"

#define METHOD(name)                                                           \
    static struct val m_##name(struct ctx *c, struct val self,                 \
                               const struct val *p, const struct args *a)
/* What a method does not look at. */
#define UNUSED ((void)c, (void)self, (void)p, (void)a)

/* ---- arguments ---- */

static const struct str *want_str(struct ctx *c, struct val v)
{
    static const struct str empty = {.p = (const unsigned char *)"",
                                     .ascii = true};

    if (v.type == V_STR)
        return v.s;
    if (v.type == V_UNDEF)
        val_undefined(c, v);
    else
        ctx_fail(c, "must be str, not %s", val_type_name(v));
    return &empty;
}

/* NULL for None, and for nothing. */
static const struct str *str_or_none(struct ctx *c, struct val v)
{
    return v.type == V_ABSENT || v.type == V_NONE ? NULL : want_str(c, v);
}

static big want_int(struct ctx *c, struct val v, big none)
{
    if (v.type == V_ABSENT)
        return none;
    if (val_is_int(v))
        return v.i;
    if (v.type == V_UNDEF)
        val_undefined(c, v);
    else
        ctx_fail(c, "'%s' object cannot be interpreted as an integer",
                 val_type_name(v));
    return 0;
}

/* ---- case ---- */

METHOD(upper)
{
    UNUSED;
    return str_case(c, self.s, 'u');
}
METHOD(lower)
{
    UNUSED;
    return str_case(c, self.s, 'l');
}
METHOD(title)
{
    UNUSED;
    return str_case(c, self.s, 't');
}
METHOD(capitalize)
{
    UNUSED;
    return str_case(c, self.s, 'c');
}
METHOD(swapcase)
{
    UNUSED;
    return str_case(c, self.s, 's');
}

/* ---- strip ---- */

METHOD(strip)
{
    UNUSED;
    return str_strip(c, self.s, str_or_none(c, p[0]), 3);
}
METHOD(lstrip)
{
    UNUSED;
    return str_strip(c, self.s, str_or_none(c, p[0]), 1);
}
METHOD(rstrip)
{
    UNUSED;
    return str_strip(c, self.s, str_or_none(c, p[0]), 2);
}

static bool has_prefix(const struct str *s, const struct str *x)
{
    return x->n <= s->n && !memcmp(s->p, x->p, x->n);
}

static bool has_suffix(const struct str *s, const struct str *x)
{
    return x->n <= s->n && !memcmp(s->p + s->n - x->n, x->p, x->n);
}

METHOD(removeprefix)
{
    const struct str *x = want_str(c, p[0]);
    size_t n = has_prefix(self.s, x) ? x->n : 0;

    (void)a;
    return str_part(c, self.s, n, self.s->n - n);
}
METHOD(removesuffix)
{
    const struct str *x = want_str(c, p[0]);

    (void)a;
    return str_part(c, self.s, 0,
                    self.s->n - (has_suffix(self.s, x) ? x->n : 0));
}

/* ---- search ---- */

/* The part of S from P[0] to P[1], by characters. */
static struct str window(struct ctx *c, const struct str *s,
                         const struct val *p, size_t *skipped)
{
    big n = (big)str_chars(s), from, to;
    struct str w = *s;
    size_t at, end;

    from = p[0].type == V_NONE ? 0 : want_int(c, p[0], 0);
    to = p[1].type == V_NONE ? n : want_int(c, p[1], n);
    from = from < 0 ? from + n : from;
    to = to < 0 ? to + n : to;
    from = from < 0 ? 0 : from > n ? n : from;
    to = to < from ? from : to > n ? n : to;
    at = str_offset(s, (size_t)from);
    end = str_offset(s, (size_t)to);
    w.p += at;
    w.n = end - at;
    w.mark = s->mark ? s->mark + at : NULL;
    w.room = NULL;
    *skipped = (size_t)from;
    return w;
}

static struct val ends(struct ctx *c, struct val self, const struct val *p,
                       bool (*test)(const struct str *, const struct str *),
                       const char *name)
{
    size_t skipped;
    struct str w = window(c, self.s, p + 1, &skipped);

    if (p[0].type == V_STR)
        return val_bool(test(&w, p[0].s));
    if (p[0].type == V_UNDEF)
        return val_undefined(c, p[0]);
    if (p[0].type != V_TUPLE)
        return ctx_fail(c, "%s first arg must be str or a tuple of str, not %s",
                        name, val_type_name(p[0]));
    for (size_t i = 0; i < p[0].l->n && ctx_step(c, 1); i++)
        if (test(&w, want_str(c, p[0].l->v[i])))
            return val_bool(true);
    return val_bool(false);
}

METHOD(startswith)
{
    (void)a;
    return ends(c, self, p, has_prefix, "startswith");
}
METHOD(endswith)
{
    (void)a;
    return ends(c, self, p, has_suffix, "endswith");
}

static struct val search(struct ctx *c, struct val self, const struct val *p,
                         bool last, bool must)
{
    size_t skipped;
    struct str w = window(c, self.s, p + 1, &skipped), before;
    const struct str *x = want_str(c, p[0]);
    ptrdiff_t at = last ? str_rfind(c, &w, x) : str_find(c, &w, 0, x);

    if (at < 0 && must)
        return ctx_fail(c, "substring not found");
    if (at < 0)
        return val_int(-1);
    before = w;
    before.n = (size_t)at;
    return val_int((big)(skipped + str_chars(&before)));
}

METHOD(find)
{
    (void)a;
    return search(c, self, p, false, false);
}
METHOD(rfind)
{
    (void)a;
    return search(c, self, p, true, false);
}
METHOD(index)
{
    (void)a;
    return search(c, self, p, false, true);
}
METHOD(rindex)
{
    (void)a;
    return search(c, self, p, true, true);
}

METHOD(count)
{
    size_t skipped, at = 0;
    struct str w = window(c, self.s, p + 1, &skipped);
    const struct str *x = want_str(c, p[0]);
    ptrdiff_t got;
    big n = 0;

    (void)a;
    if (!x->n)
        return val_int((big)str_chars(&w) + 1);
    for (; (got = str_find(c, &w, at, x)) >= 0 && !failed(c); n++)
        at = (size_t)got + x->n;
    return val_int(n);
}

METHOD(replace)
{
    const struct str *s = self.s, *from = want_str(c, p[0]),
                     *to = want_str(c, p[1]);
    big left = want_int(c, p[2], -1);
    size_t start = c->out.n, at = 0;
    ptrdiff_t got;
    uint32_t cp;

    (void)a;
    for (; left && !failed(c); left--) {
        if (from->n) {
            got = str_find(c, s, at, from);
            if (got < 0)
                break;
            ctx_put_part(c, s, at, (size_t)got - at);
            ctx_put_str(c, to);
            at = (size_t)got + from->n;
            continue;
        }
        ctx_put_str(c, to);
        if (at >= s->n)
            break;
        got = (ptrdiff_t)utf8_get(s->p + at, s->n - at, &cp);
        ctx_put_part(c, s, at, (size_t)got);
        at += (size_t)got;
        ctx_step(c, 1);
    }
    ctx_put_part(c, s, at, s->n - at);
    return ctx_take(c, start);
}

/* ---- split and join ---- */

static bool space_at(const struct str *s, size_t at, size_t *len)
{
    uint32_t cp;

    *len = utf8_get(s->p + at, s->n - at, &cp);
    return str_is_space(cp);
}

static struct val split_space(struct ctx *c, const struct str *s, big left)
{
    struct val l = list_new(c, V_LIST, 0, false);
    size_t at = 0, from, len = 1;

    while (ctx_step(c, 1)) {
        while (at < s->n && space_at(s, at, &len) && ctx_step(c, 1))
            at += len;
        if (at >= s->n)
            break;
        from = at;
        if (left-- == 0) { /* the blanks behind it stay */
            list_add(c, &l, str_part(c, s, at, s->n - at));
            break;
        }
        while (at < s->n && !space_at(s, at, &len))
            at += len;
        list_add(c, &l, str_part(c, s, from, at - from));
    }
    return l;
}

METHOD(split)
{
    const struct str *s = self.s, *sep = str_or_none(c, p[0]);
    big left = want_int(c, p[1], -1);
    struct val l;
    size_t at = 0;
    ptrdiff_t got;

    (void)a;
    if (!sep)
        return split_space(c, s, left);
    if (!sep->n)
        return ctx_fail(c, "empty separator");
    l = list_new(c, V_LIST, 0, false);
    while (left-- && (got = str_find(c, s, at, sep)) >= 0 && !failed(c)) {
        list_add(c, &l, str_part(c, s, at, (size_t)got - at));
        at = (size_t)got + sep->n;
    }
    list_add(c, &l, str_part(c, s, at, s->n - at));
    return l;
}

static struct val reversed(struct ctx *c, struct val l)
{
    for (size_t i = 0; !failed(c) && i < l.l->n / 2; i++) {
        struct val v = l.l->v[i];

        l.l->v[i] = l.l->v[l.l->n - 1 - i];
        l.l->v[l.l->n - 1 - i] = v;
    }
    return l;
}

METHOD(rsplit)
{
    const struct str *s = self.s, *sep = str_or_none(c, p[0]);
    big left = want_int(c, p[1], -1);
    struct val l;
    struct str w = *s;
    ptrdiff_t got;

    if (left < 0)
        return m_split(c, self, p, a);
    l = list_new(c, V_LIST, 0, false);
    if (sep && !sep->n)
        return ctx_fail(c, "empty separator");
    w.room = NULL;
    while (left-- && !failed(c) && ctx_step(c, 1)) {
        if (!sep) { /* a word, and the whitespace before it */
            size_t end, len;

            w.n = str_strip(c, &w, NULL, 2).s->n;
            for (end = w.n; end; end--) {
                if ((w.p[end - 1] & 0xc0) == 0x80)
                    continue;
                if (space_at(&w, end - 1, &len))
                    break;
            }
            if (!w.n || !end)
                break;
            for (; (w.p[end] & 0xc0) == 0x80; end++)
                ;
            list_add(c, &l, str_part(c, s, end, w.n - end));
            w.n = end;
            continue;
        }
        got = str_rfind(c, &w, sep);
        if (got < 0)
            break;
        list_add(
            c, &l,
            str_part(c, s, (size_t)got + sep->n, w.n - (size_t)got - sep->n));
        w.n = (size_t)got;
    }
    if (!sep && !failed(c))
        w.n = str_strip(c, &w, NULL, 2).s->n;
    if (sep || w.n)
        list_add(c, &l, str_part(c, s, 0, w.n));
    return reversed(c, l);
}

METHOD(splitlines)
{
    bool keep = p[0].type != V_ABSENT && val_true(c, p[0]);
    struct val l = list_new(c, V_LIST, 0, false);
    const struct str *s = self.s;
    size_t from = 0, len;
    uint32_t cp;

    (void)a;
    for (size_t i = 0; i < s->n && ctx_step(c, 1); i += len) {
        len = utf8_get(s->p + i, s->n - i, &cp);
        if (!((cp >= 10 && cp <= 13) || (cp >= 0x1c && cp <= 0x1e) ||
              cp == 0x85 || cp == 0x2028 || cp == 0x2029))
            continue;
        if (cp == '\r' && i + 1 < s->n && s->p[i + 1] == '\n')
            len = 2;
        list_add(c, &l, str_part(c, s, from, i + (keep ? len : 0) - from));
        from = i + len;
    }
    if (from < s->n)
        list_add(c, &l, str_part(c, s, from, s->n - from));
    return l;
}

static struct val parts(struct ctx *c, const struct str *s, ptrdiff_t at,
                        const struct str *sep, bool last)
{
    struct val none = str_lit(c, ""), v[3] = {none, none, none};

    if (failed(c))
        return VAL_NONE;
    if (!sep->n)
        return ctx_fail(c, "empty separator");
    if (at < 0) {
        v[last ? 2 : 0] = val_str((struct str *)(uintptr_t)s);
    } else {
        size_t end = (size_t)at + sep->n;

        v[0] = str_part(c, s, 0, (size_t)at);
        v[1] = val_str((struct str *)(uintptr_t)sep);
        v[2] = str_part(c, s, end, s->n - end);
    }
    return list_of(c, V_TUPLE, v, 3);
}

METHOD(partition)
{
    const struct str *sep = want_str(c, p[0]);

    (void)a;
    return parts(c, self.s, str_find(c, self.s, 0, sep), sep, false);
}
METHOD(rpartition)
{
    const struct str *sep = want_str(c, p[0]);

    (void)a;
    return parts(c, self.s, str_rfind(c, self.s, sep), sep, true);
}

METHOD(join)
{
    const struct list *l = val_iter(c, p[0]);
    size_t from = c->out.n;

    (void)a;
    for (size_t i = 0; l && i < l->n && !failed(c); i++) {
        if (i)
            ctx_put_str(c, self.s);
        if (l->v[i].type != V_STR)
            return ctx_fail(c,
                            "sequence item %zu: expected str instance, %s "
                            "found",
                            i, val_type_name(l->v[i]));
        ctx_put_str(c, l->v[i].s);
    }
    return ctx_take(c, from);
}

/* ---- padding ---- */

/* LEFT and RIGHT times FILL around S. */
static struct val padded(struct ctx *c, const struct str *s,
                         const struct str *fill, big left, big right)
{
    static const struct str space = {.p = (const unsigned char *)" ", .n = 1};
    size_t from = c->out.n;

    fill = fill ? fill : &space;
    if (str_chars(fill) != 1)
        return ctx_fail(c, "The fill character must be exactly one character "
                           "long");
    if (left + right > JINJA_MAX_OUTPUT)
        return ctx_fail(c, "more than %d MB of output", JINJA_MAX_OUTPUT >> 20);
    for (; left > 0 && ctx_step(c, 1); left--)
        ctx_put_str(c, fill);
    ctx_put_str(c, s);
    for (; right > 0 && ctx_step(c, 1); right--)
        ctx_put_str(c, fill);
    return ctx_take(c, from);
}

static big missing(struct ctx *c, struct val self, struct val width)
{
    big w = want_int(c, width, 0), n = (big)str_chars(self.s);

    if (w > JINJA_MAX_OUTPUT)
        ctx_fail(c, "more than %d MB of output", JINJA_MAX_OUTPUT >> 20);
    return w > n && !failed(c) ? w - n : 0;
}

METHOD(center)
{
    big more = missing(c, self, p[0]), w = more + (big)str_chars(self.s);
    big left = more / 2 + (more & w & 1);

    (void)a;
    return padded(c, self.s, str_or_none(c, p[1]), left, more - left);
}
METHOD(ljust)
{
    (void)a;
    return padded(c, self.s, str_or_none(c, p[1]), 0, missing(c, self, p[0]));
}
METHOD(rjust)
{
    (void)a;
    return padded(c, self.s, str_or_none(c, p[1]), missing(c, self, p[0]), 0);
}
METHOD(zfill)
{
    big more = missing(c, self, p[0]);
    size_t from = c->out.n, sign;

    (void)a;
    sign = self.s->n && (self.s->p[0] == '-' || self.s->p[0] == '+');
    ctx_put_part(c, self.s, 0, sign);
    for (; more > 0 && ctx_step(c, 1); more--)
        ctx_puts(c, "0", str_any_data(self.s));
    ctx_put_part(c, self.s, sign, self.s->n - sign);
    return ctx_take(c, from);
}

METHOD(expandtabs)
{
    big size = want_int(c, p[0], 8), column = 0;
    size_t from = c->out.n;
    const struct str *s = self.s;

    (void)a;
    if (size > 10000)
        return ctx_fail(c, "more than %d steps", JINJA_MAX_STEPS);
    for (size_t i = 0; i < s->n && ctx_step(c, 1); i++) {
        if (s->p[i] != '\t') {
            ctx_put_part(c, s, i, 1);
            column += (s->p[i] & 0xc0) != 0x80;
            if (s->p[i] == '\n' || s->p[i] == '\r')
                column = 0;
            continue;
        }
        for (big n = size > 0 ? size - column % size : 0; n > 0; n--, column++)
            ctx_puts(c, " ", str_marked(s, i));
    }
    return ctx_take(c, from);
}

/* ---- kinds of characters ---- */

static bool is_alpha(uint32_t cp)
{
    return unicode_is(unicode_class(cp), UNI_L);
}

static bool is_decimal(uint32_t cp)
{
    return (unicode_class(cp) & UNI_CATEGORY) == UNI_ND;
}

static bool is_digit(uint32_t cp)
{
    return is_decimal(cp) || cp == 0xb2 || cp == 0xb3 || cp == 0xb9 ||
           (cp >= 0x2070 && cp <= 0x2089 && cp != 0x2071);
}

static bool is_numeric(uint32_t cp)
{
    return unicode_is(unicode_class(cp), UNI_N);
}

static bool is_alnum(uint32_t cp)
{
    return is_alpha(cp) || is_numeric(cp);
}

static bool is_ascii(uint32_t cp)
{
    return cp < 128;
}

static bool all_are(const struct str *s, bool (*is)(uint32_t cp))
{
    uint32_t cp;

    for (size_t i = 0; i < s->n;) {
        i += utf8_get(s->p + i, s->n - i, &cp);
        if (!is(cp))
            return false;
    }
    return s->n != 0;
}

#define IS(method, is)                                                         \
    METHOD(method)                                                             \
    {                                                                          \
        UNUSED;                                                                \
        ctx_step(c, self.s->n / 8);                                            \
        return val_bool(all_are(self.s, is));                                  \
    }
IS(isalpha, is_alpha)
IS(isdecimal, is_decimal)
IS(isdigit, is_digit)
IS(isnumeric, is_numeric)
IS(isalnum, is_alnum)
IS(isspace, str_is_space)

METHOD(isascii)
{
    UNUSED;
    return val_bool(!self.s->n || all_are(self.s, is_ascii));
}

/* Has it cased characters, and only such? */
static struct val all_case(struct ctx *c, const struct str *s,
                           bool (*is)(uint32_t cp))
{
    bool any = false;
    uint32_t cp;

    for (size_t i = 0; i < s->n && ctx_step(c, 1);) {
        i += utf8_get(s->p + i, s->n - i, &cp);
        if (unicode_is_cased(cp) && !is(cp))
            return val_bool(false);
        any |= is(cp);
    }
    return val_bool(any);
}

METHOD(isupper)
{
    UNUSED;
    return all_case(c, self.s, unicode_is_upper);
}
METHOD(islower)
{
    UNUSED;
    return all_case(c, self.s, unicode_is_lower);
}
METHOD(istitle)
{
    bool any = false, inside = false;
    const struct str *s = self.s;
    uint32_t cp;

    UNUSED;
    for (size_t i = 0; i < s->n && ctx_step(c, 1);) {
        bool cased, lower;

        i += utf8_get(s->p + i, s->n - i, &cp);
        cased = unicode_is_cased(cp);
        lower = unicode_is_lower(cp);
        if (cased && lower != inside)
            return val_bool(false);
        inside = cased;
        any |= cased;
    }
    return val_bool(any);
}

/* ---- other methods of strings ---- */

METHOD(format)
{
    UNUSED;
    return format_braces(c, self.s, a);
}

METHOD(encode)
{
    struct val v = self;

    UNUSED;
    v.type = V_BYTES;
    return v;
}

METHOD(decode)
{
    struct val v = self;

    UNUSED;
    v.type = V_STR;
    return v;
}

static const struct func_def of_str[] = {
    {"capitalize", m_capitalize, "", 0},
    {"casefold", m_lower, "", 0},
    {"center", m_center, "width fillchar", 1},
    {"count", m_count, "sub start end", 1},
    {"encode", m_encode, "encoding errors", 0},
    {"endswith", m_endswith, "suffix start end", 1},
    {"expandtabs", m_expandtabs, "tabsize", 0},
    {"find", m_find, "sub start end", 1},
    {"format", m_format, NULL, 0},
    {"index", m_index, "sub start end", 1},
    {"isalnum", m_isalnum, "", 0},
    {"isalpha", m_isalpha, "", 0},
    {"isascii", m_isascii, "", 0},
    {"isdecimal", m_isdecimal, "", 0},
    {"isdigit", m_isdigit, "", 0},
    {"islower", m_islower, "", 0},
    {"isnumeric", m_isnumeric, "", 0},
    {"isspace", m_isspace, "", 0},
    {"istitle", m_istitle, "", 0},
    {"isupper", m_isupper, "", 0},
    {"join", m_join, "iterable", 1},
    {"ljust", m_ljust, "width fillchar", 1},
    {"lower", m_lower, "", 0},
    {"lstrip", m_lstrip, "chars", 0},
    {"partition", m_partition, "sep", 1},
    {"removeprefix", m_removeprefix, "prefix", 1},
    {"removesuffix", m_removesuffix, "suffix", 1},
    {"replace", m_replace, "old new count", 2},
    {"rfind", m_rfind, "sub start end", 1},
    {"rindex", m_rindex, "sub start end", 1},
    {"rjust", m_rjust, "width fillchar", 1},
    {"rpartition", m_rpartition, "sep", 1},
    {"rsplit", m_rsplit, "sep maxsplit", 0},
    {"rstrip", m_rstrip, "chars", 0},
    {"split", m_split, "sep maxsplit", 0},
    {"splitlines", m_splitlines, "keepends", 0},
    {"startswith", m_startswith, "prefix start end", 1},
    {"strip", m_strip, "chars", 0},
    {"swapcase", m_swapcase, "", 0},
    {"title", m_title, "", 0},
    {"upper", m_upper, "", 0},
    {"zfill", m_zfill, "width", 1},
    {0},
};
static const struct func_def of_bytes[] = {
    {"decode", m_decode, "encoding errors", 0},
    {0},
};
const struct func_def *method_find(struct val self, const struct str *name)
{
    const struct func_def *d = self.type == V_STR     ? of_str
                               : self.type == V_BYTES ? of_bytes
                                                      : method_seq_table(self);

    for (; d && d->name; d++)
        if (str_is(name, d->name))
            return d;
    return NULL;
}
