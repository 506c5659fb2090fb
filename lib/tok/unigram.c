/* SPDX-License-Identifier: MIT
 * unigram.c - "t5" vocabularies: SentencePiece's unigram model.
 *
 * 1. The text is normalised by the file's own table: a double-array trie
 *    (github.com/s-yata/darts-clone, the layout of its units) from strings to
 *    their replacements, the longest that fits at each place.
 * 2. Runs of spaces shrink to one where the model wants it; a word is its
 *    letters after U+2581.
 * 3. Of all ways to cut a word into tokens, the one with the best sum of
 *    scores.  A character in no token costs 10 more than the worst token.
 *
 * Words are independent: no token has U+2581 but in front.
 */
#include <float.h>

#include "tok/cache.h"

struct ugm {
    const unsigned char *unit; /* the table's units, 4 bytes each */
    uint32_t nunit;
    const char *text; /* the replacements, each ended by a NUL */
    size_t ntext;
    bool space[256]; /* bytes that normalise to a space */
    float unknown;   /* the score of a character in no token */
    /* by two bytes, the length of the longest token that begins so (255: that
     * or more) */
    uint8_t longest[256][256];
};

static int load_table(struct ugm *u, const struct tok *t, struct err *e)
{
    const struct gguf_val *v;
    uint32_t n;

    v = gguf_key(t->g, "tokenizer.ggml.precompiled_charsmap");
    if (!v || (v->type == GGUF_ARR && !v->n))
        return 0;
    if (v->type != GGUF_ARR || (v->elem != GGUF_U8 && v->elem != GGUF_I8))
        return err_set(e, ERR_FORMAT,
                       "tokenizer.ggml.precompiled_charsmap: "
                       "not an array of bytes");
    n = v->n >= 4 ? rd_u32(v->p) : 0;
    if (v->n < 4 || n > v->n - 4 || n % 4)
        return err_set(e, ERR_FORMAT,
                       "tokenizer.ggml.precompiled_charsmap: "
                       "cut short");
    u->unit = v->p + 4;
    u->nunit = n / 4;
    u->text = (const char *)v->p + 4 + n;
    u->ntext = (size_t)v->n - 4 - n;
    return 0;
}

void ugm_close(struct tok *t)
{
    free(t->ugm);
}

/* ---- normalising ---- */

static uint32_t unit(const struct ugm *u, uint32_t i)
{
    return i < u->nunit ? rd_u32(u->unit + 4 * (size_t)i) : 0;
}

static uint32_t unit_offset(uint32_t v)
{
    return v >> 10 << ((v >> 9 & 1) * 8);
}

/* The longest key at P: its length, and its replacement in *TO. */
static size_t longest_key(const struct ugm *u, const unsigned char *p, size_t n,
                          const char **to)
{
    uint32_t at = 0, v = unit(u, 0);
    size_t best = 0;

    if (!u->nunit)
        return 0;
    at ^= unit_offset(v);
    for (size_t i = 0; i < n && p[i]; i++) {
        at ^= p[i];
        v = unit(u, at);
        if ((v & 0x800000ff) != p[i])
            break;
        at ^= unit_offset(v);
        if (v >> 8 & 1) {
            uint32_t text = unit(u, at) & 0x7fffffff;

            if (text < u->ntext && memchr(u->text + text, 0, u->ntext - text)) {
                best = i + 1;
                *to = u->text + text;
            }
        }
    }
    return best;
}

static void normalise(const struct ugm *u, struct buf *out,
                      const unsigned char *p, size_t n)
{
    uint32_t cp;
    size_t len;

    for (; n; p += len, n -= len) {
        const char *to;

        len = longest_key(u, p, n, &to);
        if (len) {
            buf_puts(out, to);
            continue;
        }
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD)
            buf_puts(out, "\xef\xbf\xbd");
        else
            buf_put(out, p, len);
    }
}

/* ---- opening ---- */

static int find_spaces(struct ugm *u, struct err *e)
{
    struct buf b = {0};
    int rc;

    for (int c = 0; c < 128; c++) {
        b.n = 0;
        normalise(u, &b, &(unsigned char){(unsigned char)c}, 1);
        u->space[c] = b.n == 1 && b.p[0] == ' ';
    }
    rc = buf_ok(&b, e);
    buf_free(&b);
    return rc;
}

int ugm_open(struct tok *t, struct err *e)
{
    float least = 0;

    if (!t->scores)
        return err_set(e, ERR_FORMAT, "no key tokenizer.ggml.scores");
    if (t->role[TOK_UNK] < 0)
        return err_set(e, ERR_FORMAT, "no key tokenizer.ggml.unknown_token_id");
    t->remove_extra_space = true;
    t->ugm = calloc(1, sizeof *t->ugm);
    if (!t->ugm)
        return err_nomem(e);
    if (load_table(t->ugm, t, e))
        return -1;
    for (uint32_t id = 0; id < t->n; id++) {
        enum tok_type type = type_of(t, id);
        struct gguf_str s = tok_string(t, id);

        if (type == TOK_NORMAL && score_of(t, id) < least)
            least = score_of(t, id);
        if (s.n) {
            uint8_t *max =
                &t->ugm
                     ->longest[(uint8_t)s.p[0]][s.n > 1 ? (uint8_t)s.p[1] : 0];

            *max = s.n > 254 ? 255 : s.n > *max ? (uint8_t)s.n : *max;
        }
    }
    for (int b = 0; b < 256; b++) {
        char s[8] = "<0x00>";

        s[3] = "0123456789ABCDEF"[b >> 4];
        s[4] = "0123456789ABCDEF"[b & 15];
        t->byte_id[b] = tok_find(t, s, 6);
    }
    t->ugm->unknown = least - 10;
    return find_spaces(t->ugm, e);
}

