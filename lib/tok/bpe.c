/* SPDX-License-Identifier: MIT
 * bpe.c - vocabularies with a list of merges: "gpt2" and "gemma4".
 *
 * The text is split into pieces by the pre-tokenizer; a piece met before comes
 * out of the cache; any other starts as one symbol per byte (or, without the
 * byte alphabet, per character) and is merged.
 *
 * Merges are pairs of ids in an open table of 16-byte slots: a miss costs one
 * cache line.  Resolving their spellings is the largest part of what opening
 * costs.
 */
#include "tok/cache.h"
#include "tok/merge.h"

static inline size_t merge_slot(uint32_t a, uint32_t b, unsigned bits)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

    return (size_t)(h >> (64 - bits));
}

/* Most pairs that are asked for do not merge.  A filter of one bit per hash, 8
 * for each slot, says so of nearly all of them from a table 16 times smaller.
 */
enum { FILTER_BITS = 3 };

static inline uint32_t bpe_pair(const struct tok *t, const unsigned char *p,
                                struct symbol a, struct symbol b, uint32_t end,
                                uint32_t *id)
{
    size_t mask = ((size_t)1 << t->merge_bits) - 1,
           bit = merge_slot(a.id, b.id, t->merge_bits + FILTER_BITS),
           i = bit >> FILTER_BITS;

    (void)p;
    (void)end;
    if (!(t->merge_filter[bit >> 3] >> (bit & 7) & 1))
        return NO_RANK;
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

/* A merge on its way into the table, in three steps far enough apart that what
 * each one looks at has come from memory.  With this and enter_all() a process
 * that opens qwen2 (152k tokens, 151k merges) went from 28 to 22 ms of CPU. */
struct pending {
    const char *a, *b; /* the parts, NA and NB bytes */
    uint32_t na, nb;
    uint64_t ha, hb;
    struct merge m;
};

/* Part S, "A B", in two. */
static int split_merge(struct tok *t, struct pending *q, struct gguf_str s,
                       uint32_t rank, struct err *e)
{
    const char *space = s.n > 2 ? memchr(s.p + 1, ' ', s.n - 2) : NULL;

    if (!space)
        return err_set(e, ERR_FORMAT,
                       "tokenizer.ggml.merges: entry %u is not two parts with "
                       "a space between",
                       rank);
    *q = (struct pending){.a = s.p, .b = space + 1, .m.rank1 = rank + 1};
    if (s.n - 1 > t->max_len) {
        q->m.rank1 = 0; /* no token is that long */
        return 0;
    }
    q->na = (uint32_t)(space - s.p);
    q->nb = (uint32_t)(s.n - q->na - 1);
    q->ha = tok_hash(t, q->a, q->na);
    q->hb = tok_hash(t, q->b, q->nb);
    return 0;
}

/* Find the parts, and their union, which most files list in the order of the
 * merges: *GUESS is the one after the last.  Parts that are no tokens make a
 * merge that never happens. */
static void find_merge(struct tok *t, struct pending *q, uint32_t *guess,
                       struct buf *joint)
{
    struct merge *m = &q->m;
    struct gguf_str g = {0};

    if (!m->rank1)
        return;
    m->a = tok_find_hash(t, q->a, q->na, q->ha);
    m->b = tok_find_hash(t, q->b, q->nb, q->hb);
    if (*guess < t->n)
        g = tok_string(t, *guess);
    if (g.n == (size_t)q->na + q->nb && !memcmp(g.p, q->a, q->na) &&
        !memcmp(g.p + q->na, q->b, q->nb)) {
        m->id = *guess;
    } else {
        joint->n = 0;
        buf_put(joint, q->a, q->na);
        buf_put(joint, q->b, q->nb);
        m->id = joint->bad ? NO_ID : tok_find(t, joint->p, joint->n);
    }
    if (m->a == NO_ID || m->b == NO_ID || m->id == NO_ID) {
        m->rank1 = 0;
        return;
    }
    *guess = m->id + 1;
    __builtin_prefetch(&t->merge[merge_slot(m->a, m->b, t->merge_bits)], 1);
}

static void enter_merge(struct tok *t, const struct pending *q)
{
    const struct merge *m = &q->m;
    size_t mask = ((size_t)1 << t->merge_bits) - 1,
           i = merge_slot(m->a, m->b, t->merge_bits);

    if (!m->rank1)
        return;
    for (; t->merge[i].rank1; i = (i + 1) & mask)
        if (t->merge[i].a == m->a && t->merge[i].b == m->b)
            return;
    t->merge[i] = *m;
    i = merge_slot(m->a, m->b, t->merge_bits + FILTER_BITS);
    t->merge_filter[i >> 3] |= (uint8_t)(1u << (i & 7));
    if (t->of_bytes && q->na <= 2 && q->nb <= 2) {
        int a = alphabet_byte(q->a, q->na), b = alphabet_byte(q->b, q->nb);

        if (a >= 0 && b >= 0)
            t->of_bytes[a][b] = (struct made){m->rank1, m->id};
    }
}

static int enter_merges(struct tok *t, const unsigned char *p, uint32_t n,
                        struct err *e)
{
    enum { AHEAD = 16 };
    struct pending ring[2 * AHEAD];
    struct buf joint = {0};
    uint32_t guess = 0;
    int rc = 0;

    for (uint32_t i = 0; i < n + 2 * AHEAD; i++) {
        if (i >= 2 * AHEAD)
            enter_merge(t, &ring[i % (2 * AHEAD)]);
        if (i < n &&
            split_merge(t, &ring[i % (2 * AHEAD)], gguf_str_next(&p), i, e)) {
            rc = -1;
            break;
        }
        if (i >= AHEAD && i - AHEAD < n)
            find_merge(t, &ring[(i - AHEAD) % (2 * AHEAD)], &guess, &joint);
    }
    if (!rc)
        rc = buf_ok(&joint, e);
    buf_free(&joint);
    return rc;
}

static int load_merges(struct tok *t, struct err *e)
{
    const struct gguf_val *v = NULL;
    bool bytes = !(t->pretok.flags & PRETOK_RAW);
    uint32_t n;

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
    t->merge = pages_alloc(sizeof *t->merge << t->merge_bits);
    t->merge_filter = pages_alloc((size_t)1 << t->merge_bits);
    if (bytes)
        t->of_bytes = calloc(256, sizeof *t->of_bytes);
    if (!t->merge || !t->merge_filter || (bytes && !t->of_bytes))
        return err_nomem(e);
    return enter_merges(t, v->p, n, e);
}

/* U+FFFD, as a piece of its own. */
static void set_replacement(struct tok *t)
{
    static const unsigned char p[3] = {0xef, 0xbf, 0xbd};
    struct symbol s[3];
    size_t k = 0;

    if (t->pretok.flags & PRETOK_RAW) {
        s[k++].id = tok_find_text(t, p, 3);
    } else if (!t->by_rank) {
        for (; k < 3; k++)
            s[k] = (struct symbol){t->byte_id[p[k]], (uint32_t)k};
        k = merge_few(t, p, 3, s, k, bytes_pair, bpe_pair);
    }
    for (size_t i = 0; i < k; i++)
        if (s[i].id != NO_ID)
            t->replacement[t->nreplacement++] = s[i].id;
}

int bpe_open(struct tok *t, struct err *e)
{
    bool bytes;

    if (pretok_open(&t->pretok, t->pre, e) || load_merges(t, e))
        return -1;
    bytes = !(t->pretok.flags & PRETOK_RAW);
    for (int b = 0; b < 256; b++) {
        unsigned char s[4];

        t->byte_id[b] = bytes ? tok_find(t, s, alphabet_put(s, (uint8_t)b))
                              : tok_find_byte(t, b);
        /* deepseek-coder has user-defined tokens spelled as the alphabet spells
         * bytes that UTF-8 never has; they are their spelling. */
        if (t->byte_id[b] != NO_ID && bytes &&
            type_of(t, t->byte_id[b]) == TOK_USER_DEFINED)
            t->byte_id[b] = NO_ID;
    }
    t->add_bos |= !!(t->pretok.flags & (PRETOK_ADD_BOS | PRETOK_FORCE_BOS));
    t->add_eos |= !!(t->pretok.flags & PRETOK_ADD_SEP);
    t->add_sep |= !!(t->pretok.flags & PRETOK_ADD_SEP);
    set_replacement(t);
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
    struct symbol few[MERGE_FEW], *s;
    size_t k;

    if (t->pretok.flags & PRETOK_IGNORE_MERGES) {
        uint32_t id = whole(t, p, n);

        if (id != NO_ID) {
            ids_put(enc, id);
            return;
        }
    }
    if (!(s = symbols_room(enc, few, n)))
        return;
    k = t->pretok.flags & PRETOK_RAW || t->by_rank ? symbols_of(t, p, n, s)
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

/* Encode the piece P[N], not in the cache. */
static void new_piece(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    size_t before = enc->out->n, spelled = n;
    uint64_t replaced = enc->replaced;
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
    if (!enc->nomem && enc->replaced == replaced)
        cache_put(enc, p, n, before);
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
