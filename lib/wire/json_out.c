/* SPDX-License-Identifier: MIT
 * json_out.c - CBOR that scan.c has passed, as JSON.
 *
 *   text string           string
 *   byte string at key K  string at K, for "text" that is UTF-8;
 *                         else base64 at K64
 *   byte string elsewhere base64
 *   typed array           array of numbers
 *   NaN and infinities    "NaN", "Infinity", "-Infinity"
 *   other tags            what they enclose
 *   undefined and kin     null
 *
 * Integers are exact; floats have as many digits as give them back.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "wire/wire_impl.h"

static void string_part(struct buf *b, const unsigned char *p, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        /* U+0080 to U+009F are controls that terminals obey, too. */
        bool c1 =
            p[i] == 0xc2 && i + 1 < n && p[i + 1] >= 0x80 && p[i + 1] < 0xa0;

        if (p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && p[i] != 0x7f && !c1)
            continue;
        buf_put(b, p + from, i - from);
        from = i + 1 + c1;
        if (c1) {
            buf_printf(b, "\\u%04x", p[++i]);
        } else if (p[i] == '"' || p[i] == '\\') {
            buf_putc(b, '\\');
            buf_putc(b, p[i]);
        } else if (p[i] == '\n') {
            buf_puts(b, "\\n");
        } else if (p[i] == '\t') {
            buf_puts(b, "\\t");
        } else {
            buf_printf(b, "\\u%04x", p[i]);
        }
    }
    if (n > from) /* P may be NULL */
        buf_put(b, p + from, n - from);
}

void wire_json_string(struct buf *b, const void *p, size_t n)
{
    buf_putc(b, '"');
    string_part(b, p, n);
    buf_putc(b, '"');
}

static void base64(struct buf *b, const unsigned char *p, size_t n)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *to = buf_add(b, (n + 2) / 3 * 4 + 2);

    if (!to)
        return;
    *to++ = '"';
    for (size_t k; n; p += k, n -= k, to += 4) {
        uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
                     (n > 2 ? p[2] : 0);

        k = n < 3 ? n : 3;
        to[0] = (unsigned char)digit[v >> 18];
        to[1] = (unsigned char)digit[v >> 12 & 63];
        to[2] = n > 1 ? (unsigned char)digit[v >> 6 & 63] : '=';
        to[3] = n > 2 ? (unsigned char)digit[v & 63] : '=';
    }
    *to = '"';
}

/* V in digits.  An array of ids has millions: printf would be most of it. */
static void integer(struct buf *b, uint64_t v, bool minus)
{
    char s[24], *p = s + sizeof s;

    do {
        *--p = (char)('0' + v % 10);
    } while (v /= 10);
    if (minus)
        *--p = '-';
    buf_put(b, p, (size_t)(s + sizeof s - p));
}

/* V with few digits that give it back when read as a float of WIDTH bytes:
 * those that typed arrays hold, or 8.  The first try is enough for what was
 * short to begin with, the last for anything. */
static void number(struct buf *b, double v, int width)
{
    static const int tries[2][3] = {{6, 8, 9}, {15, 16, 17}};
    char s[40], *comma;

    if (!isfinite(v)) {
        buf_puts(b, isnan(v) ? "\"NaN\""
                    : v > 0  ? "\"Infinity\""
                             : "\"-Infinity\"");
        return;
    }
    for (int i = 0; i < 3; i++) {
        snprintf(s, sizeof s, "%.*g", tries[width == 8][i], v);
        if (width == 8 ? strtod(s, NULL) == v : strtof(s, NULL) == (float)v)
            break;
    }
    /* A locale may have its own point; and 1 is not 1.0. */
    comma = strchr(s, ',');
    if (comma)
        *comma = '.';
    buf_puts(b, s);
    if (!strpbrk(s, ".e"))
        buf_puts(b, ".0");
}

/* The bits V, which may mean a negative number when SIGN says so. */
static void signed_integer(struct buf *b, uint64_t v, bool sign)
{
    bool minus = sign && v >> 63;

    integer(b, minus ? -v : v, minus);
}

