/* SPDX-License-Identifier: MIT
 * tokenizer_back_model.c - the model of tokenizer.json, and tokenizer.model. */
#include <stdlib.h>

#include "convert/tokenizer_back.h"

/* ---- vocabularies ---- */

static json_t *text(const struct back *b, uint32_t id, struct buf *work,
                    struct err *e)
{
    json_t *s;

    work->n = 0;
    hf_back_spell(work, b, id);
    s = work->bad ? NULL : json_stringn((char *)work->p, work->n);
    if (!s)
        err_set(e, ERR_UNSUPPORTED, "token %u: no UTF-8", id);
    return s;
}

/* {"token": id}; of tokens spelled alike the first one counts. */
static json_t *vocab_object(const struct back *b, struct err *e)
{
    json_t *vocab = json_object();
    struct buf work = {0};

    for (uint32_t id = 0; vocab && id < b->n; id++) {
        json_t *s;
        int rc = 0;

        if (hf_back_is_hole(b, id))
            continue;
        s = text(b, id, &work, e);
        if (s && !json_object_getn(vocab, json_string_value(s),
                                   json_string_length(s)))
            rc = json_object_setn_new(vocab, json_string_value(s),
                                      json_string_length(s), json_integer(id));
        json_decref(s);
        if (!s || rc) {
            json_decref(vocab);
            vocab = NULL;
        }
    }
    buf_free(&work);
    if (!vocab)
        err_nomem(e);
    return vocab;
}

static float score_at(const struct back *b, uint32_t id)
{
    const struct gguf_val *v = gguf_key(b->g, "tokenizer.ggml.scores");
    double d = 0;

    if (v)
        gguf_elem_float(&d, v, id);
    return (float)d;
}

/* [["token", score]] */
static json_t *vocab_list(const struct back *b, struct err *e)
{
    json_t *vocab = json_array();
    struct buf work = {0};

    for (uint32_t id = 0; vocab && id < b->n; id++) {
        json_t *s = text(b, id, &work, e);

        if (!s || json_array_append_new(
                      vocab, json_pack("[o, f]", s, (double)score_at(b, id)))) {
            json_decref(vocab);
            vocab = NULL;
        }
    }
    buf_free(&work);
    if (!vocab)
        err_nomem(e);
    return vocab;
}

/* ---- merges ---- */

static json_t *own_merges(const struct back *b, struct err *e)
{
    const struct gguf_val *v = gguf_key(b->g, "tokenizer.ggml.merges");
    const unsigned char *p;
    json_t *list;

    if (!v) {
        err_set(e, ERR_UNSUPPORTED, "no key tokenizer.ggml.merges");
        return NULL;
    }
    list = json_array();
    p = v->p;
    for (uint64_t i = 0; list && i < v->n; i++) {
        struct gguf_str s = gguf_str_next(&p);
        const char *space = s.n > 2 ? memchr(s.p + 1, ' ', s.n - 2) : NULL;
        size_t n = space ? (size_t)(space - s.p) : 0;

        if (!space ||
            json_array_append_new(
                list, json_pack("[s%, s%]", s.p, n, space + 1, s.n - n - 1))) {
            json_decref(list);
            err_set(e, ERR_UNSUPPORTED, "tokenizer.ggml.merges: number %llu",
                    (unsigned long long)i);
            return NULL;
        }
    }
    if (!list)
        err_nomem(e);
    return list;
}

/* A way to make a token of two. */
struct split {
    float score; /* the token's */
    uint32_t id, a, b;
};

