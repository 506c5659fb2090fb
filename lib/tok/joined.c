/* SPDX-License-Identifier: MIT
 * joined.c - where a text without words may be cut all the same.
 *
 * Merging only ever makes tokens of the vocabulary, so a border between two
 * characters that no token holds side by side is a border in every encoding.
 * The table keeps, for each last byte of a character, the first bytes that
 * follow it in some token: exact enough to cut most text at its spaces, and
 * 8 KB.
 */
#include "tok/tok_impl.h"

int joined_open(struct tok *t, struct err *e)
{
    t->joined = calloc(256, sizeof *t->joined);
    if (!t->joined)
        return err_nomem(e);
    for (uint32_t id = 0; id < t->n; id++) {
        struct gguf_str s = tok_string(t, id);
        const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n;
        int last = -1;

        if (type_of(t, id) == TOK_CONTROL || type_of(t, id) == TOK_BYTE)
            continue;
        while (p < end) {
            uint32_t cp;
            size_t len = utf8_get(p, (size_t)(end - p), &cp);
            unsigned char first = cp == 0x2581 ? ' ' : p[0];

            if (last >= 0)
                t->joined[last][first >> 3] |= (uint8_t)(1u << (first & 7));
            last = cp == 0x2581 ? ' ' : p[len - 1];
            p += len;
        }
    }
    /* A text may spell the space itself as U+2581. */
    for (int x = 0; x < 256; x++) {
        if (joined(t, (unsigned char)x, ' '))
            t->joined[x][0xe2 >> 3] |= 1u << (0xe2 & 7);
        t->joined[0x81][x / 8] |= t->joined[' '][x / 8];
    }
    /* Inside a character is no border. */
    for (int x = 0x80; x < 256; x++)
        memset(&t->joined[x][0x80 / 8], 0xff, 0x40 / 8);
    return 0;
}

const unsigned char *joined_cut(const struct tok *t, const unsigned char *from,
                                const unsigned char *to)
{
    for (const unsigned char *p = from + 1; p < to; p++)
        if (!joined(t, p[-1], p[0]))
            return p;
    return NULL;
}
