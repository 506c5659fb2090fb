/* SPDX-License-Identifier: MIT
 * mkshape SHAPE MIX [SEED] >FILE - a model of random weights, as large as a
 * real one: what takes time and memory does not depend on what weights say.
 *
 * SHAPE: llama-1b (that of Llama 3.2 1B) or llama-tiny; MIX: q8_0, or q4_k_m,
 * in which the head, and V and the last matrix of half the layers, are Q6_K.
 * The vocabulary has a token for each byte, one merge, and names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "kernels/op/math/half.h"
#include "tests/unit/model_words.h"

static const struct shape {
    const char *name;
    int layers, dim, ff, heads, kv, head, vocab, context;
} shapes[] = {
    {"llama-1b", 16, 2048, 8192, 32, 8, 64, 128256, 131072},
    {"llama-tiny", 8, 256, 512, 4, 2, 64, 512, 32768},
};

/* Blocks are random bytes but for their scales.  D and MIN: where those stand;
 * SPREAD: the deviation of values whose scale is 1, when the minimum's scale is
 * TIMES as large, which makes their mean 0. */
static const struct mix {
    uint32_t type;
    int elems, bytes, d, min;
    double spread, times;
} q8_0 = {GGUF_T_Q8_0, 32, 34, 0, -1, 73.6, 0},
  q4_k = {GGUF_T_Q4_K, 256, 144, 0, 2, 258, 7.5},
  q6_k = {GGUF_T_Q6_K, 256, 210, 208, -1, 1366, 0};

struct tensor {
    char name[48];
    int in, out; /* OUT is 0: a vector of ones */
    const struct mix *mix;
};

struct job {
    const struct shape *s;
    bool mixed; /* q4_k_m */
    uint64_t seed;
    struct tensor t[16 * 9 + 2];
    int n;
};

static void add(struct job *j, int layer, const char *name, int in, int out,
                const struct mix *mix)
{
    struct tensor *t = &j->t[j->n++];

    *t = (struct tensor){.in = in, .out = out, .mix = mix};
    if (layer < 0)
        snprintf(t->name, sizeof t->name, "%s.weight", name);
    else
        snprintf(t->name, sizeof t->name, "blk.%d.%s.weight", layer, name);
}

/* Whether a layer's V and last matrix get more bits: the first and the last
 * eighth of the layers do, and a third of the others. */
static bool more_bits(int i, int n)
{
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

static void add_tensors(struct job *j)
{
    const struct shape *s = j->s;
    const struct mix *most = j->mixed ? &q4_k : &q8_0;
    int q = s->heads * s->head, kv = s->kv * s->head;

    add(j, -1, "token_embd", s->dim, s->vocab, j->mixed ? &q6_k : &q8_0);
    for (int i = 0; i < s->layers; i++) {
        bool more = j->mixed && more_bits(i, s->layers);
        const struct mix *fine = more ? &q6_k : most;

        add(j, i, "attn_norm", s->dim, 0, NULL);
        add(j, i, "attn_q", s->dim, q, most);
        add(j, i, "attn_k", s->dim, kv, most);
        add(j, i, "attn_v", s->dim, kv, fine);
        add(j, i, "attn_output", q, s->dim, most);
        add(j, i, "ffn_norm", s->dim, 0, NULL);
        add(j, i, "ffn_gate", s->dim, s->ff, most);
        add(j, i, "ffn_up", s->dim, s->ff, most);
        add(j, i, "ffn_down", s->ff, s->dim, fine);
    }
    add(j, -1, "output_norm", s->dim, 0, NULL);
}

/* GPT-2's letter for a byte: itself where it can be seen. */
static uint32_t letter(int byte)
{
    uint32_t n = 256;

    for (int b = 0; b <= byte; b++)
        if (b < 33 || (b > 126 && b < 161) || b == 173) {
            if (b == byte)
                return n;
            n++;
        }
    return (uint32_t)byte;
}

static void put_vocabulary(struct gguf_out *o, int n)
{
    static const char *const merge[] = {"\u0120 t"};
    char(*text)[16] = calloc((size_t)n, sizeof *text);
    const char **name = calloc((size_t)n, sizeof *name);
    unsigned char *type = calloc((size_t)n, 4);

    for (int i = 0; i < n && text && name && type; i++) {
        if (i < 256)
            utf8_put((unsigned char *)text[i], letter(i));
        else
            snprintf(text[i], sizeof *text, i == 256 ? "\u0120t" : "<%d>", i);
        name[i] = text[i];
        wr_u32(type + 4 * i, i < n - 2 ? 1 : 3);
    }
    gguf_put_str(o, "tokenizer.ggml.model", (struct gguf_str){"gpt2", 4});
    gguf_put_str(o, "tokenizer.ggml.pre", (struct gguf_str){"llama-bpe", 9});
    m_put_strings(o, "tokenizer.ggml.tokens", name, (size_t)n);
    m_put_strings(o, "tokenizer.ggml.merges", merge, 1);
    gguf_put_arr(o, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)n, type,
                 4 * (size_t)n);
    gguf_put_int(o, "tokenizer.ggml.bos_token_id", GGUF_U32, n - 2);
    gguf_put_int(o, "tokenizer.ggml.eos_token_id", GGUF_U32, n - 1);
    free(text);
    free(name);
    free(type);
}

