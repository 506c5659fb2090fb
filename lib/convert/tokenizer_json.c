/* SPDX-License-Identifier: MIT
 * tokenizer_json.c - the model of tokenizer.json, with what it does before.
 *
 * BPE over the byte-level alphabet becomes "gpt2", its pre-tokenizer known by
 * its form; BPE over characters with bytes for the rest becomes "llama" when
 * its merges are those of scores, else BPE of characters; Unigram becomes "t5"
 * and WordPiece "bert". */
#include <stdlib.h>

#include "convert/tokenizer_impl.h"

static const json_t *model_of(const struct hf *h)
{
    return hf_get(h->tokenizer, "model");
}

/* The model's type; older files do not say it. */
static const char *type_of(const json_t *model)
{
    const char *type = hf_str(model, "type");

    if (type)
        return type;
    if (json_is_array(hf_get(model, "vocab")))
        return "Unigram";
    if (hf_get(model, "merges"))
        return "BPE";
    return hf_get(model, "max_input_chars_per_word") ? "WordPiece" : "";
}

/* A member that must be absent, null, "" or 0. */
static int must_be_empty(const json_t *model, const char *key, struct err *e)
{
    const json_t *v = hf_get(model, key);
    char show[80];

    if (!v || (json_is_string(v) && !json_string_length(v)) ||
        (json_is_number(v) && json_number_value(v) == 0))
        return 0;
    return err_set(e, ERR_UNSUPPORTED, "model.%s: %s", key,
                   hf_show(show, sizeof show, v));
}

/* ---- vocabularies ---- */

static bool is_byte(const char *p, size_t n)
{
    return n == 6 && !memcmp(p, "<0x", 3) && p[5] == '>' &&
           strspn(p + 3, "0123456789ABCDEF") == 2;
}

/* Ids that no embedding says the number of may not be far beyond it. */
static void set_limit(struct hf *h, size_t tokens)
{
    if (h->want->n_vocab > 0)
        h->voc.limit = (uint32_t)h->want->n_vocab;
    else
        h->voc.limit =
            tokens < (1u << 28) ? (uint32_t)tokens * 4 + 65536 : UINT32_MAX / 2;
}

static int put(struct hf *h, int64_t id, const char *p, size_t n,
               enum tok_type type, float score, struct err *e)
{
    if (voc_put(&h->voc, id, p, n, type, score, e))
        return err_prefix(e, "model.vocab");
    h->voc.t[id].in_model = 1;
    return 0;
}

static int vocab_object(struct hf *h, const json_t *vocab, bool bytes,
                        struct err *e)
{
    json_t *v = (json_t *)(uintptr_t)vocab, *id;
    const char *key;
    size_t n;

    if (!json_is_object(vocab) || !json_object_size(vocab))
        return err_set(e, ERR_FORMAT, "model.vocab: no object with tokens");
    set_limit(h, json_object_size(vocab));
    json_object_keylen_foreach(v, key, n, id)
    {
        if (!json_is_integer(id))
            return err_set(e, ERR_FORMAT, "model.vocab: '%.80s': no id", key);
        if (put(h, json_integer_value(id), key, n,
                bytes && is_byte(key, n) ? TOK_BYTE : TOK_NORMAL, 0, e))
            return -1;
    }
    return 0;
}

static int vocab_list(struct hf *h, const json_t *vocab, bool bytes,
                      struct err *e)
{
    size_t i;
    json_t *pair;

    if (!json_is_array(vocab) || !json_array_size(vocab))
        return err_set(e, ERR_FORMAT, "model.vocab: no array with tokens");
    set_limit(h, json_array_size(vocab));
    json_array_foreach(vocab, i, pair)
    {
        const json_t *s = json_array_get(pair, 0), *x = json_array_get(pair, 1);

        if (json_array_size(pair) != 2 || !json_is_string(s) ||
            !json_is_number(x))
            return err_set(e, ERR_FORMAT,
                           "model.vocab[%zu]: no token with a score", i);
        if (put(h, (int64_t)i, json_string_value(s), json_string_length(s),
                bytes && is_byte(json_string_value(s), json_string_length(s))
                    ? TOK_BYTE
                    : TOK_NORMAL,
                (float)json_number_value(x), e))
            return -1;
    }
    return 0;
}

/* model.unk_token is the unknown one unless tokenizer_config.json speaks of it
 * (with null: there is none). */
static int set_unknown(struct hf *h, const json_t *model, bool needed,
                       struct err *e)
{
    const char *s = hf_str(model, "unk_token");
    int64_t id = s ? voc_find(&h->voc, s, strlen(s)) : -1;

