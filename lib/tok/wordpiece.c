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
#include "base/unicode.h"
#include "tok/cache.h"

enum { MAX_WORD = 100 };

struct wpm {
    bool lower, strip_accents;
};

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
    return 0;
}

void wpm_close(struct tok *t)
{
    free(t->wpm);
}

/* The longest token that begins P[N], no shorter than MIN: its length, and its
 * id in *ID; 0 if there is none. */
static size_t longest(const struct tok *t, const unsigned char *p, size_t n,
                      size_t min, uint32_t *id)
{
    for (size_t k = n < t->max_len ? n : t->max_len; k >= min; k--) {
        if (k < n && (p[k] & 0xc0) == 0x80)
            continue;
        *id = tok_find_text(t, p, k);
        if (*id != NO_ID)
            return k;
    }
    return 0;
}

/* The word P[N], with U+2581 in front and NCHAR characters after it, to
 * tokens. */
static void word(struct tok_enc *enc, const unsigned char *p, size_t n,
                 size_t nchar)
{
    const struct tok *t = enc->t;
    size_t before = enc->out->n;
    uint32_t id = NO_ID;

    for (size_t at = 0, k; at < n; at += k) {
        /* A U+2581 of the text does not make a token begin a word. */
        bool no = nchar > MAX_WORD || (at && n - at >= SPACE_LEN &&
                                       !memcmp(p + at, SPACE, SPACE_LEN));

        k = no ? 0 : longest(t, p + at, n - at, at ? 1 : SPACE_LEN + 1, &id);
        if (!k) {
            enc->out->n = before;
            ids_put(enc, (uint32_t)t->role[TOK_UNK]);
            return;
        }
        ids_put(enc, id);
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
    if (!w->b->n)
        buf_put(w->b, SPACE, SPACE_LEN);
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
            cache_put(enc, p, n, before);
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