static void put_keys(struct gguf_out *o, const struct job *j)
{
    const struct shape *s = j->s;
    const struct {
        const char *key;
        int n;
    } num[] = {
        {"general.file_type", j->mixed ? 15 : 7},
        {"llama.block_count", s->layers},
        {"llama.context_length", s->context},
        {"llama.embedding_length", s->dim},
        {"llama.feed_forward_length", s->ff},
        {"llama.attention.head_count", s->heads},
        {"llama.attention.head_count_kv", s->kv},
        {"llama.attention.key_length", s->head},
        {"llama.attention.value_length", s->head},
        {"llama.rope.dimension_count", s->head},
        {"llama.vocab_size", s->vocab},
    };

    gguf_put_str(o, "general.architecture", (struct gguf_str){"llama", 5});
    gguf_put_str(o, "general.name",
                 (struct gguf_str){s->name, strlen(s->name)});
    for (size_t i = 0; i < sizeof num / sizeof *num; i++)
        gguf_put_int(o, num[i].key, GGUF_U32, num[i].n);
    gguf_put_float(o, "llama.rope.freq_base", GGUF_F32, 500000);
    gguf_put_float(o, "llama.attention.layer_norm_rms_epsilon", GGUF_F32, 1e-5);
    put_vocabulary(o, s->vocab);
}

/* Bytes N from AT on of tensor NR: the same wherever they are cut, at multiples
 * of 16. */
static void random_bytes(uint8_t *p, size_t n, const struct job *j, int nr,
                         uint64_t at)
{
    const uint32_t key[2] = {(uint32_t)j->seed, (uint32_t)(j->seed >> 32)};

    for (size_t i = 0; i < n; i += 16) {
        const uint32_t where[4] = {(uint32_t)((at + i) / 16), (uint32_t)nr};
        uint32_t r[4];

        rng_philox(r, where, key);
        memcpy(p + i, r, n - i < 16 ? n - i : 16);
    }
}

/* Scales for a deviation of about 1 / sqrt(in): what a product adds up is then
 * about as large as what goes in, and nothing overflows. */
static void set_scales(uint8_t *p, size_t blocks, const struct tensor *t)
{
    const struct mix *m = t->mix;
    double usual = 1 / (m->spread * sqrt(t->in));

    for (; blocks--; p += m->bytes) {
        double d = usual * (0.5 + rd_u16(p + m->d) / 65536.0);

        wr_u16(p + m->d, f32_to_f16((float)d));
        if (m->min >= 0)
            wr_u16(p + m->min, f32_to_f16((float)(d * m->times)));
        for (int i = 2; m == &q8_0 && i < m->bytes; i++)
            p[i] += p[i] == 128; /* -128 is not written by quantisers */
    }
}

/* One tensor's bytes, in parts that are whole blocks and multiples of 16. */
static int write_tensor(const struct job *j, int nr)
{
    enum { PART = 16 * 1024 };
    static uint8_t part[PART * 210];
    const struct tensor *t = &j->t[nr];
    uint64_t blocks, at = 0;

    if (!t->out) {
        for (int i = 0; i < t->in; i++)
            wr_u32(part + 4 * i, 0x3f800000);
        return fwrite(part, 4, (size_t)t->in, stdout) != (size_t)t->in;
    }
    blocks = (uint64_t)t->in * (uint64_t)t->out / (uint64_t)t->mix->elems;
    while (blocks) {
        size_t n = blocks < PART ? (size_t)blocks : PART;
        size_t bytes = n * (size_t)t->mix->bytes;

        random_bytes(part, bytes, j, nr, at);
        set_scales(part, n, t);
        if (fwrite(part, 1, bytes, stdout) != bytes)
            return 1;
        blocks -= n;
        at += bytes;
    }
    return 0;
}

static int write_all(struct job *j)
{
    static const char zeros[32];
    uint64_t bytes[sizeof j->t / sizeof *j->t];
    struct gguf_out o;
    struct buf head = {0};
    struct err e = {0};
    int bad;

    gguf_out_init(&o, 32);
    put_keys(&o, j);
    for (int i = 0; i < j->n; i++) {
        const struct tensor *t = &j->t[i];
        uint64_t ne[2] = {(uint64_t)t->in, (uint64_t)t->out};

        bytes[i] = gguf_put_tensor(
            &o, (struct gguf_str){t->name, strlen(t->name)},
            t->out ? t->mix->type : GGUF_T_F32, t->out ? 2 : 1, ne);
    }
    bad = gguf_out_head(&head, &o, &e);
    if (bad)
        fprintf(stderr, "mkshape: %s\n", e.msg);
    bad = bad || fwrite(head.p, 1, head.n, stdout) != head.n;
    for (int i = 0; i < j->n && !bad; i++) {
        size_t pad = gguf_out_pad(&o, bytes[i]);

        bad = write_tensor(j, i) || fwrite(zeros, 1, pad, stdout) != pad;
    }
    buf_free(&head);
    gguf_out_fini(&o);
    return bad || fclose(stdout);
}

int main(int argc, char **argv)
{
    static struct job j;

    for (size_t i = 0; argc > 2 && i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(argv[1], shapes[i].name))
            j.s = &shapes[i];
    j.mixed = argc > 2 && !strcmp(argv[2], "q4_k_m");
    if (!j.s || (!j.mixed && strcmp(argv[2], "q8_0"))) {
        fputs("usage: mkshape llama-1b|llama-tiny q4_k_m|q8_0 [seed] >file\n",
              stderr);
        return 2;
    }
    j.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    add_tensors(&j);
    if (write_all(&j)) {
        fputs("mkshape: the file could not be written\n", stderr);
        return 1;
    }
    return 0;
}
