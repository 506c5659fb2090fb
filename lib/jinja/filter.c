/* SPDX-License-Identifier: MIT
 * filter.c - filters of single values.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "jinja/jinja_impl.h"

#define FILTER(name)                                                           \
    static struct val f_##name(struct ctx *c, struct val x,                    \
                               const struct val *p, const struct args *a)
#define UNUSED ((void)c, (void)x, (void)p, (void)a)

static bool given(struct val v)
{
    return v.type != V_ABSENT;
}

static bool flag(struct ctx *c, struct val v, bool none)
{
    return given(v) ? val_true(c, v) : none;
}

static long want_long(struct ctx *c, struct val v, long none)
{
    if (!given(v) || v.type == V_NONE)
        return none;
    if (!val_is_int(v)) {
        ctx_fail(c, "an integer is needed, not %s", val_type_name(v));
        return 0;
    }
    if (v.i > JINJA_MAX_OUTPUT || v.i < -JINJA_MAX_OUTPUT) {
        ctx_fail(c, "more than %d MB of output", JINJA_MAX_OUTPUT >> 20);
        return 0;
    }
    return (long)v.i;
}

/* X as a string; its method NAME of what the filter was given. */
static struct val by_method(struct ctx *c, struct val x, const char *name,
                            const struct val *p, int n)
{
    struct str s = {.p = (const unsigned char *)name, .n = strlen(name)};
    struct args a = {.v = (struct val *)(uintptr_t)p};

    while (a.n < n && given(p[a.n]))
        a.n++;
    x = show_val(c, x);
    return failed(c) ? VAL_NONE : eval_def(c, method_find(x, &s), x, &a);
}

#define BY_METHOD(name, method, n)                                             \
    FILTER(name)                                                               \
    {                                                                          \
        UNUSED;                                                                \
        return by_method(c, x, method, p, n);                                  \
    }
BY_METHOD(upper, "upper", 0)
BY_METHOD(lower, "lower", 0)
BY_METHOD(capitalize, "capitalize", 0)
BY_METHOD(trim, "strip", 1)

FILTER(replace)
{
    struct val q[3] = {show_val(c, p[0]), show_val(c, p[1]), p[2]};

    (void)a;
    return by_method(c, x, "replace", q, 3);
}

FILTER(title)
{
    size_t from = c->out.n, at = 0, to;
    struct val s = show_val(c, x), w;

    UNUSED;
    /* Words end at whitespace, - ( { [ <, and what stands between stays. */
    while (!failed(c) && at < s.s->n && ctx_step(c, 1)) {
        uint32_t cp;
        size_t len = 0;

        for (to = at; to < s.s->n; to += len) {
            len = utf8_get(s.s->p + to, s.s->n - to, &cp);
            if (str_is_space(cp) || (cp < 128 && strchr("-({[<", (int)cp)))
                break;
        }
        if (to == at) {
            ctx_put_part(c, s.s, at, len);
            at += len;
            continue;
        }
        w = str_part(c, s.s, at, to - at);
        if (!failed(c))
            w = str_case(c, w.s, 'c');
        if (!failed(c))
            ctx_put_str(c, w.s);
        at = to;
    }
    return ctx_take(c, from);
}

FILTER(center)
{
    struct val width = given(p[0]) ? p[0] : val_int(80);

    (void)a;
    return by_method(c, x, "center", &width, 1);
}

FILTER(string)
{
    UNUSED;
    return show_val(c, x);
}

FILTER(safe)
{
    struct val v = show_val(c, x);

    UNUSED;
    v.markup = true;
    return v;
}

FILTER(forceescape)
{
    static const char from[] = "&<>'\"";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    struct val s = show_val(c, x);
    size_t start = c->out.n;

    UNUSED;
    for (size_t i = 0; !failed(c) && i < s.s->n && ctx_step(c, 1); i++) {
        const char *k = s.s->p[i] ? strchr(from, s.s->p[i]) : NULL;

        if (k)
            ctx_puts(c, to[k - from], str_marked(s.s, i));
        else
            ctx_put_part(c, s.s, i, 1);
    }
    s = ctx_take(c, start);
    s.markup = true;
    return s;
}

FILTER(escape)
{
    return x.markup ? x : f_forceescape(c, x, p, a);
}

FILTER(default)
{
    bool use = x.type == V_UNDEF || (flag(c, p[1], false) && !val_true(c, x));

    (void)a;
    return !use ? x : given(p[0]) ? p[0] : str_lit(c, "");
}