static void typed(struct buf *b, const struct numtype *t,
                  const unsigned char *p, size_t n)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < n; i++, p += t->size) {
        if (i)
            buf_putc(b, ',');
        if (t->kind == 'f')
            number(b, num_float(t, p), (int)t->size);
        else
            signed_integer(b, num_bits(t, p), t->kind == 'i');
    }
    buf_putc(b, ']');
}

/* The chunks of a string after its opening item at *P, up to its break. */
static void chunks(struct buf *to, const unsigned char **p,
                   const unsigned char *end)
{
    struct item it;

    while (item_get(&it, *p, (size_t)(end - *p)) > 0) {
        *p += it.size;
        if (it.type == ITEM_BREAK)
            break;
        buf_put(to, it.p, (size_t)it.arg);
    }
}

size_t item_string(struct buf *to, const unsigned char *p, size_t n)
{
    const unsigned char *at = p;
    struct item it;

    if (item_get(&it, p, n) <= 0)
        return 0;
    at += it.size;
    if (it.type == ITEM_BYTES_INDEF || it.type == ITEM_TEXT_INDEF)
        chunks(to, &at, p + n);
    else
        buf_put(to, it.p, (size_t)it.arg);
    return (size_t)(at - p);
}

static void scalar(struct buf *b, const struct item *it)
{
    switch (it->type) {
    case ITEM_UINT:
        integer(b, it->arg, false);
        break;
    case ITEM_NEG:
        if (it->arg == UINT64_MAX)
            buf_puts(b, "-18446744073709551616");
        else
            integer(b, it->arg + 1, true);
        break;
    case ITEM_FLOAT:
        number(b, it->f, 8); /* JSON is read as doubles */
        break;
    case ITEM_BOOL:
        buf_puts(b, it->arg ? "true" : "false");
        break;
    default:
        buf_puts(b, "null");
    }
}

/* A string, or a typed array when T: returns the bytes it took. */
static size_t string(struct buf *b, const struct item *it,
                     const unsigned char *p, size_t n, const struct numtype *t)
{
    bool text = it->type == ITEM_TEXT || it->type == ITEM_TEXT_INDEF;
    struct buf whole = {0};
    const unsigned char *s = it->p;
    size_t len = (size_t)it->arg, used = it->size;

    if (it->type == ITEM_TEXT_INDEF || it->type == ITEM_BYTES_INDEF) {
        used = item_string(&whole, p, n);
        s = whole.p;
        len = whole.n;
        b->bad |= whole.bad;
    }
    if (text)
        wire_json_string(b, s, len);
    else if (t && len % t->size == 0)
        typed(b, t, s, len / t->size);
    else
        base64(b, s, len);
    buf_free(&whole);
    return used;
}

/* The array or map on top of the stack gets its next element: what stands
 * before that?  KEY: the map key itself. */
static void separate(struct buf *b, struct frame *f, bool *first)
{
    if (f->type == ITEM_MAP && f->value)
        buf_putc(b, ':');
    else if (!*first)
        buf_putc(b, ',');
    *first = false;
    if (f->type == ITEM_MAP)
        f->value = !f->value;
}

/* Is the value at P a byte string that is no typed array? */
static bool is_bytes(const unsigned char *p, size_t n)
{
    struct item it;

    for (; item_get(&it, p, n) > 0 && it.type == ITEM_TAG;
         p += it.size, n -= it.size)
        if (numtype_of(it.arg))
            return false;
    return it.type == ITEM_BYTES || it.type == ITEM_BYTES_INDEF;
}

/* A key, marked when its value, which follows at P, goes as base64. */
static void json_key(struct buf *b, const unsigned char *key, size_t nkey,
                     const unsigned char *p, size_t n)
{
    buf_putc(b, '"');
    string_part(b, key, nkey);
    buf_puts(b, is_bytes(p, n) ? "64\"" : "\"");
}

