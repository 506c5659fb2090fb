/* SPDX-License-Identifier: MIT
 * wordpiece.c - "bert" vocabularies.
 *
 * 1. Characters are cleaned as BERT's normaliser does: controls go, white space
 *    becomes a space, Chinese characters stand alone, accents go and letters
 *    become small where the model says.
 * 2. White space parts words; each punctuation character is a word.
 * 3. A word is the longest token that begins it, then the longest that goes on,
 *    and so forth; if that fails, or past 100 characters, it is unknown.
 *
 * The file spells a token that begins a word with U+2581 in front, and one
 * that goes on without.  Only step 2 looks at neighbours, so the raw text may
 * be taken apart at any ASCII character that is no letter or digit, and at any
 * Chinese one.
 */
#include "tok/cache.h"
#include "tok/unicode.h"

enum { MAX_WORD = 100, STARTS = 1, GOES_ON = 2 };

struct wpm {
    bool lower, strip_accents;
    uint32_t start, on; /* the trie's nodes of tokens that begin a word, and
                           of those that go on */
};

/* Enter a token under one byte more, which says whether it begins a word. */
static int add_token(struct tok *t, uint32_t id, struct err *e)
{
    struct gguf_str s = tok_string(t, id);
    bool starts = s.n > SPACE_LEN && !memcmp(s.p, SPACE, SPACE_LEN);
    size_t skip = starts ? SPACE_LEN : 0;
    struct buf b = {0};
    int rc;

    if (!s.n)
        return 0;
    buf_putc(&b, starts ? STARTS : GOES_ON);
    buf_put(&b, s.p + skip, s.n - skip);
    rc = buf_ok(&b, e);
    if (!rc)
        rc = trie_add(&t->pieces, b.p, b.n, id, e);
    buf_free(&b);
    return rc;
}

int wpm_open(struct tok *t, struct err *e)
{
    struct wpm *w = t->wpm = calloc(1, sizeof *w);

    if (!w)
        return err_nomem(e);
    w->lower = true;
    if (gguf_get_bool(&w->lower, t->g, "tokenizer.ggml.normalizer.lowercase",
                      e) < 0)
        return -1;
    w->strip_accents = w->lower;
    if (gguf_get_bool(&w->strip_accents, t->g,
                      "tokenizer.ggml.normalizer.strip_accents", e) < 0)
        return -1;
    if (t->role[TOK_UNK] < 0)
        return err_set(e, ERR_FORMAT, "no key tokenizer.ggml.unknown_token_id");
    for (uint32_t id = 0; id < t->n; id++)
        if (type_of(t, id) != TOK_CONTROL && add_token(t, id, e))
            return -1;
    w->start = trie_next(&t->pieces, TRIE_ROOT, STARTS);
    w->on = trie_next(&t->pieces, TRIE_ROOT, GOES_ON);
    return 0;
}

void wpm_close(struct tok *t)
{
    free(t->wpm);
}

/* The word P[N], NCHAR characters, to tokens. */
static void word(struct tok_enc *enc, const unsigned char *p, size_t n,
                 size_t nchar)
{
    const struct tok *t = enc->t;
    size_t before = enc->out->n;
    uint32_t node = t->wpm->start;

    for (size_t at = 0; at < n; node = t->wpm->on) {
        uint32_t id = NO_ID;
        size_t best = at;

        for (size_t k = at; k < n && node;) {
            node = trie_next(&t->pieces, node, p[k++]);
            if (node && t->pieces.value[node] &&
                (k == n || (p[k] & 0xc0) != 0x80)) {
                id = t->pieces.value[node] - 1;
                best = k;
            }
        }
        if (id == NO_ID || nchar > MAX_WORD) {
            enc->out->n = before;
            ids_put(enc, (uint32_t)t->role[TOK_UNK]);
            return;
        }
        ids_put(enc, id);
        at = best;
    }
}

/* Words being put together, character by character. */
struct words {
    struct tok_enc *enc;
    struct buf *b;
    size_t nchar;
};

static void end_word(struct words *w)
{
    if (w->b->bad)
        w->enc->nomem = true;
    else if (w->b->n)
        word(w->enc, w->b->p, w->b->n, w->nchar);
    w->b->n = w->nchar = 0;
}

static void put_char(struct words *w, uint32_t cp)
{
    unsigned char c[4];
    bool alone = unicode_hf_punct(cp) || unicode_hf_chinese(cp);

    if (alone)
        end_word(w);
    buf_put(w->b, c, utf8_put(c, cp));
    w->nchar++;
    if (alone)
        end_word(w);
}

static void clean_char(struct words *w, uint32_t cp)
{
    const struct wpm *opt = w->enc->t->wpm;
    uint32_t part[UNI_NFD_MAX], low[UNI_LOWER_MAX];
    int n = 1;

    part[0] = cp;
    if (opt->strip_accents)
        n = unicode_nfd(cp, part);
    for (int i = 0; i < n; i++) {
        int k = 1;

        if (opt->strip_accents && unicode_hf_accent(part[i]))
            continue;
        low[0] = part[i];
        if (opt->lower)
            k = unicode_lower(part[i], low);
        for (int j = 0; j < k; j++)
            put_char(w, low[j]);
    }
}

static void clean(struct tok_enc *enc, const unsigned char *p, size_t n)
{
    struct words w = {enc, &enc->work[0], 0};
    size_t len;
    uint32_t cp;

    w.b->n = 0;
    for (; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD || unicode_hf_control(cp))
            continue;
        if (unicode_class(cp) & UNI_SPACE)
            end_word(&w);
        else
            clean_char(&w, cp);
    }
    end_word(&w);
}

static bool apart(unsigned char c)
{
    return c < 128 &&
           !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
             (c >= 'A' && c <= 'Z')) &&
           c >= 32 && c != 127;
}

/* Where the run that begins at P ends; END may be too early. */
static const unsigned char *run_end(const unsigned char *p,
                                    const unsigned char *end)
{
    const unsigned char *q = p;
    size_t len;
    uint32_t cp;

    if (apart(*p))
        return p + 1;
    for (; q < end && !apart(*q); q += len) {
        len = 1;
        if (*q < 128)
            continue;
        len = utf8_get(q, (size_t)(end - q), &cp);
        if (unicode_hf_chinese(cp))
            return q > p ? q : q + len;
    }
    return q;
}

const unsigned char *wpm_encode(struct tok_enc *enc, const unsigned char *p,
                                const unsigned char *stop,
                                const unsigned char *end, bool final,
                                bool first)
{
    (void)first;
    while (p < stop) {
        const unsigned char *q = run_end(p, end);
        size_t n = (size_t)(q - p), before;

        if (q == end && !final)
            return p;
        if (*p == ' ' || cache_get(enc, p, n, end)) {
            p = q;
            continue;
        }
        before = enc->out->n;
        clean(enc, p, n);
        if (!enc->nomem)
            cache_put(&enc->cache, p, n, enc->out->p + before,
                      enc->out->n - before);
        p = q;
    }
    return p;
}

const unsigned char *wpm_cut(const struct tok *t, const unsigned char *from,
                             const unsigned char *to)
{
    (void)t;
    for (const unsigned char *p = from + 1; p < to; p++)
        if (p[-1] == ' ')
            return p;
    return NULL;
}