FILTER(length)
{
    long long n = val_length(c, x);

    UNUSED;
    if (n < 0)
        return ctx_fail(c, "object of type '%s' has no len()",
                        val_type_name(x));
    return val_int(n);
}

FILTER(abs)
{
    UNUSED;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (!val_is_num(x))
        return ctx_fail(c, "bad operand type for abs(): '%s'",
                        val_type_name(x));
    if (x.type == V_FLOAT)
        x.f = fabs(x.f);
    else
        x.i = x.i < 0 ? -x.i : x.i;
    x.type = x.type == V_BOOL ? V_INT : x.type;
    return x;
}

FILTER(int)
{
    struct val none = given(p[0]) ? p[0] : val_int(0);
    long base = want_long(c, p[1], 10);
    bool data = val_data(x);
    double f;
    big i = 0;

    (void)a;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (x.type == V_STR) {
        if (base != 0 && (base < 2 || base > 36))
            return none;
        if (!num_parse_int(x.s, (int)base, &i)) {
            if (!num_parse_float(x.s, &f) || !(fabs(f) < 1e37))
                return none;
            i = (big)f;
        }
        x = val_int(i);
    } else if (x.type == V_FLOAT) {
        if (!(fabs(x.f) < 1e37))
            return none;
        x = val_int((big)x.f);
    } else if (val_is_int(x)) {
        x = val_int(x.i);
    } else {
        return none;
    }
    x.data = data;
    return x;
}

FILTER(float)
{
    struct val none = given(p[0]) ? p[0] : val_float(0);
    bool data = val_data(x);
    double f;

    (void)a;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (x.type == V_STR && num_parse_float(x.s, &f))
        x = val_float(f);
    else if (val_is_num(x))
        x = val_float(val_double(x));
    else
        return none;
    x.data = data;
    return x;
}

FILTER(round)
{
    long n = want_long(c, p[0], 0);
    const struct str *how = p[1].type == V_STR ? p[1].s : NULL;
    double f = val_double(x), scale;
    char s[700];

    (void)a;
    if (x.type == V_UNDEF)
        return val_undefined(c, x);
    if (!val_is_num(x))
        return ctx_fail(c, "type %s doesn't define __round__ method",
                        val_type_name(x));
    if (how && !str_is(how, "common") && !str_is(how, "ceil") &&
        !str_is(how, "floor"))
        return ctx_fail(c, "method must be common, ceil or floor");
    if (n > 300 || n < -300)
        return ctx_fail(c, "a precision of more than 300");
    scale = pow(10, (double)n);
    if (how && !str_is(how, "common")) {
        f = str_is(how, "ceil") ? ceil(f * scale) : floor(f * scale);
        f /= scale;
    } else if (x.type != V_FLOAT) {
        if (n >= 0)
            return val_int(x.i);
        return ctx_fail(c, "a negative precision is not supported");
    } else if (n < 0) {
        f = nearbyint(f * scale) / scale;
    } else if (isfinite(f)) {
        snprintf(s, sizeof s, "%.*f", (int)n, f);
        f = strtod(s, NULL);
    }
    x.type = V_FLOAT;
    x.f = f;
    return x;
}

FILTER(format)
{
    struct val v, s = show_val(c, x);

    (void)p;
    if (failed(c))
        return s;
    if (a->nkw) {
        v = dict_new(c, false);
        for (int i = 0; i < a->nkw && !failed(c); i++)
            dict_put(c, v.d, val_str((struct str *)(uintptr_t)a->kw[i].key),
                     a->kw[i].v);
    } else {
        v = list_of(c, V_TUPLE, a->v, (size_t)a->n);
    }
    return failed(c) ? VAL_NONE : format_percent(c, s.s, v);
}

/* ---- JSON ---- */

FILTER(tojson)
{
    struct show_json o = {.indent = -1};
    size_t from = c->out.n;

    (void)a;
    o.ascii = flag(c, p[0], false);
    if (given(p[1]) && p[1].type == V_STR)
        o.pad = p[1].s;
    else if (given(p[1]) && p[1].type != V_NONE)
        o.indent = (int)want_long(c, p[1], 0);
    o.indent =
        o.indent < 0 && given(p[1]) && p[1].type != V_NONE ? 0 : o.indent;
    if (given(p[2]) && p[2].type != V_NONE) {
        const struct list *l = val_iter(c, p[2]);

        if (!l || l->n != 2 || l->v[0].type != V_STR || l->v[1].type != V_STR)
            return ctx_fail(c, "separators must be two strings");
        o.item = l->v[0].s;
        o.key = l->v[1].s;
    }
    o.sort = flag(c, p[3], false);
    show_dumps(c, x, &o);
    return ctx_take(c, from);
}

