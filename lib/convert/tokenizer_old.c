/* SPDX-License-Identifier: MIT
 * tokenizer_old.c - the forms before tokenizer.json, as one.
 *
 * vocab.json and merges.txt do not say how text is split; the class that
 * tokenizer_config.json names does, being defined by it.  vocab.txt is a
 * WordPiece vocabulary, a token a line. */
#include <stdlib.h>

#include "convert/tokenizer_impl.h"

/* The splitting of the classes that read vocab.json. */
static const struct {
    const char *class, *pre;
    bool nfc;
} classes[] = {
    {"GPT2Tokenizer", "gpt-2", false},
    {"GPT2TokenizerFast", "gpt-2", false},
    {"CodeGenTokenizer", "gpt-2", false},
    {"CodeGenTokenizerFast", "gpt-2", false},
    {"Qwen2Tokenizer", "qwen2", true},
    {"Qwen2TokenizerFast", "qwen2", true},
};

/* A file's lines, each without its end; NUL is no part of a token. */
static bool next_line(struct gguf_str *line, struct gguf_str *rest)
{
    const char *end;

    if (!rest->n)
        return false;
    end = memchr(rest->p, '\n', rest->n);
    line->p = rest->p;
    line->n = end ? (size_t)(end - rest->p) : rest->n;
    rest->n -= line->n + !!end;
    rest->p += line->n + !!end;
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

static json_t *merges_txt(struct gguf_str text)
{
    json_t *list = json_array();
    struct gguf_str line;
    bool first = true;

    for (; list && next_line(&line, &text); first = false) {
        json_t *s;

        if (!line.n || (first && line.p[0] == '#' && line.n > 8 &&
                        !memcmp(line.p, "#version", 8)))
            continue;
        s = json_stringn(line.p, line.n);
        if (json_array_append_new(list, s)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int read_bpe(struct hf *h, struct err *e)
{
    const char *class = hf_str(h->config, "tokenizer_class");
    json_t *vocab = NULL, *merges;
    struct map m = {0};
    size_t i = 0;
    int rc = hf_json(&vocab, h, "vocab.json", e);

    if (rc)
        return -1;
    h->source = "vocab.json";
    while (i < sizeof classes / sizeof *classes &&
           (!class || strcmp(class, classes[i].class)))
        i++;
    if (i == sizeof classes / sizeof *classes) {
        json_decref(vocab);
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/tokenizer_config.json: tokenizer_class '%.60s': how "
                       "it splits text is not known without tokenizer.json",
                       h->dir, class ? class : "");
    }
    rc = hf_map(&m, h, "merges.txt", e);
    if (rc <= 0) {
        json_decref(vocab);
        return rc ? -1
                  : err_set(e, ERR_FORMAT, "%s: vocab.json without merges.txt",
                            h->dir);
    }
    merges = merges_txt((struct gguf_str){(const char *)m.p, m.n});
    map_close(&m);
    if (!merges) {
        json_decref(vocab);
        return err_set(e, ERR_FORMAT, "%s/merges.txt: no UTF-8", h->dir);
    }
    h->tokenizer =
        json_pack("{s:{s:s, s:o, s:o}, s:o, s:o*}", "model", "type", "BPE",
                  "vocab", vocab, "merges", merges, "pre_tokenizer",
                  hf_pre_json(classes[i].pre), "normalizer",
                  classes[i].nfc ? json_pack("{s:s}", "type", "NFC") : NULL);
    return h->tokenizer ? 0 : err_nomem(e);
}

static int vocab_txt(json_t *vocab, const struct hf *h, struct gguf_str text,
                     struct err *e)
{
    struct gguf_str line;
    int64_t id = 0;

    while (next_line(&line, &text)) {
        if (json_object_getn(vocab, line.p, line.n))
            return err_set(e, ERR_FORMAT, "%s/vocab.txt:%lld: a token again",
                           h->dir, (long long)id + 1);
        if (json_object_setn_new(vocab, line.p, line.n, json_integer(id)))
            return err_set(e, ERR_FORMAT, "%s/vocab.txt:%lld: no UTF-8", h->dir,
                           (long long)id + 1);
        id++;
    }
    return 0;
}

static int read_wordpiece(struct hf *h, struct map *m, struct err *e)
{
    json_t *vocab = json_object(), *accents;

    if (!vocab)
        return err_nomem(e);
    if (vocab_txt(vocab, h, (struct gguf_str){(const char *)m->p, m->n}, e)) {
        json_decref(vocab);
        return -1;
    }
    accents = hf_get(h->config, "strip_accents");
    h->source = "vocab.txt";
    h->tokenizer = json_pack(
        "{s:{s:s, s:o, s:s, s:s}, s:{s:s, s:b, s:b, s:O?}, s:{s:s}}", "model",
        "type", "WordPiece", "vocab", vocab, "unk_token", "[UNK]",
        "continuing_subword_prefix", "##", "normalizer", "type",
        "BertNormalizer", "handle_chinese_chars",
        hf_bool(h->config, "tokenize_chinese_chars", true), "lowercase",
        hf_bool(h->config, "do_lower_case", true), "strip_accents", accents,
        "pre_tokenizer", "type", "BertPreTokenizer");
    return h->tokenizer ? 0 : err_nomem(e);
}

int hf_older(struct hf *h, struct err *e)
{
    struct map m = {0};
    int rc = hf_map(&m, h, "vocab.json", e);

    map_close(&m);
    if (rc)
        return rc < 0 ? -1 : read_bpe(h, e);
    rc = hf_map(&m, h, "vocab.txt", e);
    if (rc > 0)
        rc = read_wordpiece(h, &m, e);
    else if (!rc)
        rc = err_set(e, ERR_FORMAT,
                     "%s: no tokenizer.json, tokenizer.model, vocab.json or "
                     "vocab.txt",
                     h->dir);
    map_close(&m);
    return rc;
}
