/* SPDX-License-Identifier: MIT
 * spm.c - "llama" vocabularies: SentencePiece's merging by score.
 *
 * Spaces are spelled U+2581 and the text is not split into words; of all
 * neighbours that spell a token together, those with the best score merge
 * first, the leftmost among equals.  The text is cut where no token of the
 * vocabulary joins (joined.c), which makes words of it again.
 *
 * Where the model wants it, a space stands before the text, and before text
 * after a special token.
 */
#include "tok/cache.h"
#include "tok/merge.h"

/* Turn a score into a rank: the best score is the lowest. */
static uint32_t rank_of(float score)
{
    uint32_t u;

    if (score != score)
        return NO_RANK - 1;
    score += 0.0f; /* one zero */
    memcpy(&u, &score, sizeof u);
    u = u >> 31 ? ~u : u | 0x80000000u;
    u = ~u;
    return u < NO_RANK - 1 ? u : NO_RANK - 1;
}

static inline uint32_t spm_pair(const struct tok *t, const unsigned char *p,
                                struct symbol a, struct symbol b, uint32_t end,
                                uint32_t *id)
{
    (void)b;
    if (end - a.start > t->max_len)
        return NO_RANK;
    *id = tok_find_text(t, p + a.start, end - a.start);
    return *id == NO_ID ? NO_RANK : rank_of(score_of(t, *id));
}

int spm_open(struct tok *t, struct err *e)
{
    if (!t->scores)
        return err_set(e, ERR_FORMAT, "no key tokenizer.ggml.scores");
    if (t->pre[0] && strcmp(t->pre, "default"))
        return err_set(e, ERR_UNSUPPORTED,
                       "unknown pre-tokenizer '%s' for tokenizer.ggml.model "
                       "'llama'",
                       t->pre);
    for (int b = 0; b < 256; b++) {
        t->byte_id[b] = tok_find_byte(t, b);
        if (t->byte_id[b] == NO_ID)
            t->byte_id[b] = tok_find(t, &(char){(char)b}, 1);
    }
    return joined_open(t, e);
}

/* Encode the piece P[N], spaces spelled out, not in the cache. */
static void spelled_piece(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    const struct tok *t = enc->t;
    struct symbol few[MERGE_FEW], *s = symbols_room(enc, few, n);
    size_t k;

    if (!s)
        return;
    k = symbols_of(t, p, n, s);
    if (k <= MERGE_FEW)
        k = merge_few(t, p, (uint32_t)n, s, k, spm_pair, spm_pair);
    else
        k = merge_many(t, p, (uint32_t)n, s, k, &enc->work[1], &enc->work[2],
                       spm_pair);
    enc->nomem |= !k;
    put_symbols(enc, p, n, s, k);
}

/* The piece P[N] of the text, after a space that is not in the text if
 * PREFIX. */
static void piece(struct tok_enc *enc, const unsigned char *p, size_t n,
                  const unsigned char *end, bool prefix)
{
    size_t before, spelled = n;
    uint64_t replaced = enc->replaced;
    const unsigned char *q;

    if (!prefix && cache_get(enc, p, n, end))
        return;
    enc->work[3].n = 0;
    if (prefix)
        buf_put(&enc->work[3], SPACE, SPACE_LEN);
    q = spell_spaces(&enc->work[3], p, &spelled);
    if (!q) {
        enc->nomem = true;
        return;
    }
    before = enc->out->n;
    if (prefix)
        spelled_piece(enc, q - SPACE_LEN, spelled + SPACE_LEN);
    else
        spelled_piece(enc, q, spelled);
    if (!prefix && !enc->nomem && enc->replaced == replaced)
        cache_put(enc, p, n, before);
}

const unsigned char *spm_encode(struct tok_enc *enc, const unsigned char *p,
                                const unsigned char *stop,
                                const unsigned char *end, bool final,
                                bool first)
{
    bool prefix = first && enc->t->add_space_prefix;

    while (p < stop) {
        const unsigned char *q = p + 1;

        while (q < end && joined(enc->t, q[-1], q[0]))
            q++;
        if (q == end && !final)
            return p;
        /* A space before a character that no token joins to it is a piece of
         * its own. */
        if (prefix && !joined(enc->t, ' ', *p)) {
            spelled_piece(enc, (const unsigned char *)SPACE, SPACE_LEN);
            prefix = false;
        }
        piece(enc, p, (size_t)(q - p), end, prefix);
        prefix = false;
        p = q;
    }
    return p;
}