    if (s && id < 0 && needed)
        return err_set(e, ERR_FORMAT, "model.unk_token: '%.80s' is no token",
                       s);
    if (needed && !s)
        return err_set(e, ERR_FORMAT, "model.unk_token: there is none");
    if (id >= 0 && (needed || (!json_object_get(h->config, "unk_token") &&
                               !json_object_get(h->special, "unk_token"))))
        h->role[HF_UNK] = id;
    return 0;
}

/* ---- BPE ---- */

static const char *hint(const struct hf *h)
{
    return hf_str(hf_get(h->config, "gguf"), "pre");
}

/* Does an added token like <mask> take the white space before it? */
static bool mask_strips(const struct hf *h)
{
    size_t i;
    json_t *t;

    json_array_foreach(hf_get(h->tokenizer, "added_tokens"), i, t)
    {
        const char *s = hf_str(t, "content");

        if (s && (!strcmp(s, "<mask>") || !strcmp(s, "[MASK]")) &&
            hf_bool(t, "lstrip", false))
            return true;
    }
    return false;
}

static int unknown_form(const struct buf *form, struct err *e)
{
    /* The steps are told in the error, so that it can be seen what is new. */
    return err_set(e, ERR_UNSUPPORTED,
                   "pre_tokenizer: splits in a way that no known name of "
                   "tokenizer.ggml.pre stands for: %.*s",
                   (int)(form->n < 380 ? form->n : 380), (char *)form->p);
}

/* The name for FORM.  Where only ignore_merges is in the way, it may be that it
 * changes nothing. */
static int choose_pre(struct hf *h, const struct buf *form, unsigned kind,
                      struct err *e)
{
    unsigned flags = kind, mask = PRETOK_RAW | PRETOK_ESCAPE | PRETOK_RANKS |
                                  PRETOK_FORCE_BOS | PRETOK_IGNORE_MERGES |
                                  PRETOK_MASK_LSTRIP;
    const char *name;
    bool known;

    if (hf_bool(model_of(h), "ignore_merges", false))
        flags |= PRETOK_IGNORE_MERGES;
    if (mask_strips(h))
        flags |= PRETOK_MASK_LSTRIP;
    name = hf_pre_name(form, flags, mask, h->want->arch, hint(h), &known);
    if (!known)
        return unknown_form(form, e);
    if (!name) {
        /* What <mask> does to the space before it plays no part for models
         * that write; the notes say it. */
        mask &= ~(unsigned)PRETOK_MASK_LSTRIP;
        name = hf_pre_name(form, flags, mask, h->want->arch, hint(h), &known);
    }
    if (!name) {
        int closed = hf_bpe_closed(h, e);

        if (closed < 0)
            return -1;
        mask &= ~(unsigned)PRETOK_IGNORE_MERGES;
        if (closed)
            name =
                hf_pre_name(form, flags, mask, h->want->arch, hint(h), &known);
    }
    if (!name)
        return err_set(e, ERR_UNSUPPORTED,
                       "model.ignore_merges: no name of tokenizer.ggml.pre "
                       "stands for this splitting with it %s",
                       flags & PRETOK_IGNORE_MERGES ? "true" : "false");
    snprintf(h->pre, sizeof h->pre, "%s", name);
    return 0;
}

static int byte_level(struct hf *h, const struct hf_pre *p, struct err *e)
{
    struct hf_norm norm;

    h->model = "gpt2";
    if (hf_normalizer(&norm, h->tokenizer, NORM_NFC, e))
        return -1;
    if (norm.seen & NORM_NFC)
        hf_note(h, "normalizer: text is not brought into the form NFC");
    return choose_pre(h, &p->form, 0, e);
}

