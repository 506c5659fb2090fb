/* SPDX-License-Identifier: MIT */
#include "cmd/common/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void put_text(struct gguf_str s, bool line)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = s.n, len;
    uint32_t cp;

    for (; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == '\n' && line)
            fputs("\\n", stdout);
        else if (cp == '\t' && line)
            fputs("\\t", stdout);
        else if (cp == '\\' && line)
            fputs("\\\\", stdout);
        else if (cp == UTF8_BAD || (cp < 0x20 && cp != '\n' && cp != '\t') ||
                 (cp >= 0x7f && cp < 0xa0))
            for (size_t i = 0; i < len; i++)
                printf("\\x%02x", p[i]);
        else
            fwrite(p, 1, len, stdout);
    }
}

static bool is_utf8(struct gguf_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = s.n, len;
    uint32_t cp = 0;

    for (; n && cp != UTF8_BAD; p += len, n -= len)
        len = utf8_get(p, n, &cp);
    return cp != UTF8_BAD;
}

static void put_base64(struct gguf_str s)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s.p;

    fputs("{\"base64\":\"", stdout);
    for (size_t i = 0; i < s.n; i += 3) {
        size_t k = s.n - i;
        unsigned v = (unsigned)p[i] << 16 | (k > 1 ? p[i + 1] << 8 : 0) |
                     (k > 2 ? p[i + 2] : 0);

        putchar(digit[v >> 18]);
        putchar(digit[v >> 12 & 63]);
        putchar(k > 1 ? digit[v >> 6 & 63] : '=');
        putchar(k > 2 ? digit[v & 63] : '=');
    }
    fputs("\"}", stdout);
}

void put_string(struct gguf_str s)
{
    size_t from = 0;

    if (!is_utf8(s)) {
        put_base64(s);
        return;
    }
    putchar('"');
    for (size_t i = 0; i <= s.n; i++) {
        unsigned char c = i < s.n ? (unsigned char)s.p[i] : 0;

        /* U+0080 to U+009F are controls that terminals obey, too. */
        bool c1 = c == 0xc2 && (unsigned char)s.p[i + 1] < 0xa0;

        if (i < s.n && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && !c1)
            continue;
        if (i > from)
            fwrite(s.p + from, 1, i - from, stdout);
        from = i + 1 + c1;
        if (i == s.n)
            break;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == '\n')
            fputs("\\n", stdout);
        else
            printf("\\u%04x", c1 ? (unsigned char)s.p[++i] : c);
    }
    putchar('"');
}

void put_cstring(const char *s)
{
    put_string((struct gguf_str){s, strlen(s)});
}

static void put_float(double v, bool single, bool json)
{
    char s[40];

    if (!isfinite(v)) {
        const char *q = json ? "\"" : "";

        printf("%s%s%s", q, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf", q);
        return;
    }
    if (fabs(v) < 1e7 && v == (int)v && (v || !signbit(v))) {
        printf("%d", (int)v);
        return;
    }
    for (int n = single ? 6 : 15; n <= 17; n++) {
        snprintf(s, sizeof s, "%.*g", n, v);
        if (single ? strtof(s, NULL) == (float)v : strtod(s, NULL) == v)
            break;
    }
    fputs(s, stdout);
}

void put_number(enum gguf_type type, const unsigned char *p, bool json)
{
    static const unsigned char none[8];
    struct gguf_val v = {.type = type, .n = 1, .p = p ? p : none};
    int64_t i = 0;

    if (type == GGUF_BOOL)
        fputs(*v.p ? "true" : "false", stdout);
    else if (type == GGUF_F32)
        put_float(rd_f32(v.p), true, json);
    else if (type == GGUF_F64)
        put_float(rd_f64(v.p), false, json);
    else if (gguf_val_int(&i, &v))
        printf("%lld", (long long)i);
    else
        printf(json ? "\"%llu\"" : "%llu", (unsigned long long)rd_u64(v.p));
}

void put_type(const struct gguf_val *v)
{
    if (v->type == GGUF_ARR)
        printf("%s[%llu]", gguf_val_name(v->elem), (unsigned long long)v->n);
    else
        fputs(gguf_val_name(v->type), stdout);
}

/* Cut S to about MAX bytes, at a character. */
static struct gguf_str cut(struct gguf_str s, size_t max)
{
    if (s.n <= max)
        return s;
    s.n = max - utf8_tail((const unsigned char *)s.p, max);
    return s;
}

static void put_elided(struct gguf_str s, size_t max)
{
    struct gguf_str c = cut(s, max);

    put_text(c, true);
    if (c.n < s.n)
        printf("... (%zu bytes)", s.n);
}

/* How an array is written. */
struct style {
    bool json;
    uint64_t few;   /* elements before the rest is left out */
    size_t longest; /* bytes of a string, likewise */
    const char *sep;
};

/* N elements of TYPE at P; returns what follows them.  The reader has bounded
 * the depth. */
static const unsigned char *put_elems(enum gguf_type type, uint64_t n,
                                      const unsigned char *p,
                                      const struct style *st)
{
    for (uint64_t i = 0; i < n; i++) {
        bool shown = i < st->few;

        if (shown && i)
            fputs(st->sep, stdout);
        if (type == GGUF_STR) {
            struct gguf_str s = gguf_str_next(&p);

            if (shown && st->json)
                put_string(s);
            else if (shown)
                put_elided(s, st->longest);
        } else if (type == GGUF_ARR) {
            enum gguf_type elem = (enum gguf_type)rd_u32(p);
            struct style none = *st;

            none.few = shown ? st->few : 0;
            none.sep = st->json ? "," : ", ";
            if (shown)
                putchar('[');
            p = put_elems(elem, rd_u64(p + 4), p + 12, &none);
            if (shown)
                putchar(']');
        } else {
            if (!shown) {
                p += (n - i) * gguf_val_size(type);
                break;
            }
            put_number(type, p, st->json);
            p += gguf_val_size(type);
        }
    }
    if (st->few && n > st->few)
        fputs(", ...", stdout);
    return p;
}

void put_value(const struct gguf_val *v, bool all)
{
    /* Numbers that stand one per layer are always whole. */
    struct style st = {false, 256, 100, ", "};

    if (v->type == GGUF_ARR && v->elem == GGUF_STR)
        st = (struct style){false, 6, 24, ", "};
    else if (v->type == GGUF_ARR && v->n > 256)
        st.few = 6;
    if (all) {
        st.few = UINT64_MAX;
        st.longest = SIZE_MAX;
    }
    put_elems(v->type == GGUF_ARR ? v->elem : v->type, v->n, v->p, &st);
}

void put_bare(const struct gguf_val *v, bool terminal)
{
    struct style st = {false, UINT64_MAX, SIZE_MAX, "\n"};
    const unsigned char *p = v->p;

    if (v->type == GGUF_STR) {
        struct gguf_str s = gguf_str_next(&p);

        if (terminal)
            put_text(s, false);
        else
            fwrite(s.p, 1, s.n, stdout);
    } else {
        put_elems(v->type == GGUF_ARR ? v->elem : v->type, v->n, p, &st);
    }
    if (v->n)
        putchar('\n');
}

void put_json_value(const struct gguf_val *v)
{
    struct style st = {true, UINT64_MAX, SIZE_MAX, ","};

    if (v->type == GGUF_ARR)
        putchar('[');
    put_elems(v->type == GGUF_ARR ? v->elem : v->type, v->n, v->p, &st);
    if (v->type == GGUF_ARR)
        putchar(']');
}
