/* SPDX-License-Identifier: MIT
 * encode.c - from text to tokens: special tokens, parts, threads.
 *
 * 1. The text between two special tokens is a fragment, encoded by the
 *    vocabulary's own method.
 * 2. A part of a text ends where the method says that more text could change
 *    the tokens; the caller keeps the rest and comes back with more.
 * 3. Threads share a part at borders that every encoding of the text has, so
 *    that each can do its share as if it were alone.
 */
#include "tok/tok_impl.h"

#include "base/unicode.h"

static const struct method {
    encode_fn *encode;
    cut_fn *cut; /* NULL: no border is sure */
} methods[] = {
    [KIND_BPE] = {bpe_encode, bpe_cut}, [KIND_SPM] = {spm_encode, joined_cut},
    [KIND_WPM] = {wpm_encode, wpm_cut}, [KIND_UGM] = {ugm_encode, ugm_cut},
    [KIND_RWKV] = {rwkv_encode, NULL},
};

uint32_t *ids_reserve(struct tok_enc *enc, size_t n)
{
    struct tok_ids *o = enc->out;

    if (n > o->cap - o->n) {
        size_t cap = o->cap + o->cap / 2 + n + 1024;
        uint32_t *p = realloc(o->p, cap * sizeof *p);

        if (!p) {
            enc->nomem = true;
            return NULL;
        }
        o->p = p;
        o->cap = cap;
    }
    return o->p + o->n;
}

void ids_put(struct tok_enc *enc, uint32_t id)
{
    uint32_t *to = ids_reserve(enc, 1);

    if (to) {
        *to = id;
        enc->out->n++;
    }
}

void tok_ids_free(struct tok_ids *ids)
{
    free(ids->p);
    *ids = (struct tok_ids){0};
}

struct tok_enc *tok_enc_new(const struct tok *t, unsigned flags, struct err *e)
{
    struct tok_enc *enc = calloc(1, sizeof *enc);

    if (!enc) {
        err_nomem(e);
        return NULL;
    }
    enc->t = t;
    enc->flags = flags;
    if (piece_cache_open(&enc->cache, e)) {
        tok_enc_free(enc);
        return NULL;
    }
    tok_begin(enc);
    return enc;
}

void tok_enc_free(struct tok_enc *enc)
{
    if (!enc)
        return;
    for (int i = 0; i < enc->nworker; i++)
        tok_enc_free(enc->worker[i]);
    free(enc->worker);
    piece_cache_close(&enc->cache);
    for (size_t i = 0; i < sizeof enc->work / sizeof *enc->work; i++)
        buf_free(&enc->work[i]);
    tok_ids_free(&enc->own);
    free(enc);
}

void tok_begin(struct tok_enc *enc)
{
    enc->begun = false;
    enc->after_special = true;
    enc->strip = false;
    enc->bos = NO_ID;
}

uint64_t tok_replaced(const struct tok_enc *enc)
{
    return enc->replaced;
}

static bool space_at(const unsigned char *p, const unsigned char *end,
                     size_t *len)
{
    uint32_t cp;

    *len = utf8_get(p, (size_t)(end - p), &cp);
    return unicode_class(cp) & UNI_SPACE;
}

/* Where the white space that ends P..END begins. */
static const unsigned char *before_spaces(const unsigned char *p,
                                          const unsigned char *end)
{
    const unsigned char *q = end, *start;
    size_t len;

    while (q > p) {
        for (start = q - 1; start > p && (*start & 0xc0) == 0x80; start--)
            ;
        if (!space_at(start, q, &len) || start + len != q)
            break;
        q = start;
    }
    return q;
}

static void put_special(struct tok_enc *enc, uint32_t id)
{
    const struct tok *t = enc->t;

    /* A text that spells BOS itself gets no second one. */
    if (id != enc->bos)
        ids_put(enc, id);
    enc->bos = NO_ID;
    enc->after_special = true;
    enc->strip = t->strip && t->strip[id] & STRIP_RIGHT;
}

/* Encode from P until a piece begins at or after STOP, a sure border or END;
 * returns where the next piece begins. */
static const unsigned char *encode_range(struct tok_enc *enc,
                                         const unsigned char *p,
                                         const unsigned char *stop,
                                         const unsigned char *end, bool last)
{
    const struct tok *t = enc->t;
    encode_fn *encode = methods[t->kind].encode;

    while (p < stop && !enc->nomem) {
        const unsigned char *look = end, *q, *part;
        uint32_t id = 0;
        size_t len = 0;

        while (enc->strip && p < end) {
            enc->strip = space_at(p, end, &len);
            p += enc->strip ? len : 0;
        }
        len = 0;
        if ((size_t)(end - stop) > t->special_max)
            look = stop + t->special_max;
        q = part = special_find(
            t, enc->flags, enc->plain ? enc->plain + (p - enc->text) : NULL, p,
            look, last && look == end, &id, &len);
        if (!len && look < end)
            q = part = end;
        if (t->strip && (!len || t->strip[id] & STRIP_LEFT) &&
            !(q == end && last))
            part = before_spaces(p, q);
        if (part > p) {
            const unsigned char *to = part < stop ? part : stop;
            const unsigned char *r =
                encode(enc, p, to, part, len || (q == end && last),
                       enc->after_special);

            if (r > p) {
                enc->after_special = false;
                enc->bos = NO_ID;
            }
            p = r;
            if (r < to)
                break;
            if (r < part)
                continue;
        }
        if (!len)
            break;
        put_special(enc, id);
        p = q + len;
    }
    return p;
}