/* BPE of characters, spaces as U+2581, bytes for what has no token. */
static int character_level(struct hf *h, const struct hf_pre *p, struct err *e)
{
    struct hf_norm norm;
    bool prefix, gemma4 = !strcmp(h->want->arch, "gemma4");
    int rc;

    if (hf_normalizer(&norm, h->tokenizer, NORM_PREPEND | NORM_SPACE | NORM_NFC,
                      e))
        return -1;
    if (p->seen & ~(unsigned)(PRE_META | PRE_PREFIX | PRE_FIRST | PRE_SPACE))
        return unknown_form(&p->form, e);
    if (!(norm.seen & NORM_SPACE) && !(p->seen & PRE_META))
        return err_set(e, ERR_UNSUPPORTED,
                       "normalizer: byte_fallback without U+2581 for spaces");
    if (norm.seen & NORM_NFC)
        hf_note(h, "normalizer: text is not brought into the form NFC");
    if (p->seen & PRE_FIRST && p->seen & PRE_PREFIX)
        hf_note(h, "pre_tokenizer: text after a special token begins with a "
                   "space as that of the beginning does");
    prefix = norm.seen & NORM_PREPEND || p->seen & PRE_PREFIX;
    rc = gemma4 ? 0 : hf_bpe_scores(h, e);
    if (rc < 0)
        return -1;
    h->scores = true;
    if (rc) {
        h->model = "llama";
        snprintf(h->pre, sizeof h->pre, "default");
        h->merges.n = h->nmerge = 0;
        h->space_prefix = prefix ? -1 : 0;
        return 0;
    }
    if (prefix || hf_bpe_mixes_newlines(h))
        return err_set(e, ERR_UNSUPPORTED,
                       "model.merges: no scores stand for their order");
    h->space_prefix = 0;
    for (uint32_t i = 0; i < h->voc.n; i++)
        h->voc.t[i].score = -1000;
    h->model = gemma4 ? "gemma4" : "gpt2";
    snprintf(h->pre, sizeof h->pre, gemma4 ? "" : "sarvam-moe");
    h->scores = gemma4;
    return 0;
}

static int read_bpe(struct hf *h, const json_t *model, struct err *e)
{
    struct hf_pre pre = {0};
    bool fallback = hf_bool(model, "byte_fallback", false);
    int rc;

    if (must_be_empty(model, "continuing_subword_prefix", e) ||
        must_be_empty(model, "end_of_word_suffix", e) ||
        hf_pre_tokenizer(&pre, h->tokenizer, e)) {
        buf_free(&pre.form);
        return -1;
    }
    fallback &= !(pre.seen & PRE_BYTES);
    rc = vocab_object(h, hf_get(model, "vocab"), fallback, e);
    if (!rc)
        rc = set_unknown(h, model, false, e);
    if (!rc && fallback && hf_str(model, "unk_token")) {
        const char *s = hf_str(model, "unk_token");
        int64_t id = voc_find(&h->voc, s, strlen(s));

        if (id >= 0)
            h->voc.t[id].type = TOK_UNKNOWN;
    }
    if (!rc)
        rc = hf_added_tokens(h, e);
    if (!rc)
        rc = hf_bpe_merges(h, hf_get(model, "merges"), e);
    if (!rc && pre.seen & PRE_BYTES) {
        rc = byte_level(h, &pre, e);
    } else if (!rc && fallback) {
        rc = character_level(h, &pre, e);
    } else if (!rc) {
        struct hf_norm norm;

        h->model = "gpt2";
        rc = hf_normalizer(&norm, h->tokenizer, 0, e);
        if (!rc)
            rc = choose_pre(h, &pre.form, PRETOK_RAW, e);
    }
    buf_free(&pre.form);
    return rc;
}

/* ---- Unigram ---- */

static int base64(struct buf *out, const char *p, size_t n, struct err *e)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
        "uvwxyz0123456789+/";
    uint32_t bits = 0;
    int have = 0;

    while (n && p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        const char *d = p[i] ? strchr(digits, p[i]) : NULL;

        if (!d)
            return err_set(e, ERR_FORMAT,
                           "normalizer.precompiled_charsmap: not base64");
        bits = bits << 6 | (uint32_t)(d - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_putc(out, (int)(bits >> have & 255));
        }
    }
    return buf_ok(out, e);
}

