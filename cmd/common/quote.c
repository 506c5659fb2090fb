/* SPDX-License-Identifier: MIT */
#include "cmd/common/quote.h"

#include "base/utf8.h"
#include "wire/wire.h"

void quote_put(struct buf *out, const void *p, size_t n)
{
    const unsigned char *c = p;
    struct buf json = {0};
    size_t len;
    uint32_t cp;

    buf_putc(out, '"');
    for (; n; c += len, n -= len) {
        len = utf8_get(c, n, &cp);
        json.n = 0;
        if (cp == UTF8_BAD) {
            buf_printf(out, "\\x%02x", *c);
            continue;
        }
        wire_json_string(&json, c, len);
        if (json.n > 2)
            buf_put(out, json.p + 1, json.n - 2);
    }
    buf_putc(out, '"');
    buf_free(&json);
}