FILTER(from_json)
{
    struct val s = show_val(c, x), v;
    json_error_t e;
    json_t *j;

    UNUSED;
    if (failed(c) || !ctx_step(c, s.s->n / 4))
        return s;
    j = json_loadb((const char *)s.s->p, s.s->n,
                   JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (!j)
        return ctx_fail(c, "from_json: %s", e.text);
    v = load_json(c, j, str_any_data(s.s));
    json_decref(j);
    return v;
}

/* ---- text ---- */

FILTER(indent)
{
    long width = given(p[0]) && p[0].type == V_STR ? 0 : want_long(c, p[0], 4);
    struct val s = show_val(c, x);
    bool first = flag(c, p[1], false), blank = flag(c, p[2], false);
    size_t from = c->out.n;

    (void)a;
    for (size_t at = 0, end; !failed(c) && ctx_step(c, 1); at = end + 1) {
        const unsigned char *nl =
            s.s->n > at ? memchr(s.s->p + at, '\n', s.s->n - at) : NULL;

        end = nl ? (size_t)(nl - s.s->p) : s.s->n;
        if (at ? blank || end > at : first) {
            if (p[0].type == V_STR)
                ctx_put_str(c, p[0].s);
            for (long i = 0; i < width && ctx_step(c, 1); i++)
                ctx_puts(c, " ", false);
        }
        ctx_put_part(c, s.s, at, end - at);
        if (!nl)
            break;
        ctx_put_part(c, s.s, end, 1);
    }
    return ctx_take(c, from);
}

FILTER(truncate)
{
    long n = want_long(c, p[0], 255), leeway = want_long(c, p[3], 5), keep;
    bool kill = flag(c, p[1], false);
    struct val s = show_val(c, x), end;
    ptrdiff_t at;

    (void)a;
    end = given(p[2]) ? show_val(c, p[2]) : str_lit(c, "...");
    if (failed(c))
        return s;
    keep = n - (long)str_chars(end.s);
    if (keep < 0)
        return ctx_fail(c, "expected length >= %zu, got %ld", str_chars(end.s),
                        n);
    if (leeway < 0)
        return ctx_fail(c, "expected leeway >= 0, got %ld", leeway);
    if ((long)str_chars(s.s) <= n + leeway)
        return s;
    s = str_part(c, s.s, 0, str_offset(s.s, (size_t)keep));
    if (!kill && !failed(c)) {
        at = str_rfind(c, s.s, &c->one[0][' ']);
        s = str_part(c, s.s, 0, at < 0 ? s.s->n : (size_t)at);
    }
    return failed(c) ? s : str_concat(c, s.s, end.s);
}

FILTER(wordcount)
{
    struct val s = show_val(c, x);
    bool inside = false;
    big n = 0;
    uint32_t cp;

    UNUSED;
    for (size_t i = 0; !failed(c) && i < s.s->n && ctx_step(c, 1);) {
        bool word;

        i += utf8_get(s.s->p + i, s.s->n - i, &cp);
        word = cp >= 128 ? !str_is_space(cp)
                         : cp == '_' || (cp >= '0' && cp <= '9') ||
                               ((cp | 32) >= 'a' && (cp | 32) <= 'z');
        n += word && !inside;
        inside = word;
    }
    return val_int(n);
}

/* One line into lines of at most WIDTH characters, broken at spaces. */
static void wrap_line(struct ctx *c, const struct str *s, long width,
                      bool long_words, const struct str *sep)
{
    size_t at = 0, end, next, chars;
    bool first = true;

    while (at < s->n && ctx_step(c, 1)) {
        size_t room = at, brk = 0;
        struct str rest = *s;

        rest.p += at;
        rest.n -= at;
        chars = str_chars(&rest);
        end = s->n;
        next = s->n;
        if (chars > (size_t)width) {
            room = at + str_offset(&rest, (size_t)width);
            for (size_t i = at + 1; i <= room && i < s->n; i++)
                if (s->p[i] == ' ' || (s->p[i - 1] == '-' && i < room + 1))
                    brk = i;
            if (!brk && !long_words)
                for (brk = room; brk < s->n && s->p[brk] != ' ';)
                    brk++;
            end = brk ? brk : room;
            next = end;
        }
        if (!first)
            ctx_put_str(c, sep);
        first = false;
        while (end > at && end < s->n && s->p[end - 1] == ' ')
            end--;
        ctx_put_part(c, s, at, end - at);
        ctx_step(c, rest.n / 8);
        for (at = next; at < s->n && s->p[at] == ' ';)
            at++;
    }
}

FILTER(wordwrap)
{
    long width = want_long(c, p[0], 79);
    bool long_words = flag(c, p[1], true);
    struct val s = show_val(c, x), sep, part;
    size_t from = c->out.n;

    (void)a;
    sep = given(p[2]) && p[2].type == V_STR ? p[2] : str_lit(c, "\n");
    if (width < 1)
        return ctx_fail(c, "invalid width %ld (must be > 0)", width);
    for (size_t at = 0, end; !failed(c) && at < s.s->n; at = end + 1) {
        const unsigned char *nl = memchr(s.s->p + at, '\n', s.s->n - at);

        end = nl ? (size_t)(nl - s.s->p) : s.s->n;
        if (at)
            ctx_put_str(c, sep.s);
        part = str_part(c, s.s, at, end - at);
        if (!failed(c))
            wrap_line(c, part.s, width, long_words, sep.s);
    }
    return ctx_take(c, from);
}

static bool entity(struct ctx *c, const struct str *s, size_t *at)
{
    static const struct {
        const char *name, *to;
    } known[] = {{"&amp;", "&"},  {"&lt;", "<"},   {"&gt;", ">"},
                 {"&#39;", "'"},  {"&#34;", "\""}, {"&quot;", "\""},
                 {"&#x27;", "'"}, {"&apos;", "'"}, {"&nbsp;", "\xc2\xa0"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].name);

        if (n <= s->n - *at && !memcmp(s->p + *at, known[i].name, n)) {
            ctx_puts(c, known[i].to, str_marked(s, *at));
            *at += n;
            return true;
        }
    }
    return false;
}

