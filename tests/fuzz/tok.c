/* SPDX-License-Identifier: MIT
 *
 * Tokenizers over any bytes.  An input that begins with "GGUF" is a
 * vocabulary: it is opened, encodes some text, and decodes what came and ids
 * that may be anything.  Any other is text, after a byte that chooses one of
 * the vocabularies made here and a byte of flags: a text in parts must have
 * the tokens of the whole, and lossless vocabularies must give it back. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tok_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

static void must(bool good, const char *why)
{
    if (!good) {
        fprintf(stderr, "tok: %s\n", why);
        abort();
    }
}

static void use(const struct tok *t)
{
    static const char text[] =
        "Hello world, I'LL  be 12345 naïve 你好\n\n\t<s>\xf0\x9f\x98\x80 <0x0A>"
        "\xff\xe2\x96\x81 e\u0301 ____ "
        "<|im_start|>\u2581\u2581aaaaaaaaaaaaaaaa";
    uint32_t odd[] = {0, 1, 2, 300, tok_count(t) - 1, tok_count(t), UINT32_MAX};
    struct buf back = {0};
    struct law l;
    struct rnd r = {99};

    for (unsigned flags = 0; flags < 4; flags++) {
        if (law_open(&l, t, flags & 1 ? TOK_SPECIAL | TOK_ADD_EOS : TOK_NO_BOS))
            return;
        must(law_check(&l, (const unsigned char *)text,
                       flags & 2 ? sizeof text - 1 : 0, NULL, true, &r),
             l.why);
        for (size_t i = 0; i < l.want.n; i++)
            must(l.want.p[i] < tok_count(t), "an id beyond the vocabulary");
        tok_decode(&back, t, l.want.p, l.want.n, flags, NULL);
        law_close(&l);
    }
    tok_decode(&back, t, odd, sizeof odd / sizeof *odd, TOK_SHOW_SPECIAL, NULL);
    buf_free(&back);
    for (int role = 0; role < TOK_NROLE; role++)
        must(tok_role(t, (enum tok_role)role) < (int64_t)tok_count(t), "role");
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        sink += (unsigned)tok_spelling(t, odd[i]).n + tok_is_eog(t, odd[i]) +
                tok_is_suppressed(t, odd[i]) + (unsigned)tok_type(t, odd[i]);
}

static void hostile(const uint8_t *data, size_t size)
{
    struct gguf_str file = {(const char *)data, size};
    struct gguf *g;
    struct tok *t;
    struct err e = {0};

    if (gguf_open_memory(&g, "m", &file, 1, &e))
        return;
    if (!tok_open(&t, g, NULL, &e)) {
        use(t);
        tok_close(t);
    } else {
        must(e.code && *e.msg, "an error without a text");
        e = (struct err){0};
        if (!tok_open(&t, g, "llama-bpe", &e)) {
            use(t);
            tok_close(t);
        }
    }
    gguf_close(g);
}

static const char *const made[][2] = {
    {"gpt2", "gpt-2"},      {"gpt2", "llama-bpe"},    {"gpt2", "gpt-4o"},
    {"gpt2", "afmoe"},      {"gpt2", "superbpe"},     {"gpt2", "tiny_aya"},
    {"gpt2", "falcon"},     {"gpt2", "chameleon"},    {"gpt2", "laguna"},
    {"gpt2", "kimi-k2"},    {"gpt2", "deepseek-llm"}, {"gpt2", "youtu"},
    {"gpt2", "exaone-moe"}, {"gpt2", "jais-2"},       {"gpt2", "default"},
    {"gpt2", "whitespace"}, {"gpt2", "jina-v2-code"}, {"gemma4", NULL},
    {"llama", NULL},        {"bert", NULL},           {"t5", NULL},
    {"rwkv", NULL}};
enum { NMADE = sizeof made / sizeof *made };

static const struct tok *make(int i)
{
    static const struct tok *kept[NMADE];
    struct buf file = {0};
    struct gguf *g;
    struct tok *t;

    if (kept[i])
        return kept[i];
    must(!make_vocab(&file, made[i][0], made[i][1]), "made");
    must(!gguf_open_memory(&g, "made",
                           &(struct gguf_str){(char *)file.p, file.n}, 1, NULL),
         "read");
    must(!tok_open(&t, g, NULL, NULL), "opened");
    return kept[i] = t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned flags[] = {TOK_NO_BOS | TOK_NO_EOS,
                                     TOK_SPECIAL | TOK_NO_BOS | TOK_NO_EOS,
                                     TOK_SPECIAL, TOK_ADD_EOS};
    static struct law law[NMADE][4];
    struct rnd r = {1234567};
    struct law *l;

    if (size >= 4 && !memcmp(data, "GGUF", 4)) {
        hostile(data, size);
        return 0;
    }
    if (size < 2)
        return 0;
    l = &law[data[0] % NMADE][data[1] % 4];
    if (!l->t)
        must(!law_open(l, make(data[0] % NMADE), flags[data[1] % 4]), "memory");
    must(law_check(l, data + 2, size - 2, NULL, size < 600, &r), l->why);
    return 0;
}
