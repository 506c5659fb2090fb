/* SPDX-License-Identifier: MIT
 * utf8.h - code points in bytes that may be anything. */
#ifndef LLM_BASE_UTF8_H
#define LLM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode the code point at P (N > 0 bytes left) into *CP and return its length,
 * 1 to 4.  A byte that starts no well-formed sequence (Unicode 15, table 3-7)
 * is length 1 with *CP = UTF8_BAD. */
enum { UTF8_BAD = 0x110000 };
static inline size_t utf8_get(const unsigned char *p, size_t n, uint32_t *cp)
{
    uint32_t c = p[0], lo = 0x80, hi = 0xbf;
    size_t len;

    if (c < 0x80) {
        *cp = c;
        return 1;
    }
    *cp = UTF8_BAD;
    if (c < 0xc2 || c > 0xf4)
        return 1;
    len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n < len)
        return 1;
    if (c == 0xe0)
        lo = 0xa0;
    else if (c == 0xed)
        hi = 0x9f;
    else if (c == 0xf0)
        lo = 0x90;
    else if (c == 0xf4)
        hi = 0x8f;
    if (p[1] < lo || p[1] > hi)
        return 1;
    c &= 0x7fu >> len;
    c = c << 6 | (p[1] & 0x3f);
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (p[i] & 0x3f);
    }
    *cp = c;
    return len;
}

/* Encode CP (a scalar value) at P, which has room for 4; its length. */
static inline size_t utf8_put(unsigned char *p, uint32_t cp)
{
    if (cp < 0x80) {
        p[0] = (unsigned char)cp;
        return 1;
    }
    if (cp < 0x800) {
        p[0] = (unsigned char)(0xc0 | cp >> 6);
        p[1] = (unsigned char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        p[0] = (unsigned char)(0xe0 | cp >> 12);
        p[1] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
        p[2] = (unsigned char)(0x80 | (cp & 0x3f));
        return 3;
    }
    p[0] = (unsigned char)(0xf0 | cp >> 18);
    p[1] = (unsigned char)(0x80 | (cp >> 12 & 0x3f));
    p[2] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
    p[3] = (unsigned char)(0x80 | (cp & 0x3f));
    return 4;
}

/* How many bytes at the end of P[N] may be the start of a character that
 * more bytes would complete: 0 to 3. */
size_t utf8_tail(const unsigned char *p, size_t n);

/* Is all of S[N] UTF-8? */
bool utf8_all(const void *s, size_t n);

#endif
