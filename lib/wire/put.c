/* SPDX-License-Identifier: MIT
 * put.c - CBOR into a buffer: the shortest form of everything (RFC 8949,
 * 4.2.1).  The heads are libcbor's. */
#include <cbor.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "wire/wire_impl.h"

typedef size_t head_fn(size_t n, unsigned char *p, size_t room);

static void put_head(struct buf *b, head_fn *fn, size_t n)
{
    unsigned char h[HEAD_MAX];

    buf_put(b, h, fn(n, h, sizeof h));
}

void wire_put_uint(struct buf *b, uint64_t v)
{
    unsigned char h[HEAD_MAX];

    buf_put(b, h, cbor_encode_uint(v, h, sizeof h));
}

void wire_put_int(struct buf *b, int64_t v)
{
    unsigned char h[HEAD_MAX];

    if (v >= 0)
        wire_put_uint(b, (uint64_t)v);
    else
        buf_put(b, h, cbor_encode_negint(~(uint64_t)v, h, sizeof h));
}

void wire_put_map(struct buf *b, size_t n)
{
    put_head(b, cbor_encode_map_start, n);
}

void wire_put_array(struct buf *b, size_t n)
{
    put_head(b, cbor_encode_array_start, n);
}

void wire_put_bytes_head(struct buf *b, size_t n)
{
    put_head(b, cbor_encode_bytestring_start, n);
}

void wire_put_tag(struct buf *b, uint64_t tag)
{
    unsigned char h[HEAD_MAX];

    buf_put(b, h, cbor_encode_tag(tag, h, sizeof h));
}

/* A text string must be UTF-8, but file names and messages about foreign bytes
 * may hold anything: what is malformed becomes U+FFFD. */
void wire_put_text(struct buf *b, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t total = 0, len;
    uint32_t cp;

    if (utf8_all(s, n)) {
        put_head(b, cbor_encode_string_start, n);
        buf_put(b, s, n);
        return;
    }
    for (size_t i = 0; i < n; i += len) {
        len = utf8_get(p + i, n - i, &cp);
        total += cp == UTF8_BAD ? 3 : len;
    }
    put_head(b, cbor_encode_string_start, total);
    for (size_t i = 0; i < n; i += len) {
        len = utf8_get(p + i, n - i, &cp);
        if (cp == UTF8_BAD)
            buf_put(b, "\xef\xbf\xbd", 3);
        else
            buf_put(b, p + i, len);
    }
}

void wire_put_key(struct buf *b, const char *key)
{
    wire_put_text(b, key, strlen(key));
}

void wire_put_bool(struct buf *b, bool v)
{
    buf_putc(b, v ? 0xf5 : 0xf4);
}

void wire_put_null(struct buf *b)
{
    buf_putc(b, 0xf6);
}

/* The half that is exactly F, or -1.  libcbor's encoder would round. */
static int exact_half(float f)
{
    uint32_t u;
    int sign, e;
    uint16_t h;

    memcpy(&u, &f, 4);
    sign = (int)(u >> 16 & 0x8000);
    e = (int)(u >> 23 & 255) - 127;
    if (e == 128)
        h = 0x7c00;
    else if (e >= -14)
        h = (uint16_t)((e + 15) << 10 | (u >> 13 & 0x3ff));
    else if (e >= -24)
        h = (uint16_t)(((u & 0x7fffff) | 0x800000) >> (-e - 1));
    else
        h = 0;
    return e < 16 || e == 128 ? (f16_f32(h) == fabsf(f) ? sign | h : -1) : -1;
}

void wire_put_double(struct buf *b, double v)
{
    unsigned char h[HEAD_MAX];
    float f = (float)v;
    int half;

    if (isnan(v)) {
        buf_put(b, "\xf9\x7e\x00", 3);
    } else if ((double)f != v) {
        buf_put(b, h, cbor_encode_double(v, h, sizeof h));
    } else if ((half = exact_half(f)) < 0) {
        buf_put(b, h, cbor_encode_single(f, h, sizeof h));
    } else {
        buf_putc(b, 0xf9);
        buf_putc(b, half >> 8);
        buf_putc(b, half & 255);
    }
}