FILTER(striptags)
{
    struct val s = show_val(c, x);
    size_t from = c->out.n, at = 0;
    bool space = false, any = false;
    uint32_t cp;

    UNUSED;
    while (!failed(c) && at < s.s->n && ctx_step(c, 1)) {
        size_t len = utf8_get(s.s->p + at, s.s->n - at, &cp);
        bool note = s.s->n - at >= 4 && !memcmp(s.s->p + at, "<!--", 4);
        struct str end = {.p = (const unsigned char *)(note ? "-->" : ">"),
                          .n = note ? 3 : 1};
        ptrdiff_t close = cp == '<' ? str_find(c, s.s, at, &end) : -1;

        if (close >= 0) {
            at = (size_t)close + end.n;
            continue;
        }
        if (str_is_space(cp)) {
            space = true;
            at += len;
            continue;
        }
        if (space && any)
            ctx_puts(c, " ", str_marked(s.s, at));
        space = false;
        any = true;
        if (cp == '&' && entity(c, s.s, &at))
            continue;
        ctx_put_part(c, s.s, at, len);
        at += len;
    }
    return ctx_take(c, from);
}

/* PLUS: as in a query. */
static void quote_url(struct ctx *c, const struct str *s, bool plus)
{
    char hex[4];

    for (size_t i = 0; i < s->n && ctx_step(c, 1); i++) {
        unsigned char ch = s->p[i];

        if ((ch >= '0' && ch <= '9') ||
            ((ch | 32) >= 'a' && (ch | 32) <= 'z') ||
            (ch && strchr("_.-~", ch)) || (ch == '/' && !plus)) {
            ctx_put_part(c, s, i, 1);
        } else if (plus && ch == ' ') {
            ctx_puts(c, "+", str_marked(s, i));
        } else {
            snprintf(hex, sizeof hex, "%%%02X", ch);
            ctx_puts(c, hex, str_marked(s, i));
        }
    }
}