/* ---- the best cut ---- */

struct node {
    float score;   /* of the best way to here */
    uint32_t from; /* where its last token begins */
    uint32_t id;   /* that token; NO_ID for a character in none */
};

static void relax(struct node *to, float score, uint32_t from, uint32_t id)
{
    if (score > to->score)
        *to = (struct node){score, from, id};
}

/* All tokens that begin at I of P[N]. */
static void extend(const struct tok *t, struct node *best,
                   const unsigned char *p, size_t n, size_t i)
{
    uint32_t cp;
    size_t one = utf8_get(p + i, n - i, &cp),
           max = t->ugm->longest[p[i]][i + 1 < n ? p[i + 1] : 0];
    bool single = false;

    if (max < one)
        max = one;
    if (max == 255)
        max = t->max_len;
    for (size_t k = one; k <= max && i + k <= n; k++) {
        uint32_t id;

        if (i + k < n && (p[i + k] & 0xc0) == 0x80)
            continue;
        id = tok_find_text(t, p + i, k);
        if (id == NO_ID)
            continue;
        single |= k == one;
        relax(&best[i + k],
              best[i].score +
                  (type_of(t, id) == TOK_USER_DEFINED ? 0 : score_of(t, id)),
              (uint32_t)i, id);
    }
    if (!single)
        relax(&best[i + one], best[i].score + t->ugm->unknown, (uint32_t)i,
              NO_ID);
}

/* Encode P[N], one word with its U+2581. */
static void word(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    const struct tok *t = enc->t;
    struct node *best;
    uint32_t *id;
    size_t k = 0;
    bool unknown = false;

    enc->work[0].n = enc->work[1].n = 0;
    best = buf_reserve(&enc->work[0], (n + 1) * sizeof *best);
    id = buf_reserve(&enc->work[1], 2 * (n + 1) * sizeof *id);
    if (!best || !id || n > UINT32_MAX / 2) {
        enc->nomem = true;
        return;
    }
    for (size_t i = 0; i <= n; i++)
        best[i] = (struct node){i ? -FLT_MAX : 0, 0, NO_ID};
    for (size_t i = 0; i < n; i++)
        if (best[i].score > -FLT_MAX)
            extend(t, best, p, n, i);
    for (size_t i = n; i; i = best[i].from) {
        id[2 * k] = best[i].id;
        id[2 * k++ + 1] = best[i].from;
    }
    for (size_t end; k--; unknown = id[2 * k] == NO_ID) {
        end = k ? id[2 * k - 1] : n;
        if (id[2 * k] != NO_ID)
            ids_put(enc, id[2 * k]);
        else if (t->byte_id[p[id[2 * k + 1]]] != NO_ID)
            put_unknown(enc, p + id[2 * k + 1], end - id[2 * k + 1]);
        else if (!unknown)
            ids_put(enc, (uint32_t)t->role[TOK_UNK]);
    }
}

/* Encode normalised text P[N]; SPACE_FIRST: U+2581 goes before it. */
static void normalised(struct tok_enc *enc, const unsigned char *p, size_t n,
                       bool space_first)
{
    struct buf *b = &enc->work[3];
    bool shrink = enc->t->remove_extra_space;
    size_t i = 0;

    while (i < n) {
        b->n = 0;
        if (space_first)
            buf_put(b, SPACE, SPACE_LEN);
        for (; i < n && p[i] == ' '; i++)
            if (!shrink || !b->n)
                buf_put(b, SPACE, SPACE_LEN);
        if (i == n && shrink)
            break;
        while (i < n && p[i] != ' ')
            buf_putc(b, p[i++]);
        if (b->bad)
            enc->nomem = true;
        else
            word(enc, b->p, b->n);
        space_first = false;
    }
}

/* The text P[N]: spaces, then a word.  FIRST: it begins a text. */
static void raw_word(struct tok_enc *enc, const unsigned char *p, size_t n,
                     const unsigned char *end, bool first)
{
    struct buf *b = &enc->work[2];
    size_t before = enc->out->n;
    bool prefix = first && enc->t->add_space_prefix;

    if (!first && cache_get(enc, p, n, end))
        return;
    b->n = 0;
    normalise(enc->t->ugm, b, p, n);
    if (b->bad) {
        enc->nomem = true;
        return;
    }
    if (first && enc->t->remove_extra_space) {
        size_t skip = 0;

        while (skip < b->n && b->p[skip] == ' ')
            skip++;
        normalised(enc, b->p + skip, b->n - skip, prefix);
    } else {
        normalised(enc, b->p, b->n, prefix);
    }
    if (!first && !enc->nomem)
        cache_put(&enc->cache, p, n, enc->out->p + before,
                  enc->out->n - before);
}

const unsigned char *ugm_encode(struct tok_enc *enc, const unsigned char *p,
                                const unsigned char *stop,
                                const unsigned char *end, bool final,
                                bool first)
{
    const bool *space = enc->t->ugm->space;

    while (p < stop) {
        const unsigned char *q = p;

        while (q < end && space[*q])
            q++;
        while (q < end && !space[*q])
            q++;
        if (q == end && !final)
            return p;
        raw_word(enc, p, (size_t)(q - p), end, first);
        first = false;
        p = q;
    }
    return p;
}

const unsigned char *ugm_cut(const struct tok *t, const unsigned char *from,
                             const unsigned char *to)
{
    const bool *space = t->ugm->space;

    for (const unsigned char *p = from + 1; p < to; p++)
        if (space[*p] && !space[p[-1]])
            return p;
    return NULL;
}