static void begin(struct tok_enc *enc)
{
    const struct tok *t = enc->t;
    int32_t bos = t->role[t->kind == KIND_WPM ? TOK_CLS : TOK_BOS];

    if (bos < 0)
        bos = t->role[TOK_BOS];
    if (!enc->begun && t->add_bos && !(enc->flags & TOK_NO_BOS) && bos >= 0) {
        ids_put(enc, (uint32_t)bos);
        enc->bos = (uint32_t)bos;
    }
    enc->begun = true;
}

/* What stands at the end of a text. */
static void end_text(struct tok_enc *enc)
{
    const struct tok *t = enc->t;
    int32_t eos = t->role[t->kind == KIND_WPM ? TOK_SEP : TOK_EOS];

    if (eos < 0)
        eos = t->role[TOK_EOS];
    if ((t->add_eos || enc->flags & TOK_ADD_EOS) &&
        !(enc->flags & TOK_NO_EOS) && eos >= 0)
        ids_put(enc, (uint32_t)eos);
}

static void finish(struct tok_enc *enc)
{
    end_text(enc);
    tok_begin(enc);
}

static int outcome(const struct tok_enc *enc, struct err *e)
{
    if (enc->nomem)
        return err_nomem(e);
    return 0;
}

static void prepare(struct tok_enc *enc, struct tok_ids *ids)
{
    enc->out = ids;
    enc->nomem = false;
    for (size_t i = 0; i < sizeof enc->work / sizeof *enc->work; i++)
        enc->work[i].bad = false;
}

int tok_feed(struct tok_enc *enc, struct tok_ids *ids, const void *p, size_t n,
             bool last, size_t *used, struct err *e)
{
    const unsigned char *s = p, *r;

    prepare(enc, ids);
    begin(enc);
    r = n ? encode_range(enc, s, s + n, s + n, last) : s;
    *used = (size_t)(r - s);
    if (last)
        finish(enc);
    return outcome(enc, e);
}

int tok_encode(struct tok_enc *enc, struct tok_ids *ids, const void *p,
               size_t n, struct err *e)
{
    size_t used;

    tok_begin(enc);
    return tok_feed(enc, ids, p, n, true, &used, e);
}

/* Between BOS and EOS. */
static int encode_inner(struct tok_enc *enc, struct tok_ids *ids, const void *p,
                        size_t n, struct err *e)
{
    unsigned flags = enc->flags;
    int rc;

    enc->flags |= TOK_NO_BOS | TOK_NO_EOS;
    rc = tok_encode(enc, ids, p, n, e);
    enc->flags = flags;
    return rc;
}

int tok_encode_pair(struct tok_enc *enc, struct tok_ids *ids, const void *a,
                    size_t na, const void *b, size_t nb, size_t *second,
                    struct err *e)
{
    /* BERT's texts end with SEP already. */
    int32_t sep = enc->t->kind == KIND_WPM ? -1 : enc->t->role[TOK_SEP];

    tok_begin(enc);
    prepare(enc, ids);
    begin(enc);
    if (outcome(enc, e) || encode_inner(enc, ids, a, na, e))
        return -1;
    end_text(enc);
    if (enc->t->add_sep && sep >= 0)
        ids_put(enc, (uint32_t)sep);
    *second = ids->n;
    if (outcome(enc, e) || encode_inner(enc, ids, b, nb, e))
        return -1;
    finish(enc);
    return outcome(enc, e);
}

int tok_encode_spans(struct tok_enc *enc, struct tok_ids *ids, const void *p,
                     const unsigned char *plain, size_t n, struct err *e)
{
    unsigned flags = enc->flags;
    int rc;

    enc->flags |= TOK_SPECIAL | (flags & TOK_ADD_EOS ? 0u : TOK_NO_EOS);
    enc->text = p;
    enc->plain = plain;
    rc = tok_encode(enc, ids, p, n, e);
    enc->text = enc->plain = NULL;
    enc->flags = flags;
    return rc;
}

/* ---- threads ---- */

enum { SHARE_MIN = 32 << 10, CUT_REACH = 4 << 10 };

