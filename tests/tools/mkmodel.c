/* SPDX-License-Identifier: MIT
 *
 * mkmodel N [CONTEXT [SEED]] >FILE - a tiny model that runs, of the Nth kind of
 * model_make.h (0: a llama), with a vocabulary of letters, for tests.  Without
 * N: how many kinds there are, and their architectures. */
#include "tests/unit/model_make.h"

/* 40 tokens: bytes that text of small letters needs, words, an end. */
static const char *const words[M_VOCAB] = {
    "a",  "b",   "c",   "d",  "e",      "f",      "g",    "h", "i",  "j",  "k",
    "l",  "m",   "n",   "o",  "p",      "q",      "r",    "s", "t",  "u",  "v",
    "w",  "x",   "y",   "z",  "\u0120", "\u010a", ".",    ",", "th", "he", "an",
    "in", "the", "and", "er", "\u00c3", "\u00a9", "<end>"};
static const char *const merges[] = {"t h",  "h e",  "a n", "i n",
                                     "th e", "an d", "e r"};

static void put_strings(struct gguf_out *o, const char *key,
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

static void vocabulary(struct gguf_out *o)
{
    struct buf b = {0};

    gguf_put_str(o, "general.name", (struct gguf_str){"tiny", 4});
    gguf_put_str(o, "tokenizer.ggml.model", (struct gguf_str){"gpt2", 4});
    gguf_put_str(o, "tokenizer.ggml.pre", (struct gguf_str){"gpt-2", 5});
    put_strings(o, "tokenizer.ggml.tokens", words, M_VOCAB);
    put_strings(o, "tokenizer.ggml.merges", merges,
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

int main(int argc, char **argv)
{
    static struct tiny m;
    struct gguf_str file;
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : -1;

    if (argc == 1) {
        for (int i = 0; i < M_NARCH; i++)
            printf("%d\t%s\n", i, m_archs[i].name);
        return 0;
    }
    if (n < 0 || n >= M_NARCH)
        return 2;
    m_make(&m, &m_archs[n],
           argc > 3 ? strtoull(argv[3], NULL, 10) * 2 + 1 : 12345);
    m.more = vocabulary;
    if (argc > 2)
        m_find_key(&m, "context_length")->num = strtod(argv[2], NULL);
    file = m_pack(&m);
    n = fwrite(file.p, 1, file.n, stdout) != file.n || fclose(stdout);
    m_free(&m);
    return (int)n;
}
