/* SPDX-License-Identifier: MIT
 * bpe.c - vocabularies with a list of merges: "gpt2" and "gemma4".
 *
 * The text is split into pieces by the pre-tokenizer; a piece met before comes
 * out of the cache; any other starts as one symbol per byte (or, without the
 * byte alphabet, per character) and is merged.
 *
 * Merges are pairs of ids in an open table of 16-byte slots: a miss costs one
 * cache line.  Resolving their spellings is half of what opening costs
 * (150,000 merges: about 8 ms).
 */
#include "tok/cache.h"
#include "tok/merge.h"

static inline size_t merge_slot(uint32_t a, uint32_t b, unsigned bits)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

    return (size_t)(h >> (64 - bits));
}

static inline uint32_t bpe_pair(const struct tok *t, const unsigned char *p,
                                struct symbol a, struct symbol b, uint32_t end,
                                uint32_t *id)
{
    size_t mask = ((size_t)1 << t->merge_bits) - 1;
    size_t i = merge_slot(a.id, b.id, t->merge_bits);

    (void)p;
    (void)end;
    for (; t->merge[i].rank1; i = (i + 1) & mask)
        if (t->merge[i].a == a.id && t->merge[i].b == b.id) {
            *id = t->merge[i].id;
            return t->merge[i].rank1 - 1;
        }
    return NO_RANK;
}

/* The same for the bytes at A and B, before anything is merged: no hashing. */
static inline uint32_t bytes_pair(const struct tok *t, const unsigned char *p,
                                  struct symbol a, struct symbol b,
                                  uint32_t end, uint32_t *id)
{
    struct made m = t->of_bytes[p[a.start]][p[b.start]];

    (void)end;
    *id = m.id;
    return m.rank1 - 1;
}

/* Without a list of merges: the rank of a pair is the id of its union. */
static uint32_t union_pair(const struct tok *t, const unsigned char *p,
                           struct symbol a, struct symbol b, uint32_t end,
                           uint32_t *id)
{
    (void)b;
    *id = tok_find(t, p + a.start, end - a.start);
    return *id;
}

/* The byte that P[N] spells in the byte alphabet, or -1. */
static int alphabet_byte(const char *p, size_t n)
{
    uint32_t cp;

    return utf8_get((const unsigned char *)p, n, &cp) == n ? alphabet_get(cp)
                                                           : -1;
}

/* Enter merge S, "A B", of rank RANK.  Parts that are no tokens make it a
 * merge that never happens. */
static int enter_merge(struct tok *t, struct gguf_str s, uint32_t rank,
                       uint32_t *guess, struct err *e)
{
    unsigned char joint[1024];
    const char *space = s.n > 2 ? memchr(s.p + 1, ' ', s.n - 2) : NULL;
    size_t na, nb, mask = ((size_t)1 << t->merge_bits) - 1, i;
    struct merge m = {0, 0, rank + 1, NO_ID};

    if (!space)
        return err_set(e, ERR_FORMAT,
                       "tokenizer.ggml.merges: entry %u is not "
                       "two parts with a space between",
                       rank);
    na = (size_t)(space - s.p);
    nb = s.n - na - 1;
    if (na + nb > sizeof joint || na + nb > t->max_len)
        return 0;
    memcpy(joint, s.p, na);
    memcpy(joint + na, space + 1, nb);
    m.a = tok_find_known(t, s.p, na);
    m.b = tok_find_known(t, space + 1, nb);
    /* Most files list the results in the order of the merges. */
    if (*guess < t->n) {
        struct gguf_str g = tok_string(t, *guess);

        if (g.n == na + nb && !memcmp(g.p, joint, g.n))
            m.id = *guess;
    }
    if (m.id == NO_ID)
        m.id = tok_find_known(t, joint, na + nb);
    if (m.a == NO_ID || m.b == NO_ID || m.id == NO_ID)
        return 0;
    *guess = m.id + 1;
    for (i = merge_slot(m.a, m.b, t->merge_bits); t->merge[i].rank1;
         i = (i + 1) & mask)
        if (t->merge[i].a == m.a && t->merge[i].b == m.b)
            return 0;
    t->merge[i] = m;
    if (t->of_bytes && na <= 2 && nb <= 2) {
        int a = alphabet_byte(s.p, na), b = alphabet_byte(space + 1, nb);

        if (a >= 0 && b >= 0)
            t->of_bytes[a][b] = (struct made){m.rank1, m.id};
    }
    return 0;
}

