/* SPDX-License-Identifier: MIT
 * decode.c - from tokens back to bytes.
 *
 * Spaces that the encoder put in are taken out again: the first of a text, and
 * of text after a special token, where the model adds one.  Nothing else is
 * tidied: a space before a comma is the user's.
 */
#include "tok/tok_impl.h"

static bool hidden(enum tok_type type)
{
    return type == TOK_CONTROL || type == TOK_UNKNOWN;
}

bool tok_starts_text(const struct tok *t, uint32_t id)
{
    return id < t->n && t->kind != KIND_WPM &&
           (hidden(type_of(t, id)) || type_of(t, id) == TOK_USER_DEFINED);
}

/* The byte of a spelling like <0x0A>, or -1. */
static int byte_of(struct gguf_str s)
{
    if (s.n != 6 || memcmp(s.p, "<0x", 3) || s.p[5] != '>' ||
        hex_digit(s.p[3]) < 0 || hex_digit(s.p[4]) < 0)
        return -1;
    return hex_digit(s.p[3]) << 4 | hex_digit(s.p[4]);
}

static void put_alphabet(struct buf *out, struct gguf_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t len;
    uint32_t cp;

    for (size_t n = s.n; n; p += len, n -= len) {
        int b;

        len = utf8_get(p, n, &cp);
        b = cp == UTF8_BAD ? -1 : alphabet_get(cp);
        if (b >= 0)
            buf_putc(out, b);
        else
            buf_put(out, p, len);
    }
}

/* The spelling with U+2581 as the space that it means. */
static void put_spaces(struct buf *out, struct gguf_str s, bool drop_first)
{
    const char *p = s.p, *end = p + s.n;

    if (drop_first && s.n >= SPACE_LEN && !memcmp(p, SPACE, SPACE_LEN))
        p += SPACE_LEN;
    while (p < end) {
        const char *q = memchr(p, '\xe2', (size_t)(end - p));

        if (!q)
            q = end;
        buf_put(out, p, (size_t)(q - p));
        p = q;
        if (end - p >= SPACE_LEN && !memcmp(p, SPACE, SPACE_LEN)) {
            buf_putc(out, ' ');
            p += SPACE_LEN;
        } else if (p < end) {
            buf_putc(out, *p++);
        }
    }
}

static void put_one(struct buf *out, const struct tok *t, uint32_t id,
                    bool first)
{
    struct gguf_str s = tok_string(t, id);
    enum tok_type type = type_of(t, id);
    int b;

    if (hidden(type) || (type == TOK_USER_DEFINED && t->kind == KIND_BPE)) {
        buf_put(out, s.p, s.n);
        return;
    }
    switch (t->kind) {
    case KIND_BPE:
        if (!(t->pretok.flags & PRETOK_RAW)) {
            put_alphabet(out, s);
            return;
        }
        break;
    case KIND_RWKV:
        rwkv_unescape(out, s);
        return;
    case KIND_WPM:
        put_spaces(out, s, first);
        return;
    case KIND_SPM:
    case KIND_UGM:
        break;
    }
    b = byte_of(s);
    if (b >= 0 && (type == TOK_BYTE || t->byte_id[b] == id))
        buf_putc(out, b);
    else
        put_spaces(out, s, first && t->add_space_prefix);
}

int tok_decode(struct buf *out, const struct tok *t, const uint32_t *ids,
               size_t n, unsigned flags, struct err *e)
{
    bool first = flags & TOK_AT_START;

    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= t->n)
            continue;
        if (!hidden(type_of(t, ids[i])) || flags & TOK_SHOW_SPECIAL) {
            put_one(out, t, ids[i], first);
            /* Words are parted from what is shown, whatever it is. */
            first &= t->kind != KIND_WPM;
        }
        if (t->kind != KIND_WPM)
            first = tok_starts_text(t, ids[i]);
    }
    return buf_ok(out, e);
}

bool tok_verbatim(const struct tok *t)
{
    return t->kind != KIND_WPM && t->kind != KIND_UGM;
}

bool tok_lossless(const struct tok *t)
{
    if (t->kind != KIND_RWKV &&
        (t->kind != KIND_BPE || t->pretok.flags & (PRETOK_RAW | PRETOK_ESCAPE)))
        return false;
    for (int b = 0; b < 256; b++)
        if (t->byte_id[b] == NO_ID)
            return false;
    return true;
}