FILTER(urlencode)
{
    size_t from = c->out.n;
    struct list *l;

    UNUSED;
    if (x.type == V_STR || !val_iterable(x)) {
        struct val s = show_val(c, x);

        if (!failed(c))
            quote_url(c, s.s, false);
        return ctx_take(c, from);
    }
    if (x.type == V_DICT)
        x = (struct val){.type = V_VIEW, .view = {x.d, 'i'}};
    l = val_iter(c, x);
    for (size_t i = 0; l && i < l->n && !failed(c); i++) {
        struct val k, v;

        if (l->v[i].type != V_TUPLE || l->v[i].l->n != 2)
            return ctx_fail(c, "urlencode needs pairs");
        k = show_val(c, l->v[i].l->v[0]);
        v = show_val(c, l->v[i].l->v[1]);
        if (failed(c))
            break;
        ctx_puts(c, i ? "&" : "", false);
        quote_url(c, k.s, true);
        ctx_puts(c, "=", false);
        quote_url(c, v.s, true);
    }
    return ctx_take(c, from);
}

FILTER(filesizeformat)
{
    static const char *const unit[2][8] = {
        {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"},
        {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}};
    bool binary = flag(c, p[0], false);
    double base = binary ? 1024 : 1000, at = base, n;
    char s[80];
    struct args none = {0};
    int i = 0;

    (void)a;
    x = f_float(c, x, (struct val[]){VAL_ABSENT}, &none);
    if (failed(c))
        return x;
    n = x.f;
    if (n == 1)
        return str_lit(c, "1 Byte");
    if (n < base) {
        snprintf(s, sizeof s, "%.0f Bytes", trunc(n));
    } else {
        for (; i < 7 && n >= at * base; i++)
            at *= base;
        snprintf(s, sizeof s, "%.1f %s", n / at, unit[binary][i]);
    }
    return str_new(c, s, strlen(s), x.data);
}

FILTER(attr)
{
    struct val v = p[0].type == V_STR ? VAL_NONE : VAL_ABSENT;

    (void)a;
    if (v.type == V_ABSENT)
        return ctx_fail(c, "attr: the name must be a string");
    if (x.type == V_DICT && !method_find(x, p[0].s)) /* attributes only */
        return val_undef(c, "dict", p[0].s);
    return eval_attr(c, x, p[0].s);
}

FILTER(xmlattr)
{
    size_t from = c->out.n;
    struct args none = {0};

    UNUSED;
    if (x.type != V_DICT)
        return ctx_fail(c, "xmlattr needs a mapping");
    for (size_t i = 0; i < x.d->n && !failed(c); i++) {
        struct val v = x.d->e[i].v;

        if (v.type == V_NONE || v.type == V_UNDEF)
            continue;
        v = f_escape(c, v, NULL, &none);
        if (failed(c))
            break;
        ctx_puts(c, " ", false);
        show_str(c, x.d->e[i].k);
        ctx_puts(c, "=\"", false);
        ctx_put_str(c, v.s);
        ctx_puts(c, "\"", false);
    }
    return ctx_take(c, from);
}

static const struct func_def filters[] = {
    {"abs", f_abs, "", 0},
    {"attr", f_attr, "name", 1},
    {"capitalize", f_capitalize, "", 0},
    {"center", f_center, "width", 0},
    {"count", f_length, "", 0},
    {"d", f_default, "default_value boolean", 0},
    {"default", f_default, "default_value boolean", 0},
    {"e", f_escape, "", 0},
    {"escape", f_escape, "", 0},
    {"filesizeformat", f_filesizeformat, "binary", 0},
    {"float", f_float, "default", 0},
    {"forceescape", f_forceescape, "", 0},
    {"format", f_format, NULL, 0},
    {"from_json", f_from_json, "", 0},
    {"indent", f_indent, "width first blank", 0},
    {"int", f_int, "default base", 0},
    {"length", f_length, "", 0},
    {"lower", f_lower, "", 0},
    {"replace", f_replace, "old new count", 2},
    {"round", f_round, "precision method", 0},
    {"safe", f_safe, "", 0},
    {"string", f_string, "", 0},
    {"striptags", f_striptags, "", 0},
    {"title", f_title, "", 0},
    {"tojson", f_tojson, "ensure_ascii indent separators sort_keys", 0},
    {"trim", f_trim, "chars", 0},
    {"truncate", f_truncate, "length killwords end leeway", 0},
    {"upper", f_upper, "", 0},
    {"urlencode", f_urlencode, "", 0},
    {"wordcount", f_wordcount, "", 0},
    {"wordwrap", f_wordwrap, "width break_long_words wrapstring", 0},
    {"xmlattr", f_xmlattr, "", 0},
    {0},
};

const struct func_def *filter_find(const struct str *name)
{
    for (const struct func_def *d = filters; d->name; d++)
        if (str_is(name, d->name))
            return d;
    return filter_seq_find(name);
}
