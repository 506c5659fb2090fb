/* SPDX-License-Identifier: MIT
 * tokenizer_back_parts.c - what tokenizer.json does before and after its model.
 */
#include "convert/tokenizer_back.h"

static bool flag(const struct back *b, const char *key, bool def)
{
    gguf_get_bool(&def, b->g, key, NULL);
    return def;
}

static bool is_spm(const struct back *b)
{
    return !strcmp(b->model, "llama");
}

static bool prefix(const struct back *b)
{
    return flag(b, "tokenizer.ggml.add_space_prefix", true);
}

/* ---- normalizer ---- */

static json_t *replace(const char *from, const char *to)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                     "String", from, "content", to);
}

static void put_base64(struct buf *out, const unsigned char *p, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
        "uvwxyz0123456789+/";

    for (; n; p += n < 3 ? n : 3, n -= n < 3 ? n : 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
                     (n > 2 ? p[2] : 0);

        for (unsigned k = 0; k < 4; k++)
            buf_putc(out, k > n ? '=' : digits[v >> (18 - 6 * k) & 63]);
    }
}

static json_t *charsmap(const struct back *b)
{
    const struct gguf_val *v =
        gguf_key(b->g, "tokenizer.ggml.precompiled_charsmap");
    struct buf s = {0};
    json_t *j;

    if (!v || v->type != GGUF_ARR || !v->n)
        return json_null();
    put_base64(&s, v->p, v->bytes);
    j = json_pack("{s:s, s:s%}", "type", "Precompiled", "precompiled_charsmap",
                  s.p ? (char *)s.p : "", s.n);
    buf_free(&s);
    return j;
}

static json_t *bert_normalizer(const struct back *b)
{
    static const char accents[] = "tokenizer.ggml.normalizer.strip_accents";

    return json_pack(
        "{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text", 1,
        "handle_chinese_chars", 1, "strip_accents",
        gguf_key(b->g, accents) ? json_boolean(flag(b, accents, false))
                                : json_null(),
        "lowercase", flag(b, "tokenizer.ggml.normalizer.lowercase", true));
}

json_t *hf_back_normalizer(const struct back *b)
{
    if (!strcmp(b->model, "t5"))
        return charsmap(b);
    if (!strcmp(b->model, "bert"))
        return bert_normalizer(b);
    if (is_spm(b) && prefix(b))
        return json_pack("{s:s, s:[{s:s, s:s}, o]}", "type", "Sequence",
                         "normalizers", "type", "Prepend", "prepend", SPACE,
                         replace(" ", SPACE));
    if (is_spm(b) || b->pre.flags & PRETOK_ESCAPE)
        return replace(" ", SPACE);
    if (b->pre.flags & PRETOK_NFC)
        return json_pack("{s:s}", "type", "NFC");
    return json_null();
}

/* ---- pre_tokenizer, decoder ---- */

static json_t *metaspace(const struct back *b)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement",
                     SPACE, "prepend_scheme", prefix(b) ? "always" : "never",
                     "split", 1);
}

json_t *hf_back_pre_tokenizer(const struct back *b)
{
    if (!strcmp(b->model, "bert"))
        return json_pack("{s:s}", "type", "BertPreTokenizer");
    if (is_spm(b) || b->pre.flags & PRETOK_ESCAPE)
        return json_null();
    if (strcmp(b->model, "t5"))
        return hf_pre_json(b->pre.name);
    if (!flag(b, "tokenizer.ggml.remove_extra_whitespaces", true))
        return metaspace(b);
    return json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers",
                     "type", "WhitespaceSplit", metaspace(b));
}

json_t *hf_back_decoder(const struct back *b)
{
    json_t *list;

    if (!strcmp(b->model, "bert"))
        return json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", "##",
                         "cleanup", 0);
    if (!strcmp(b->model, "t5"))
        return metaspace(b);
    if (!is_spm(b) && !(b->pre.flags & PRETOK_RAW))
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
                         "add_prefix_space", 0, "trim_offsets", 1, "use_regex",
                         0);
    if (!is_spm(b) && !(b->pre.flags & PRETOK_ESCAPE))
        return json_pack("{s:s}", "type", "Fuse");
    list = json_pack("[o, {s:s}, {s:s}]", replace(SPACE, " "), "type",
                     "ByteFallback", "type", "Fuse");
    if (is_spm(b) && prefix(b))
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip",
                                        "content", " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", list);
}

/* ---- post_processor ---- */

static void put_special(json_t *list, const char *s, int type)
{
    json_array_append_new(list, json_pack("{s:{s:s, s:i}}", "SpecialToken",
                                          "id", s, "type_id", type));
}

static void put_sequence(json_t *list, const char *s, int type)
{
    json_array_append_new(list, json_pack("{s:{s:s, s:i}}", "Sequence", "id", s,
                                          "type_id", type));
}

/* "id" of a template is the token; NULL when it is no UTF-8. */
static const char *declare(json_t *tokens, const struct back *b, int32_t id)
{
    struct gguf_str s = tok_spelling(b->t, (uint32_t)id);
    json_t *text = json_stringn(s.p, s.n);
    const char *key;

    if (!text)
        return NULL;
    json_object_setn_new(tokens, s.p, s.n,
                         json_pack("{s:o, s:[i], s:[O]}", "id", text, "ids",
                                   (int)id, "tokens", text));
    key = json_string_value(hf_get(json_object_getn(tokens, s.p, s.n), "id"));
    return key;
}

json_t *hf_back_post(const struct back *b)
{
    bool bert = !strcmp(b->model, "bert");
    int32_t bos = tok_role(b->t, bert ? TOK_CLS : TOK_BOS),
            eos = tok_role(b->t, bert ? TOK_SEP : TOK_EOS);
    json_t *single = json_array(), *pair = json_array(),
           *tokens = json_object();
    const char *first = NULL, *last = NULL;
    int middle = tok_adds_sep(b->t) ? 2 : 1;

    if (bos < 0)
        bos = tok_role(b->t, TOK_BOS);
    if (eos < 0)
        eos = tok_role(b->t, TOK_EOS);
    if (tok_adds_bos(b->t) && bos >= 0)
        first = declare(tokens, b, bos);
    if (tok_adds_eos(b->t) && eos >= 0)
        last = declare(tokens, b, eos);
    if (!first && !last) {
        json_decref(single);
        json_decref(pair);
        json_decref(tokens);
        return json_null();
    }
    if (first) {
        put_special(single, first, 0);
        put_special(pair, first, 0);
    }
    put_sequence(single, "A", 0);
    put_sequence(pair, "A", 0);
    for (int i = 0; last && i < middle; i++)
        put_special(pair, last, 0);
    put_sequence(pair, "B", bert);
    if (last) {
        put_special(single, last, 0);
        put_special(pair, last, bert);
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing",
                     "single", single, "pair", pair, "special_tokens", tokens);
}