static int load_merges(struct tok *t, struct err *e)
{
    const struct gguf_val *v = NULL;
    const unsigned char *p;
    uint32_t n = 0, guess = 0;

    if (gguf_get_arr(&v, t->g, "tokenizer.ggml.merges", GGUF_STR, 0, 1u << 30,
                     e) < 0)
        return -1;
    if (!v && t->pretok.flags & PRETOK_RANKS) {
        t->by_rank = true;
        return 0;
    }
    if (!v)
        return err_set(e, ERR_FORMAT, "no key tokenizer.ggml.merges");
    n = (uint32_t)v->n;
    for (t->merge_bits = 4; (1u << t->merge_bits) / 3 * 2 < n; t->merge_bits++)
        ;
    t->merge = calloc((size_t)1 << t->merge_bits, sizeof *t->merge);
    if (!(t->pretok.flags & PRETOK_RAW))
        t->of_bytes = calloc(256, sizeof *t->of_bytes);
    if (!t->merge || (!t->of_bytes && !(t->pretok.flags & PRETOK_RAW)))
        return err_nomem(e);
    p = v->p;
    for (uint32_t i = 0; i < n; i++)
        if (enter_merge(t, gguf_str_next(&p), i, &guess, e))
            return -1;
    return 0;
}

int bpe_open(struct tok *t, struct err *e)
{
    bool bytes;

    if (pretok_open(&t->pretok, t->pre, e) || load_merges(t, e))
        return -1;
    bytes = !(t->pretok.flags & PRETOK_RAW);
    for (int b = 0; b < 256; b++) {
        unsigned char s[8] = "<0x00>";
        size_t n = 6;

        if (bytes) {
            n = alphabet_put(s, (unsigned char)b);
        } else {
            s[3] = (unsigned char)"0123456789ABCDEF"[b >> 4];
            s[4] = (unsigned char)"0123456789ABCDEF"[b & 15];
        }
        t->byte_id[b] = tok_find(t, s, n);
    }
    t->add_bos |= !!(t->pretok.flags & (PRETOK_ADD_BOS | PRETOK_FORCE_BOS));
    t->add_eos |= !!(t->pretok.flags & PRETOK_ADD_SEP);
    return t->pretok.flags & PRETOK_ESCAPE ? joined_open(t, e) : 0;
}

/* One symbol per byte. */
static size_t byte_symbols(const struct tok *t, const unsigned char *p,
                           size_t n, struct symbol *s)
{
    for (size_t i = 0; i < n; i++)
        s[i] = (struct symbol){t->byte_id[p[i]], (uint32_t)i};
    return n;
}

/* One symbol per character of P[N], which spells its spaces. */
static size_t char_symbols(const struct tok *t, const unsigned char *p,
                           size_t n, struct symbol *s)
{
    size_t k = 0, len;
    uint32_t cp;

    for (size_t i = 0; i < n; i += len) {
        len = utf8_get(p + i, n - i, &cp);
        s[k++] = (struct symbol){tok_find(t, p + i, len), (uint32_t)i};
    }
    return k;
}

