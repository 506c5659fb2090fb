/* SPDX-License-Identifier: MIT
 * symbols.c - what a piece is before it is merged, and what becomes of it. */
#include "tok/merge.h"

const unsigned char *spell_spaces(struct buf *work, const unsigned char *p,
                                  size_t *n)
{
    unsigned char *to = buf_reserve(work, *n * SPACE_LEN + 1), *at = to;

    if (!to)
        return NULL;
    for (size_t i = 0; i < *n; i++)
        if (p[i] == ' ') {
            memcpy(at, SPACE, SPACE_LEN);
            at += SPACE_LEN;
        } else {
            *at++ = p[i];
        }
    *n = (size_t)(at - to);
    return to;
}

struct symbol *symbols_room(struct tok_enc *enc, struct symbol *few, size_t n)
{
    struct symbol *s = few;

    if (n > MERGE_FEW) {
        enc->work[0].n = 0;
        s = n < UINT32_MAX / 2 ? buf_reserve(&enc->work[0], n * sizeof *s)
                               : NULL;
    }
    enc->nomem |= !s;
    return s;
}

size_t symbols_of(const struct tok *t, const unsigned char *p, size_t n,
                  struct symbol *s)
{
    size_t k = 0, len;
    uint32_t cp;

    for (size_t i = 0; i < n; i += len) {
        len = utf8_get(p + i, n - i, &cp);
        s[k++] = (struct symbol){tok_find_text(t, p + i, len), (uint32_t)i};
    }
    return k;
}

void put_unknown(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    const struct tok *t = enc->t;
    int32_t unknown = t->role[TOK_UNK];
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &= t->byte_id[p[i]] != NO_ID;
    if (all) {
        for (size_t i = 0; i < n; i++)
            ids_put(enc, t->byte_id[p[i]]);
        return;
    }
    enc->replaced++;
    /* A character of which some byte has no token is nothing to Hugging Face's
     * tokenizers; bytes that are no character they never see. */
    if (t->of_bytes && p[0] < 0xf5 && p[0] != 0xc0 && p[0] != 0xc1)
        return;
    /* An unknown token that is a control token (some models name their end of
     * text so) is nothing that a text may become. */
    if (unknown >= 0 && type_of(t, (uint32_t)unknown) != TOK_CONTROL)
        ids_put(enc, (uint32_t)unknown);
    else
        for (int i = 0; i < t->nreplacement; i++)
            ids_put(enc, t->replacement[i]);
}

void put_symbols(struct tok_enc *enc, const unsigned char *p, size_t n,
                 const struct symbol *s, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (s[i].id != NO_ID)
            ids_put(enc, s[i].id);
        else
            put_unknown(enc, p + s[i].start,
                        (i + 1 < k ? s[i + 1].start : n) - s[i].start);
}
