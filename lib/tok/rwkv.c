/* SPDX-License-Identifier: MIT
 * rwkv.c - "rwkv" vocabularies: at each place the longest token that fits.
 *
 * The file spells tokens as Python would write the bytes: \n, \t, \r, \\ and
 * \xHH stand for a byte each.
 */
#include "tok/tok_impl.h"

int rwkv_unescape(struct buf *out, struct gguf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == '\\' && i + 1 < s.n) {
            c = (unsigned char)s.p[++i];
            if (c == 'x' && i + 2 < s.n && hex_digit(s.p[i + 1]) >= 0 &&
                hex_digit(s.p[i + 2]) >= 0) {
                c = (unsigned char)(hex_digit(s.p[i + 1]) << 4 |
                                    hex_digit(s.p[i + 2]));
                i += 2;
            } else if (c == 'n' || c == 't' || c == 'r') {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
            }
        }
        buf_putc(out, c);
    }
    return out->bad ? -1 : 0;
}

int rwkv_open(struct tok *t, struct err *e)
{
    struct buf b = {0};
    int rc = 0;

    for (uint32_t id = 0; id < t->n && !rc; id++) {
        enum tok_type type = type_of(t, id);

        if (type == TOK_CONTROL || type == TOK_UNKNOWN)
            continue;
        b.n = 0;
        if (rwkv_unescape(&b, tok_string(t, id))) {
            rc = err_nomem(e);
            break;
        }
        if (b.n)
            rc = trie_add(&t->pieces, b.p, b.n, id, e);
        if (b.n == 1 && t->byte_id[b.p[0]] == NO_ID)
            t->byte_id[b.p[0]] = id;
    }
    buf_free(&b);
    return rc;
}

const unsigned char *rwkv_encode(struct tok_enc *enc, const unsigned char *p,
                                 const unsigned char *stop,
                                 const unsigned char *end, bool final,
                                 bool first)
{
    const struct trie *pieces = &enc->t->pieces;

    (void)first;
    while (p < stop) {
        uint32_t node = TRIE_ROOT, id = NO_ID;
        const unsigned char *q = p, *best = p;

        while (q < end && (node = trie_next(pieces, node, *q))) {
            q++;
            if (pieces->value[node]) {
                id = pieces->value[node] - 1;
                best = q;
            }
        }
        if (q == end && node && !final)
            return p;
        if (id == NO_ID) {
            put_unknown(enc, p, 1);
            best = p + 1;
        } else {
            ids_put(enc, id);
        }
        p = best;
    }
    return p;
}