void put_unknown(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    const struct tok *t = enc->t;
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &= t->byte_id[p[i]] != NO_ID;
    if (!all && t->role[TOK_UNK] < 0) {
        enc->missing = p[0];
        return;
    }
    if (!all)
        ids_put(enc, (uint32_t)t->role[TOK_UNK]);
    for (size_t i = 0; all && i < n; i++)
        ids_put(enc, t->byte_id[p[i]]);
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

/* The whole piece as one token: its id, or NO_ID. */
static uint32_t whole(const struct tok *t, const unsigned char *p, size_t n)
{
    unsigned char spelled[512];
    size_t k = 0;

    if (n > sizeof spelled / 2)
        return NO_ID;
    for (size_t i = 0; i < n && !(t->pretok.flags & PRETOK_RAW); i++)
        k += alphabet_put(spelled + k, p[i]);
    return k ? tok_find_text(t, spelled, k) : tok_find_text(t, p, n);
}

static void merge_piece(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    const struct tok *t = enc->t;
    struct symbol few[MERGE_FEW], *s = few;
    size_t k;

    if (t->pretok.flags & PRETOK_IGNORE_MERGES) {
        uint32_t id = whole(t, p, n);

        if (id != NO_ID) {
            ids_put(enc, id);
            return;
        }
    }
    if (n > MERGE_FEW) {
        enc->work[0].n = 0;
        s = buf_reserve(&enc->work[0], n * sizeof *s);
        if (!s || n > UINT32_MAX / 2) {
            enc->nomem = true;
            return;
        }
    }
    k = t->pretok.flags & PRETOK_RAW || t->by_rank ? char_symbols(t, p, n, s)
                                                   : byte_symbols(t, p, n, s);
    if (t->by_rank)
        k = merge_many(t, p, (uint32_t)n, s, k, &enc->work[1], &enc->work[2],
                       union_pair);
    else if (k <= MERGE_FEW && t->of_bytes)
        k = merge_few(t, p, (uint32_t)n, s, k, bytes_pair, bpe_pair);
    else if (k <= MERGE_FEW)
        k = merge_few(t, p, (uint32_t)n, s, k, bpe_pair, bpe_pair);
    else
        k = merge_many(t, p, (uint32_t)n, s, k, &enc->work[1], &enc->work[2],
                       bpe_pair);
    enc->nomem |= !k;
    put_symbols(enc, p, n, s, k);
}

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

/* Encode the piece P[N], not in the cache. */
static void new_piece(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    size_t before = enc->out->n, spelled = n;
    const unsigned char *q = p;

    if (enc->t->pretok.flags & PRETOK_ESCAPE) {
        enc->work[3].n = 0;
        q = spell_spaces(&enc->work[3], p, &spelled);
        if (!q) {
            enc->nomem = true;
            return;
        }
    }
    if (enc->t->by_rank) {
        enc->work[3].n = 0;
        for (size_t i = 0; i < n; i++) {
            unsigned char c[4];

            buf_put(&enc->work[3], c, alphabet_put(c, p[i]));
        }
        enc->nomem |= enc->work[3].bad;
        q = enc->work[3].p;
        spelled = enc->work[3].n;
    }
    if (!enc->nomem)
        merge_piece(enc, q, spelled);
    if (!enc->nomem && enc->missing < 0)
        cache_put(&enc->cache, p, n, enc->out->p + before,
                  enc->out->n - before);
}

static void piece(void *arg, const unsigned char *p, size_t n,
                  const unsigned char *end)
{
    struct tok_enc *enc = arg;

    if (!cache_get(enc, p, n, end))
        new_piece(enc, p, n);
}

/* Pieces of a text that is only cut where no token joins: P..LIMIT. */
static const unsigned char *joined_pieces(struct tok_enc *enc,
                                          const unsigned char *p,
                                          const unsigned char *limit,
                                          const unsigned char *stop,
                                          const unsigned char *end, bool whole_)
{
    while (p < stop) {
        const unsigned char *q = p + 1;

        while (q < limit && joined(enc->t, q[-1], q[0]))
            q++;
        if (q == limit && !whole_)
            return p;
        piece(enc, p, (size_t)(q - p), end);
        p = q;
    }
    return p;
}

const unsigned char *bpe_encode(struct tok_enc *enc, const unsigned char *p,
                                const unsigned char *stop,
                                const unsigned char *end, bool final,
                                bool first)
{
    const struct pretok *pt = &enc->t->pretok;

    (void)first;
    if (!(pt->flags & PRETOK_ESCAPE))
        return pretok_walk(pt, p, stop, end, final, piece, enc);
    /* Runs of newlines and what is between them. */
    while (p < stop) {
        const unsigned char *q = p;
        bool newline = *p == '\n', whole_;

        while (q < end && (*q == '\n') == newline)
            q++;
        whole_ = q < end || final;
        p = joined_pieces(enc, p, q, q < stop ? q : stop, end, whole_);
        if (!whole_)
            break;
    }
    return p;
}

const unsigned char *bpe_cut(const struct tok *t, const unsigned char *from,
                             const unsigned char *to)
{
    if (t->pretok.flags & PRETOK_ESCAPE)
        return joined_cut(t, from, to);
    return pretok_cut(&t->pretok, from, to);
}
