/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

size_t utf8_tail(const unsigned char *p, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        unsigned char t[4] = {0}, c = p[n - k];
        uint32_t cp;
        size_t len = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

        if ((c & 0xc0) == 0x80)
            continue;
        if (len <= k)
            return 0;
        /* Would the bytes present, continued in the best way, decode? */
        for (size_t i = 0; i < len; i++)
            t[i] = i < k ? p[n - k + i] : 0x80;
        if (k == 1 && (c == 0xe0 || c == 0xf0))
            t[1] = 0xa0;
        return utf8_get(t, len, &cp) == len ? k : 0;
    }
    return 0;
}

bool utf8_all(const void *s, size_t n)
{
    const unsigned char *p = s;
    size_t len;
    uint32_t cp;

    while (n) {
        if (*p < 0x80) {
            p++, n--;
            continue;
        }
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD)
            return false;
        p += len, n -= len;
    }
    return true;
}