/* After an element, its arrays and maps may be over. */
static int close_full(struct buf *b, struct frame *st, int d)
{
    for (; d && !st[d - 1].indef && !st[d - 1].left; d--)
        buf_putc(b, st[d - 1].type == ITEM_MAP ? '}' : ']');
    return d;
}

/* The only state is the stack; scan.c has bounded the depth, tags included. */
void json_item(struct buf *b, const unsigned char *p, size_t n)
{
    struct frame st[WIRE_MAX_DEPTH + 1];
    bool first[WIRE_MAX_DEPTH + 1];
    const struct numtype *t = NULL;
    struct item it;
    int d = 0;

    while (n && item_get(&it, p, n) > 0) {
        struct frame *f = d ? &st[d - 1] : NULL;
        size_t used = it.size;

        if (it.type == ITEM_BREAK) {
            buf_putc(b, f->type == ITEM_MAP ? '}' : ']');
            d--;
        } else if (it.type == ITEM_TAG) {
            t = numtype_of(it.arg);
            p += used, n -= used;
            continue;
        } else {
            if (f) {
                separate(b, f, &first[d - 1]);
                f->left -= !f->indef;
            }
            if (f && f->type == ITEM_MAP && f->value) {
                json_key(b, it.p, (size_t)it.arg, p + used, n - used);
            } else if (it.type >= ITEM_ARRAY && it.type <= ITEM_MAP_INDEF) {
                bool map = it.type >= ITEM_MAP;
                bool indef =
                    it.type == ITEM_ARRAY_INDEF || it.type == ITEM_MAP_INDEF;

                buf_putc(b, map ? '{' : '[');
                st[d] =
                    (struct frame){map ? 2 * it.arg : it.arg,
                                   map ? ITEM_MAP : ITEM_ARRAY, indef, false};
                first[d++] = true;
            } else if (it.type >= ITEM_BYTES && it.type <= ITEM_TEXT_INDEF) {
                used = string(b, &it, p, n, t);
            } else {
                scalar(b, &it);
            }
        }
        t = NULL;
        p += used, n -= used;
        d = close_full(b, st, d);
        if (!d)
            break;
    }
}

void wire_json_bytes(struct buf *b, const char *key, const void *p, size_t n)
{
    bool text = utf8_all(p, n);

    buf_printf(b, "\"%s%s\":", key, text ? "" : "64");
    if (text)
        wire_json_string(b, p, n);
    else
        base64(b, p, n);
}

/* One pair of a record.  "text" is bytes, but people read it. */
static void pair(struct buf *b, const unsigned char *p, const struct entry *k)
{
    const unsigned char *val = p + k->val;
    size_t n = k->nval;
    struct buf s = {0};
    struct item it;

    if (k->nkey == 4 && !memcmp(p + k->key, "text", 4) && is_bytes(val, n)) {
        while (item_get(&it, val, n) > 0 && it.type == ITEM_TAG)
            val += it.size, n -= it.size;
        item_string(&s, val, n);
        b->bad |= s.bad;
        wire_json_bytes(b, "text", s.p, s.n);
        buf_free(&s);
        return;
    }
    json_key(b, p + k->key, k->nkey, val, n);
    buf_putc(b, ':');
    json_item(b, val, n);
}

/* The kind and the sequence first, for the reader's eye; then as they stand. */
void json_record(struct buf *b, const unsigned char *p, const struct scan *s)
{
    const struct entry *head[2] = {scan_find(s, p, "t"), scan_find(s, p, "s")};
    bool any = false;

    buf_putc(b, '{');
    for (int i = 0; i < 2; i++) {
        if (!head[i])
            continue;
        if (any)
            buf_putc(b, ',');
        pair(b, p, head[i]);
        any = true;
    }
    for (size_t i = 0; i < s->nentry; i++) {
        if (&s->entry[i] == head[0] || &s->entry[i] == head[1])
            continue;
        if (any)
            buf_putc(b, ',');
        pair(b, p, &s->entry[i]);
        any = true;
    }
    buf_putc(b, '}');
}
