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
    /* By the first three bytes of a token, after its U+2581: the lengths after
     * it that tokens have which begin so, a bit each; the last bit is for 63
     * and all above.  By hash, so a bit may be set for another's sake. */
    uint64_t lengths[1 << 16];
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

/* How many bytes of U+2581 P[N] begins with. */
static size_t space_len(const unsigned char *p, size_t n)
{
    return n >= SPACE_LEN && !memcmp(p, SPACE, SPACE_LEN) ? SPACE_LEN : 0;
}

static uint64_t *lengths_of(struct ugm *u, const unsigned char *p)
{
    uint32_t key = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

    return &u->lengths[key * 0x9e3779b1u >> 16];
}

static void note_length(struct ugm *u, const unsigned char *p, size_t n)
{
    size_t skip = space_len(p, n), rest = n - skip;

    if (rest >= 3)
        *lengths_of(u, p + skip) |= 1ull << (rest < 63 ? rest : 63);
}

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
        note_length(t->ugm, (const unsigned char *)s.p, s.n);
    }
    for (int b = 0; b < 256; b++)
        t->byte_id[b] = tok_find_byte(t, b);
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

/* The token P[I..I+K), if it is one, as a way to go on from I. */
static bool try_token(const struct tok *t, struct node *best,
                      const unsigned char *p, size_t i, size_t k)
{
    uint32_t id = tok_find_text(t, p + i, k);

    if (id == NO_ID)
        return false;
    relax(&best[i + k],
          best[i].score +
              (type_of(t, id) == TOK_USER_DEFINED ? 0 : score_of(t, id)),
          (uint32_t)i, id);
    return true;
}

/* All tokens that begin at I of P[N]. */
static void extend(const struct tok *t, struct node *best,
                   const unsigned char *p, size_t n, size_t i)
{
    uint32_t cp;
    size_t one = utf8_get(p + i, n - i, &cp), left = n - i,
           skip = space_len(p + i, left);
    uint64_t lengths = 6; /* one and two are always tried */
    bool single = false;

    if (left >= skip + 3)
        lengths |= *lengths_of(t->ugm, p + i + skip);
    if (skip)
        single = try_token(t, best, p, i, skip);
    for (size_t k = 1; k <= left - skip && skip + k <= t->max_len; k++) {
        size_t to = i + skip + k;

        if (!(lengths >> (k < 63 ? k : 63) & 1) ||
            (to < n && (p[to] & 0xc0) == 0x80))
            continue;
        if (try_token(t, best, p, i, skip + k) && skip + k == one)
            single = true;
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

/* A word of the text, P[N], that begins it if FIRST; spaces before it are there
 * only where they count. */
static void raw_word(struct tok_enc *enc, const unsigned char *p, size_t n,
                     const unsigned char *end, bool first)
{
    struct buf *b = &enc->work[2];
    size_t before = enc->out->n, skip = 0;
    bool shrink = enc->t->remove_extra_space;

    if (!first && cache_get(enc, p, n, end))
        return;
    b->n = 0;
    normalise(enc->t->ugm, b, p, n);
    if (b->bad) {
        enc->nomem = true;
        return;
    }
    while (shrink && skip < b->n && b->p[skip] == ' ')
        skip++;
    normalised(enc, b->p + skip, b->n - skip,
               first ? enc->t->add_space_prefix : shrink);
    if (!first && !enc->nomem)
        cache_put(enc, p, n, before);
}

const unsigned char *ugm_encode(struct tok_enc *enc, const unsigned char *p,
                                const unsigned char *stop,
                                const unsigned char *end, bool final,
                                bool first)
{
    const bool *space = enc->t->ugm->space;
    bool shrink = enc->t->remove_extra_space;

    while (p < stop) {
        const unsigned char *q = p;

        while (q < end && space[*q])
            q++;
        while (q < end && !space[*q])
            q++;
        if (q == end && !final)
            return p;
        /* A run of spaces is one: a word is the same after any. */
        while (shrink && p < q && space[*p])
            p++;
        if (p < q) {
            raw_word(enc, p, (size_t)(q - p), end, first);
            first = false;
        }
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