struct share {
    struct tok_enc *enc;
    const unsigned char *from, *stop, *end, *reached;
    bool last;
};

static void do_share(void *arg, int job, int worker)
{
    struct share *s = (struct share *)arg + job;

    (void)worker;
    s->reached = encode_range(s->enc, s->from, s->stop, s->end, s->last);
}

/* Could a special token that begins before or at P touch P? */
static bool special_near(const struct tok *t, unsigned flags,
                         const unsigned char *begin_, const unsigned char *p,
                         const unsigned char *end)
{
    size_t back = t->special_max, len;
    const unsigned char *q = (size_t)(p - begin_) > back ? p - back : begin_;
    const unsigned char *to = (size_t)(end - p) > back ? p + back : end;
    uint32_t id;

    while (q <= p && q < to) {
        q = special_find(t, flags, NULL, q, to, true, &id, &len);
        if (len && q <= p && q + len >= p)
            return true;
        q++;
    }
    return false;
}

static const unsigned char *find_cut(const struct tok_enc *enc,
                                     const unsigned char *begin_,
                                     const unsigned char *p,
                                     const unsigned char *end)
{
    const unsigned char *to = end - p > CUT_REACH ? p + CUT_REACH : end;

    while ((p = methods[enc->t->kind].cut(enc->t, p, to)))
        if (!special_near(enc->t, enc->flags, begin_, p, end))
            return p;
    return NULL;
}

static int more_workers(struct tok_enc *enc, int n, struct err *e)
{
    struct tok_enc **w;

    if (enc->nworker >= n)
        return 0;
    w = realloc(enc->worker, (size_t)n * sizeof(struct tok_enc *));
    if (!w)
        return err_nomem(e);
    enc->worker = w;
    while (enc->nworker < n) {
        w[enc->nworker] = tok_enc_new(enc->t, enc->flags, e);
        if (!w[enc->nworker])
            return -1;
        enc->nworker++;
    }
    return 0;
}

/* Lay out up to N shares of the text; how many there are. */
static int lay_out(struct tok_enc *enc, struct share *s, int n,
                   const unsigned char *p, const unsigned char *end, bool last)
{
    size_t part = (size_t)(end - p) / (size_t)n;
    int k = 0;

    s[0] = (struct share){enc, p, end, end, p, last};
    for (int i = 1; i < n; i++) {
        const unsigned char *from = p + part * (size_t)i, *cut;

        if (from <= s[k].from)
            continue;
        cut = find_cut(enc, p, from, end);
        if (!cut)
            continue;
        s[k++].stop = cut;
        s[k] = (struct share){enc->worker[k - 1], cut, end, end, cut, last};
    }
    return k + 1;
}

int tok_feed_pool(struct tok_enc *enc, struct pool *pool, struct tok_ids *ids,
                  const void *p, size_t n, bool last, size_t *used,
                  struct err *e)
{
    const unsigned char *begin_ = p;
    struct share share[POOL_SHARES];
    int k = (int)(n / SHARE_MIN), size = pool ? pool_size(pool) : 1;
    size_t before = ids->n;
    bool ok = true;

    if (k > size)
        k = size;
    if (k > POOL_SHARES)
        k = POOL_SHARES;
    if (k < 2 || !methods[enc->t->kind].cut || enc->t->strip || enc->strip)
        return tok_feed(enc, ids, p, n, last, used, e);
    if (more_workers(enc, k - 1, e))
        return -1;
    prepare(enc, ids);
    begin(enc);
    before = ids->n;
    k = lay_out(enc, share, k, begin_, begin_ + n, last);
    for (int i = 1; i < k; i++) {
        struct tok_enc *w = share[i].enc;

        w->own.n = 0;
        w->replaced = 0;
        prepare(w, &w->own);
        w->begun = true;
        w->after_special = w->strip = false;
        w->bos = NO_ID;
    }
    pool_run(pool, do_share, share, k);
    for (int i = 0; i + 1 < k; i++)
        ok &= share[i].reached == share[i].stop;
    if (!ok) {
        /* A border that was none would be a fault in find_cut(); the text is
         * then encoded by one thread, which needs no borders. */
        ids->n = before;
        return tok_feed(enc, ids, p, n, last, used, e);
    }
    for (int i = 1; i < k; i++) {
        struct tok_enc *w = share[i].enc;
        uint32_t *to = ids_reserve(enc, w->own.n);

        if (to && w->own.n)
            memcpy(to, w->own.p, w->own.n * sizeof *to);
        ids->n += to ? w->own.n : 0;
        enc->nomem |= w->nomem;
        enc->replaced += w->replaced;
        enc->after_special = w->after_special;
        enc->strip = w->strip;
        enc->bos = NO_ID;
    }
    *used = (size_t)(share[k - 1].reached - begin_);
    if (last)
        finish(enc);
    return outcome(enc, e);
}