static int better(const void *x, const void *y)
{
    const struct split *p = x, *q = y;

    if (p->score != q->score)
        return p->score > q->score ? -1 : 1;
    if (p->id != q->id)
        return p->id < q->id ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* Tokens that merging may make: the id, or -1. */
static int64_t mergeable(const struct back *b, const json_t *vocab,
                         const char *p, size_t n)
{
    const json_t *j = json_object_getn(vocab, p, n);
    enum tok_type type;

    if (!j)
        return -1;
    type = tok_type(b->t, (uint32_t)json_integer_value(j));
    return type == TOK_NORMAL || type == TOK_USER_DEFINED || type == TOK_UNUSED
               ? json_integer_value(j)
               : -1;
}

static void add_splits(struct buf *out, const struct back *b,
                       const json_t *vocab, uint32_t id)
{
    struct gguf_str s = tok_spelling(b->t, id);

    for (size_t k = 1; k < s.n; k++) {
        int64_t left, right;
        struct split *to;

        if (((unsigned char)s.p[k] & 0xc0) == 0x80)
            continue;
        left = mergeable(b, vocab, s.p, k);
        right = left < 0 ? -1 : mergeable(b, vocab, s.p + k, s.n - k);
        to = right < 0 ? NULL : buf_add(out, sizeof *to);
        if (to)
            *to = (struct split){score_at(b, id), id, (uint32_t)left,
                                 (uint32_t)right};
    }
}

/* Merging by score as merges in their order. */
static json_t *score_merges(const struct back *b, const json_t *vocab,
                            struct err *e)
{
    struct buf all = {0};
    struct split *s;
    json_t *list = json_array();

    for (uint32_t id = 0; id < b->n; id++) {
        struct gguf_str t = tok_spelling(b->t, id);

        /* Nobody's tokens are longer; the time is their length squared. */
        if (t.n <= 1024 && mergeable(b, vocab, t.p, t.n) == id)
            add_splits(&all, b, vocab, id);
    }
    s = (struct split *)(void *)all.p;
    if (all.n)
        qsort(s, all.n / sizeof *s, sizeof *s, better);
    for (size_t i = 0; list && i < all.n / sizeof *s; i++) {
        struct gguf_str l = tok_spelling(b->t, s[i].a),
                        r = tok_spelling(b->t, s[i].b);

        if (json_array_append_new(list,
                                  json_pack("[s%, s%]", l.p, l.n, r.p, r.n))) {
            json_decref(list);
            list = NULL;
        }
    }
    if (!list || all.bad) {
        json_decref(list);
        list = NULL;
        err_nomem(e);
    }
    buf_free(&all);
    return list;
}

/* ---- models ---- */

static json_t *unknown_text(const struct back *b)
{
    struct gguf_str s;

    if (b->unknown < 0)
        return json_null();
    s = tok_spelling(b->t, (uint32_t)b->unknown);
    return json_stringn(s.p, s.n);
}

static json_t *bpe(struct back *b, struct err *e)
{
    bool spm = !strcmp(b->model, "llama"),
         characters = spm || b->pre.flags & PRETOK_ESCAPE;
    json_t *vocab = vocab_object(b, e), *merges, *j;

    if (!vocab)
        return NULL;
    merges = spm ? score_merges(b, vocab, e) : own_merges(b, e);
    if (!merges) {
        json_decref(vocab);
        return NULL;
    }
    j = json_pack("{s:s, s:n, s:o, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type",
                  "BPE", "dropout", "unk_token",
                  characters || b->pre.flags & PRETOK_RAW ? unknown_text(b)
                                                          : json_null(),
                  "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                  characters, "byte_fallback", characters, "ignore_merges",
                  !!(b->pre.flags & PRETOK_IGNORE_MERGES), "vocab", vocab,
                  "merges", merges);
    if (!j)
        err_nomem(e);
    return j;
}

static json_t *unigram(struct back *b, struct err *e)
{
    json_t *vocab = vocab_list(b, e), *j;
    bool bytes = false;

    for (uint32_t id = 0; id < b->n; id++)
        bytes |= tok_type(b->t, id) == TOK_BYTE;
    if (!vocab)
        return NULL;
    j = json_pack("{s:s, s:I, s:o, s:b}", "type", "Unigram", "unk_id",
                  (json_int_t)b->unknown, "vocab", vocab, "byte_fallback",
                  bytes);
    if (!j)
        err_nomem(e);
    return j;
}

static json_t *wordpiece(struct back *b, struct err *e)
{
    json_t *vocab = vocab_object(b, e), *j;

    if (!vocab)
        return NULL;
    j = json_pack("{s:s, s:o, s:s, s:i, s:o}", "type", "WordPiece", "unk_token",
                  unknown_text(b), "continuing_subword_prefix", "##",
                  "max_input_chars_per_word", 100, "vocab", vocab);
    if (!j)
        err_nomem(e);
    return j;
}

json_t *hf_back_model(struct back *b, struct err *e)
{
    if (!strcmp(b->model, "t5"))
        return unigram(b, e);
    if (!strcmp(b->model, "bert"))
        return wordpiece(b, e);
    return bpe(b, e);
}

/* ---- tokenizer.model ---- */

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_putc(b, (int)(v & 127) | 128);
    buf_putc(b, (int)v);
}

static void put_number(struct buf *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    buf_put(b, p, n);
}

static void put_piece(struct buf *out, const struct back *b, uint32_t id,
                      struct buf *work)
{
    struct gguf_str s = tok_spelling(b->t, id);
    enum tok_type type = tok_type(b->t, id);
    float f = score_at(b, id);
    unsigned char bytes[4];
    uint32_t u;

    /* There may be but one unknown piece. */
    if (hf_back_is_hole(b, id) || (type == TOK_UNKNOWN && id != b->unknown))
        type = TOK_UNUSED;
    if (id == b->unknown)
        type = TOK_UNKNOWN;
    memcpy(&u, &f, 4);
    wr_u32(bytes, u);
    work->n = 0;
    put_bytes(work, 1, s.p, s.n);
    put_varint(work, 2 << 3 | 5);
    buf_put(work, bytes, 4);
    if (type != TOK_NORMAL)
        put_number(work, 3, type);
    put_bytes(out, 1, work->p, work->n);
    out->bad |= work->bad;
}

static void put_role(struct buf *work, unsigned field, const struct back *b,
                     enum tok_role role)
{
    /* -1 as a 64-bit two's complement: there is none. */
    put_number(work, field, (uint64_t)(int64_t)tok_role(b->t, role));
}

void hf_back_spm(struct buf *out, const struct back *b)
{
    bool prefix = true;
    struct buf work = {0};

    gguf_get_bool(&prefix, b->g, "tokenizer.ggml.add_space_prefix", NULL);
    for (uint32_t id = 0; id < b->n; id++)
        put_piece(out, b, id, &work);
    work.n = 0;
    put_number(&work, 3, 2); /* model_type: BPE */
    put_number(&work, 4, b->n);
    put_number(&work, 35, 1); /* byte_fallback */
    put_number(&work, 40, (uint64_t)b->unknown);
    put_role(&work, 41, b, TOK_BOS);
    put_role(&work, 42, b, TOK_EOS);
    put_role(&work, 43, b, TOK_PAD);
    put_bytes(out, 2, work.p, work.n);
    work.n = 0;
    put_bytes(&work, 1, "identity", 8);
    put_number(&work, 3, prefix);
    put_number(&work, 4, 0);
    put_number(&work, 5, 1);
    put_bytes(out, 3, work.p, work.n);
    out->bad |= work.bad;
    buf_free(&work);
}