static int read_unigram(struct hf *h, const json_t *model, struct err *e)
{
    bool bytes = hf_bool(model, "byte_fallback", false);
    const json_t *unk = hf_get(model, "unk_id");
    struct hf_norm norm;
    struct hf_pre pre = {0};
    int rc = hf_pre_tokenizer(&pre, h->tokenizer, e);

    buf_free(&pre.form);
    if (rc || hf_normalizer(&norm, h->tokenizer,
                            NORM_CHARSMAP | NORM_SHRINK | NORM_STRIP |
                                NORM_PREPEND | NORM_SPACE,
                            e))
        return -1;
    if (!(pre.seen & PRE_META) && !(norm.seen & NORM_SPACE))
        return err_set(e, ERR_UNSUPPORTED,
                       "pre_tokenizer: Unigram without Metaspace");
    if (pre.seen & ~(unsigned)(PRE_META | PRE_PREFIX | PRE_FIRST | PRE_WSPLIT))
        return err_set(e, ERR_UNSUPPORTED,
                       "pre_tokenizer: Unigram with more than Metaspace");
    if (norm.charsmap && base64(&h->charsmap, json_string_value(norm.charsmap),
                                json_string_length(norm.charsmap), e))
        return -1;
    if (vocab_list(h, hf_get(model, "vocab"), bytes, e))
        return -1;
    if (!json_is_integer(unk) || json_integer_value(unk) < 0 ||
        json_integer_value(unk) >= h->voc.n)
        return err_set(e, ERR_FORMAT, "model.unk_id: no token");
    h->role[HF_UNK] = json_integer_value(unk);
    h->model = "t5";
    snprintf(h->pre, sizeof h->pre, "default");
    h->scores = true;
    h->pad_score = -10000;
    h->space_prefix = pre.seen & PRE_PREFIX || norm.seen & NORM_PREPEND;
    h->shrink = pre.seen & PRE_WSPLIT || norm.seen & NORM_SHRINK;
    if (hf_added_tokens(h, e))
        return -1;
    /* Even where it is listed as a special one. */
    h->voc.t[h->role[HF_UNK]].type = TOK_UNKNOWN;
    return 0;
}

/* ---- WordPiece ---- */

static int read_wordpiece(struct hf *h, const json_t *model, struct err *e)
{
    const char *prefix = hf_str(model, "continuing_subword_prefix");
    const json_t *max = hf_get(model, "max_input_chars_per_word");
    struct hf_norm norm;
    struct hf_pre pre = {0};
    int rc = hf_pre_tokenizer(&pre, h->tokenizer, e);

    buf_free(&pre.form);
    if (rc || hf_normalizer(&norm, h->tokenizer,
                            NORM_BERT | NORM_LOWER | NORM_ACCENTS, e))
        return -1;
    if (pre.seen != PRE_BERT)
        return err_set(e, ERR_UNSUPPORTED,
                       "pre_tokenizer: WordPiece without BertPreTokenizer");
    if (prefix && strcmp(prefix, "##"))
        return err_set(e, ERR_UNSUPPORTED,
                       "model.continuing_subword_prefix: '%.40s'", prefix);
    if (max && json_integer_value(max) != 100)
        hf_note(h, "model.max_input_chars_per_word: words of up to 100 "
                   "characters are taken apart");
    if (!norm.bert)
        hf_note(h, "normalizer: control characters go and Chinese ones stand "
                   "alone, as in BERT");
    if (!hf_bool(norm.bert, "clean_text", true) ||
        !hf_bool(norm.bert, "handle_chinese_chars", true))
        return err_set(e, ERR_UNSUPPORTED,
                       "normalizer: BertNormalizer without clean_text or "
                       "handle_chinese_chars");
    if (vocab_object(h, hf_get(model, "vocab"), false, e) ||
        set_unknown(h, model, true, e))
        return -1;
    h->model = "bert";
    snprintf(h->pre, sizeof h->pre, "default");
    h->lowercase = norm.bert ? hf_bool(norm.bert, "lowercase", true)
                             : !!(norm.seen & NORM_LOWER);
    if (norm.bert && hf_get(norm.bert, "strip_accents"))
        h->accents = hf_bool(norm.bert, "strip_accents", false);
    else if (!norm.bert && !h->lowercase != !(norm.seen & NORM_ACCENTS))
        h->accents = !!(norm.seen & NORM_ACCENTS);
    return hf_added_tokens(h, e);
}

/* ---- all of it ---- */

bool hf_prefers_spm(const struct hf *h)
{
    const json_t *model = model_of(h);

    /* Only BPE with bytes is said better by the scores; the ids of Unigram are
     * not always those of the SentencePiece model. */
    return !h->tokenizer || (!strcmp(type_of(model), "BPE") &&
                             hf_bool(model, "byte_fallback", false) &&
                             strcmp(h->want->arch, "gemma4"));
}

int hf_read_json(struct hf *h, struct err *e)
{
    static const struct {
        const char *type;
        int (*read)(struct hf *h, const json_t *model, struct err *e);
    } kinds[] = {
        {"BPE", read_bpe},
        {"Unigram", read_unigram},
        {"WordPiece", read_wordpiece},
    };
    const json_t *model = model_of(h);
    const char *type;

    if (!json_is_object(model))
        return err_set(e, ERR_FORMAT, "no member model");
    type = type_of(model);
    if (hf_get(model, "dropout") && must_be_empty(model, "dropout", e))
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(type, kinds[i].type))
            return kinds[i].read(h, model, e);
    return err_set(e, ERR_UNSUPPORTED, "model.type: '%.40s'", type);
}
