/* SPDX-License-Identifier: MIT
 * tok.c - each kind of vocabulary on a few texts, and every splitting rule
 * against the ids that Hugging Face's tokenizers gave (tests/data/tok_hf.json)
 * for the vocabulary made here. */
#include <jansson.h>

#include "tests/unit/tap.h"
#include "tests/unit/tok_make.h"

static struct buf file;
static struct gguf *g;
static struct tok *t;

static int open_made(const char *kind, const char *pre)
{
    struct err e = {0};

    file.n = 0;
    if (!make_vocab(&file, kind, pre) &&
        !gguf_open_memory(&g, kind, &(struct gguf_str){(char *)file.p, file.n},
                          1, &e) &&
        !tok_open(&t, g, NULL, &e))
        return 0;
    ok(0, "%s %s: %s", kind, pre ? pre : "", e.msg);
    return -1;
}

static void close_made(void)
{
    tok_close(t);
    gguf_close(g);
}

/* The spellings of the tokens of TEXT, a '|' before each; of a pair where there
 * is a SECOND text, whose first has a '/'. */
static void gives_pair(const char *text, const char *second, unsigned flags,
                       const char *want)
{
    struct tok_enc *enc = tok_enc_new(t, flags, NULL);
    struct tok_ids ids = {0};
    struct buf b = {0};
    size_t at = SIZE_MAX;

    if (second)
        tok_encode_pair(enc, &ids, text, strlen(text), second, strlen(second),
                        &at, NULL);
    else
        tok_encode(enc, &ids, text, strlen(text), NULL);
    for (size_t i = 0; i < ids.n; i++) {
        struct gguf_str s = tok_spelling(t, ids.p[i]);

        buf_putc(&b, i == at ? '/' : '|');
        buf_put(&b, s.p, s.n);
    }
    ok(!strcmp(buf_str(&b), want), "%s: '%s'%s%s is %s", tok_model(t), text,
       second ? ", " : "", second ? second : "", buf_str(&b));
    buf_free(&b);
    tok_ids_free(&ids);
    tok_enc_free(enc);
}

static void gives(const char *text, unsigned flags, const char *want)
{
    gives_pair(text, NULL, flags, want);
}

static void check_kinds(void)
{
    if (!open_made("llama", NULL)) {
        gives("hello world", 0, "|<s>|\u2581hello|\u2581world");
        gives("<s>hello", TOK_SPECIAL, "|<s>|\u2581hello");
        gives("\x01", TOK_NO_BOS, "|\u2581|<0x01>");
        gives("<tool>the", TOK_NO_BOS | TOK_ADD_EOS, "|<tool>|\u2581the|</s>");
        close_made();
    }
    if (!open_made("gemma4", NULL)) {
        gives(" hello world\n\n", 0, "|<s>|\u2581|hello|\u2581world|\n\n");
        gives("\xff", 0, "|<s>|<0xFF>");
        close_made();
    }
    if (!open_made("bert", NULL)) {
        gives("Hello, WORLD!", 0,
              "|[CLS]|\u2581hello|\u2581,|\u2581world|\u2581!|[SEP]");
        gives("caf\xc3\xa9 \xe4\xbd\xa0\xe5\xa5\xbd 123", TOK_NO_BOS,
              "|\u2581caf|e|\u2581\xe4\xbd\xa0|\u2581\xe5\xa5\xbd|\u25811|23"
              "|[SEP]");
        gives("[MASK]", TOK_NO_BOS | TOK_NO_EOS, "|\u2581[|\u2581mask|\u2581]");
        gives("[MASK]", TOK_SPECIAL | TOK_NO_BOS | TOK_NO_EOS, "|[MASK]");
        gives("q", TOK_NO_BOS | TOK_NO_EOS, "|[UNK]");
        gives_pair("hello", "world!", 0,
                   "|[CLS]|\u2581hello|[SEP]/\u2581world|\u2581!|[SEP]");
        gives_pair("", "[MASK]", TOK_NO_BOS,
                   "|[SEP]/\u2581[|\u2581mask|\u2581]|[SEP]");
        close_made();
    }
    if (!open_made("t5", NULL)) {
        gives("  Hello\tWORLD  ", 0, "|\u2581hello|\u2581world|</s>");
        gives_pair("hello", "world", 0, "|\u2581hello|</s>/\u2581world|</s>");
        gives_pair("hello", "world", TOK_NO_EOS, "|\u2581hello/\u2581world");
        close_made();
    }
    if (!open_made("rwkv", NULL)) {
        gives(" the\n\n\xff", 0, "| the|\\n\\n|\\xff");
        close_made();
    }
    if (!open_made("gpt2", "llama-bpe")) {
        gives("", 0, "|<s>");
        gives("<s>", TOK_SPECIAL, "|<s>");
        gives("<s><s>", TOK_SPECIAL, "|<s>|<s>");
        gives("<|im_start|><|im_x", TOK_SPECIAL | TOK_NO_BOS,
              "|<|im_start|>|<|im_|x");
        gives("<tool><tool><tool>", TOK_NO_BOS, "|<tool><tool>|<tool>");
        close_made();
    }
}

static void check_rule(const char *pre, json_t *strings, json_t *lists)
{
    struct tok_enc *enc;
    struct tok_ids ids = {0};
    size_t i, k, bad = 0;
    json_t *s, *v;

    if (open_made("gpt2", pre))
        return;
    enc = tok_enc_new(t, TOK_NO_BOS | TOK_NO_EOS, NULL);
    json_array_foreach(strings, i, s)
    {
        json_t *list = json_array_get(lists, i);
        bool same;

        ids.n = 0;
        tok_encode(enc, &ids, json_string_value(s), json_string_length(s),
                   NULL);
        same = ids.n == json_array_size(list);
        json_array_foreach(list, k, v) same =
            same && json_integer_value(v) == ids.p[k];
        if (!same) {
            printf("# %s\n", json_string_value(s));
            bad++;
        }
    }
    ok(!bad, "%s: %zu strings, %zu wrong", pre, json_array_size(strings), bad);
    tok_ids_free(&ids);
    tok_enc_free(enc);
    close_made();
}

int main(void)
{
    json_t *o = json_load_file("tests/data/tok_hf.json", JSON_ALLOW_NUL, NULL);
    const char *pre;
    json_t *lists;

    check_kinds();
    ok(o, "tests/data/tok_hf.json is there");
    json_object_foreach(json_object_get(o, "ids"), pre, lists)
        check_rule(pre, json_object_get(o, "strings"), lists);
    json_decref(o);
    buf_free(&file);
    return tap_done();
}
