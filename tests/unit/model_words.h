/* SPDX-License-Identifier: MIT
 * model_words.h - for tests: a vocabulary for models of model_make.h, of bytes
 * that text of small letters needs, words, and an end. */
#ifndef LLM_TESTS_MODEL_WORDS_H
#define LLM_TESTS_MODEL_WORDS_H

#include "tests/unit/model_make.h"

static inline void m_put_strings(struct gguf_out *o, const char *key,
                                 const char *const *v, size_t n)
{
    struct buf b = {0};

    for (size_t i = 0; i < n; i++) {
        unsigned char len[8];

        wr_u64(len, strlen(v[i]));
        buf_put(&b, len, 8);
        buf_puts(&b, v[i]);
    }
    gguf_put_arr(o, key, GGUF_STR, n, b.p, b.n);
    buf_free(&b);
}

/* For struct tiny's MORE. */
static inline void m_vocabulary(struct gguf_out *o)
{
    static const char *const words[M_VOCAB] = {
        "a",  "b",  "c",      "d",      "e",  "f",      "g",      "h",
        "i",  "j",  "k",      "l",      "m",  "n",      "o",      "p",
        "q",  "r",  "s",      "t",      "u",  "v",      "w",      "x",
        "y",  "z",  "\u0120", "\u010a", ".",  ",",      "th",     "he",
        "an", "in", "the",    "and",    "er", "\u00c3", "\u00a9", "<end>"};
    static const char *const merges[] = {"t h",  "h e",  "a n", "i n",
                                         "th e", "an d", "e r"};
    struct buf b = {0};

    gguf_put_str(o, "general.name", (struct gguf_str){"tiny", 4});
    gguf_put_str(o, "tokenizer.ggml.model", (struct gguf_str){"gpt2", 4});
    gguf_put_str(o, "tokenizer.ggml.pre", (struct gguf_str){"gpt-2", 5});
    m_put_strings(o, "tokenizer.ggml.tokens", words, M_VOCAB);
    m_put_strings(o, "tokenizer.ggml.merges", merges,
                  sizeof merges / sizeof *merges);
    for (int i = 0; i < M_VOCAB; i++) {
        unsigned char type[4];

        wr_u32(type, i == M_VOCAB - 1 ? 3 : 1);
        buf_put(&b, type, 4);
    }
    gguf_put_arr(o, "tokenizer.ggml.token_type", GGUF_I32, M_VOCAB, b.p, b.n);
    gguf_put_int(o, "tokenizer.ggml.eos_token_id", GGUF_U32, M_VOCAB - 1);
    buf_free(&b);
}

#endif
