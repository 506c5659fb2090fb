/* SPDX-License-Identifier: MIT
 * model.c - tiny models of every architecture against their formulas in
 * double, and files that are wrong in one place. */
#include "tests/unit/model_naive.h"
#include "tests/unit/model_run.h"
#include "tests/unit/tap.h"

/* ---- what is computed ---- */

/* The same model as one that embeds. */
static void check_hidden(const struct gguf *g, const struct m_arch *a,
                         int number, const double *want)
{
    struct runner_opts o = {
        .threads = 2, .cpu_mask = ~0u, .kv = KV_F32, .embed = true};
    struct runner r = {0};
    struct err e = {0};
    int32_t t[N_TOKENS];
    float got[N_TOKENS * M_DIM], again[N_TOKENS * M_DIM];
    int bad;

    n_tokens(t, N_TOKENS);
    bad = runner_open(&r, g, &o, &e) || model_width(r.m) != M_DIM ||
          runner_run(&r, t, 0, N_TOKENS, RUN_ALL, got, &e);
    ok(!bad && n_furthest(got, want, N_TOKENS * M_DIM) < 1e-4,
       "%s %d: hidden states differ by %.2g %s", a->name, number,
       bad ? NAN : n_furthest(got, want, N_TOKENS * M_DIM), e.msg);
    ok(!bad && !runner_chunks(&r, t, N_TOKENS, 3, again, &e) &&
           !memcmp(got, again, sizeof got),
       "%s %d: hidden states in threes", a->name, number);
    runner_close(&r);
}

static void check_arch(const struct m_arch *a, int number)
{
    static struct tiny m;
    struct runner_opts o = {.threads = 1, .cpu_mask = ~0u, .kv = KV_F32};
    struct gguf_str file;
    struct gguf *g = NULL;
    struct runner r = {0};
    struct err e = {0};
    int32_t t[N_TOKENS];
    double want[N_TOKENS * M_VOCAB], hidden[N_TOKENS * M_DIM], worst;
    float got[N_TOKENS * M_VOCAB], again[N_TOKENS * M_VOCAB];

    m_make(&m, a, 77 + (uint64_t)number);
    file = m_pack(&m);
    n_tokens(t, N_TOKENS);
    naive_run(&m, t, NULL, N_TOKENS, hidden, want);
    if (!ok(!gguf_open_memory(&g, "tiny", &file, 1, &e) &&
                !runner_open(&r, g, &o, &e) &&
                !runner_run(&r, t, 0, N_TOKENS, RUN_ALL, got, &e),
            "%s %d: runs %s", a->name, number, e.msg))
        goto out;
    worst = n_furthest(got, want, N_TOKENS * M_VOCAB);
    ok(worst < 1e-4, "%s %d: logits differ by %.2g", a->name, number, worst);
    ok(!runner_chunks(&r, t, N_TOKENS, 1, again, &e) &&
           !memcmp(got, again, sizeof got),
       "%s %d: token by token", a->name, number);
    check_hidden(g, a, number, hidden);
out:
    runner_close(&r);
    gguf_close(g);
    m_free(&m);
}

/* ---- what is refused ---- */

/* Open what is in M: the code, and 1 when the message has WORD in it. */
static enum err_code open_it(struct tiny *m, const char *word, int *said,
                             char msg[512])
{
    struct runner_opts o = {.threads = 1,
                            .cpu_mask = ~0u,
                            .kv = KV_F32,
                            .embed = m->a->flags & M_BOTH};
    struct gguf_str file = m_pack(m);
    struct gguf *g = NULL;
    struct runner r = {0};
    struct err e = {0};

    if (!gguf_open_memory(&g, "tiny.gguf", &file, 1, &e))
        runner_open(&r, g, &o, &e);
    *said = e.code && strstr(e.msg, word) && !strncmp(e.msg, "tiny.gguf: ", 11);
    memcpy(msg, e.msg, sizeof e.msg);
    runner_close(&r);
    gguf_close(g);
    return e.code;
}

/* A wrong number under a key of architecture ARCH (an index of m_archs). */
static const struct bad_key {
    int arch;
    const char *key;
    enum gguf_type type;
    double num;
    enum err_code code;
} bad_keys[] = {
    {0, "block_count", GGUF_U32, 0, ERR_FORMAT},
    {0, "block_count", GGUF_U32, 1e6, ERR_FORMAT},
    {0, "block_count", GGUF_U32, M_LAYERS + 1, ERR_FORMAT},
    {0, "block_count", GGUF_U32, M_LAYERS - 1, ERR_UNSUPPORTED},
    {0, "block_count", GGUF_F32, M_LAYERS, ERR_FORMAT},
    {0, "context_length", GGUF_U32, 0, ERR_FORMAT},
    {0, "context_length", GGUF_U32, 4e9, ERR_FORMAT},
    {0, "embedding_length", GGUF_U32, 0, ERR_FORMAT},
    {0, "embedding_length", GGUF_U32, 4e9, ERR_FORMAT},
    {0, "embedding_length", GGUF_U32, 2 * M_DIM, ERR_FORMAT},
    {0, "feed_forward_length", GGUF_U32, 0, ERR_FORMAT},
    {0, "feed_forward_length", GGUF_U32, 4e9, ERR_FORMAT},
    {0, "feed_forward_length", GGUF_U32, M_FF + 1, ERR_FORMAT},
    {0, "attention.head_count", GGUF_U32, 0, ERR_FORMAT},
    {0, "attention.head_count", GGUF_U32, 3, ERR_FORMAT},
    {0, "attention.head_count", GGUF_U32, 1e9, ERR_FORMAT},
    {0, "attention.head_count_kv", GGUF_U32, 0, ERR_FORMAT},
    {0, "attention.head_count_kv", GGUF_U32, 3, ERR_FORMAT},
    {0, "attention.head_count_kv", GGUF_I32, -2, ERR_FORMAT},
    {0, "attention.head_count_kv", GGUF_U32, 4, ERR_FORMAT},
    {0, "attention.key_length", GGUF_U32, 0, ERR_FORMAT},
    {0, "attention.key_length", GGUF_U32, 4e9, ERR_FORMAT},
    {0, "attention.key_length", GGUF_U32, 6, ERR_FORMAT},
    {0, "attention.key_length_swa", GGUF_U32, 6, ERR_UNSUPPORTED},
    {0, "attention.scale", GGUF_F32, NAN, ERR_FORMAT},
    {0, "attention.scale", GGUF_F32, -1, ERR_FORMAT},
    {0, "attention.layer_norm_rms_epsilon", GGUF_F32, NAN, ERR_FORMAT},
    {0, "attention.layer_norm_rms_epsilon", GGUF_F32, -1, ERR_FORMAT},
    {0, "attention.layer_norm_rms_epsilon", GGUF_F32, INFINITY, ERR_FORMAT},
    {11, "attention.layer_norm_epsilon", GGUF_F32, NAN, ERR_FORMAT},
    {0, "rope.dimension_count", GGUF_U32, M_HEAD + 2, ERR_FORMAT},
    {0, "rope.dimension_count", GGUF_U32, 0, ERR_FORMAT},
    {0, "rope.dimension_count", GGUF_U32, 3, ERR_FORMAT},
    {0, "rope.freq_base", GGUF_F32, NAN, ERR_FORMAT},
    {0, "rope.freq_base", GGUF_F32, 0, ERR_FORMAT},
    {0, "rope.freq_base", GGUF_F32, INFINITY, ERR_FORMAT},
    {0, "rope.scaling.factor", GGUF_F32, NAN, ERR_FORMAT},
    {0, "rope.scaling.factor", GGUF_F32, -4, ERR_FORMAT},
    {0, "rope.scaling.attn_factor", GGUF_F32, NAN, ERR_FORMAT},
    {0, "rope.scaling.alpha", GGUF_F32, 2, ERR_UNSUPPORTED},
    {0, "attention.causal", GGUF_BOOL, 0, ERR_UNSUPPORTED},
    {0, "attention.clamp_kqv", GGUF_F32, 8, ERR_UNSUPPORTED},
    {0, "attention.max_alibi_bias", GGUF_F32, 8, ERR_UNSUPPORTED},
    {0, "final_logit_softcapping", GGUF_F32, 30, ERR_UNSUPPORTED},
    {0, "attn_logit_softcapping", GGUF_F32, 50, ERR_UNSUPPORTED},
    {0, "logit_scale", GGUF_F32, 0.5, ERR_UNSUPPORTED},
    {0, "pooling_type", GGUF_U32, 5, ERR_FORMAT},
    {0, "pooling_type", GGUF_I32, -1, ERR_FORMAT},
    {0, "something.new", GGUF_U32, 3, ERR_UNSUPPORTED},
    {0, "expert_count", GGUF_U32, 4, ERR_FORMAT},
    {2, "expert_count", GGUF_U32, 0, ERR_FORMAT},
    {2, "expert_count", GGUF_U32, 4e9, ERR_FORMAT},
    {2, "expert_count", GGUF_U32, M_NEXPERT + 1, ERR_FORMAT},
    {2, "expert_used_count", GGUF_U32, 0, ERR_FORMAT},
    {2, "expert_used_count", GGUF_U32, M_NEXPERT + 1, ERR_FORMAT},
    {2, "expert_group_count", GGUF_U32, 2, ERR_UNSUPPORTED},
    {2, "expert_gating_func", GGUF_U32, 3, ERR_UNSUPPORTED},
    {2, "expert_weights_scale", GGUF_F32, 2.5, ERR_UNSUPPORTED},
    {3, "attention.temperature_scale", GGUF_F32, NAN, ERR_FORMAT},
    {4, "attention.sliding_window", GGUF_U32, 8, ERR_UNSUPPORTED},
    {4, "use_parallel_residual", GGUF_BOOL, 1, ERR_UNSUPPORTED},
    {5, "expert_feed_forward_length", GGUF_U32, 0, ERR_FORMAT},
    {5, "expert_count", GGUF_U32, 0, ERR_FORMAT},
    {9, "attention.sliding_window", GGUF_I32, -1, ERR_FORMAT},
    {9, "attn_logit_softcapping", GGUF_F32, NAN, ERR_FORMAT},
    {14, "logit_scale", GGUF_F32, 0, ERR_FORMAT},
    {14, "residual_scale", GGUF_F32, NAN, ERR_FORMAT},
    {17, "attention.causal", GGUF_BOOL, 1, ERR_UNSUPPORTED},
    {17, "context_length", GGUF_U32, M_CONTEXT + 2, ERR_FORMAT},
    {17, "context_length", GGUF_U32, M_CONTEXT - 2, ERR_FORMAT},
    {17, "pooling_type", GGUF_U32, 5, ERR_FORMAT},
    {17, "pooling_type", GGUF_F32, 1, ERR_FORMAT},
    {17, "attention.layer_norm_epsilon", GGUF_F32, -1, ERR_FORMAT},
    {18, "moe_every_n_layers", GGUF_U32, 2, ERR_UNSUPPORTED},
    {18, "context_length", GGUF_U32, 1 << 30, ERR_UNSUPPORTED},
    {19, "attention.sliding_window", GGUF_I32, -5, ERR_FORMAT},
    {19, "attention.sliding_window_pattern", GGUF_I32, -3, ERR_FORMAT},
    {20, "attention.sliding_window", GGUF_U32, 4e9, ERR_FORMAT},
};

static void check_bad_keys(void)
{
    static struct tiny m;
    char msg[512];

    for (size_t i = 0; i < sizeof bad_keys / sizeof *bad_keys; i++) {
        const struct bad_key *b = &bad_keys[i];
        struct m_key *k;
        enum err_code code;
        int said;

        m_make(&m, &m_archs[b->arch], 5);
        if (!(k = m_find_key(&m, b->key))) {
            m_num(&m, b->key, b->type, b->num);
        } else {
            k->type = b->type;
            k->num = b->num;
        }
        /* Of shapes, the message names the tensor. */
        code = open_it(&m, "", &said, msg);
        ok(code == b->code && said, "%s.%s = %g: %s", m.a->name, b->key, b->num,
           msg);
        m_free(&m);
    }
}

static void check_missing_keys(void)
{
    static const char *const needed[] = {
        "block_count",          "context_length",
        "embedding_length",     "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"};
    static struct tiny m;
    char msg[512];

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct m_key *k;
        int said;

        m_make(&m, &m_archs[0], 5);
        k = m_find_key(&m, needed[i]);
        snprintf(k->name, sizeof k->name, "other.key");
        ok(open_it(&m, needed[i], &said, msg) == ERR_FORMAT && said,
           "without %s: %s", needed[i], msg);
        m_free(&m);
    }
    m_make(&m, &m_archs[0], 5);
    m_num(&m, "rope.scaling.type", GGUF_STR, 0);
    m.key[m.nkey - 1].str = "dynamic";
    {
        int said;

        ok(open_it(&m, "rope.scaling.type': 'dynamic'", &said, msg) ==
                   ERR_UNSUPPORTED &&
               said,
           "a scaling of unknown name: %s", msg);
    }
    m_free(&m);
}

/* Arrays with a number for each layer, or not. */
static void check_arrays(void)
{
    static const struct {
        const char *key;
        int n;
        double num;
        enum err_code code;
    } c[] = {
        {"llama.attention.head_count", M_LAYERS, M_HEADS, ERR_NONE},
        {"llama.feed_forward_length", M_LAYERS, M_FF, ERR_NONE},
        {"llama.attention.head_count", M_LAYERS - 1, M_HEADS, ERR_FORMAT},
        {"llama.attention.head_count_kv", M_LAYERS, 0, ERR_FORMAT},
        {"llama.feed_forward_length", M_LAYERS + 1, M_FF, ERR_FORMAT},
        {"llama.block_count", M_LAYERS, M_LAYERS, ERR_FORMAT},
        {"llama.rope.dimension_sections", 4, 8, ERR_UNSUPPORTED},
        {"tokenizer.ggml.tokens", M_VOCAB, 0, ERR_NONE},
        {"tokenizer.ggml.tokens", M_VOCAB - 7, 0, ERR_NONE},
        {"tokenizer.ggml.tokens", M_VOCAB + 1, 0, ERR_FORMAT},
    };
    static struct tiny m;
    char msg[512];

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct m_key *k;
        enum err_code code;
        int said, known = 0;

        m_make(&m, &m_archs[0], 5);
        for (int j = 0; j < m.nkey; j++)
            if (!strcmp(m.key[j].name, c[i].key))
                known = j + 1;
        k = &m.key[known ? known - 1 : m.nkey++];
        snprintf(k->name, sizeof k->name, "%s", c[i].key);
        k->n = c[i].n;
        k->num = c[i].num;
        code = open_it(&m, "", &said, msg);
        ok(code == c[i].code, "%s: %d times %g: %s", c[i].key, c[i].n, c[i].num,
           msg);
        m_free(&m);
    }
}

/* One value of the metadata changed to another: refused, or it runs. */
static void check_mutants(const struct m_arch *a, int number)
{
    static const double odd[] = {0,        1,    2,          3,    5,   8,
                                 -1,       4096, 2147483647, 4e9,  1e9, NAN,
                                 INFINITY, 0.5,  1e-30,      1e30, 128};
    static struct tiny m;
    struct runner_opts o = {.threads = 1,
                            .cpu_mask = ~0u,
                            .kv = KV_F16,
                            .room = 64,
                            .embed = a->flags & M_BOTH};
    int32_t t[3] = {1, 2, 3};
    float v[M_VOCAB];
    int ran = 0, refused = 0, nkey;

    m_make(&m, a, 13);
    nkey = m.nkey;
    for (int i = 0; i < nkey * (int)(sizeof odd / sizeof *odd); i++) {
        struct m_key *k = &m.key[i % nkey], was = *k;
        struct gguf_str file;
        struct gguf *g = NULL;
        struct runner r = {0};
        struct err e = {0};
        double d = odd[i / nkey];

        k->num = d;
        if (k->type == GGUF_U32 && d < 0)
            k->type = GGUF_I32;
        else if (k->type == GGUF_U32 && !(d <= 4e9 && d == floor(d)))
            k->type = GGUF_F64;
        file = m_pack(&m);
        if (gguf_open_memory(&g, "mutant", &file, 1, &e) ||
            runner_open(&r, g, &o, &e))
            refused += e.code == ERR_FORMAT || e.code == ERR_UNSUPPORTED;
        else
            ran += !runner_run(&r, t, 0, model_context(r.m) < 3 ? 1 : 3,
                               RUN_LAST, v, &e);
        runner_close(&r);
        gguf_close(g);
        *k = was;
    }
    ok(ran && refused &&
           ran + refused == nkey * (int)(sizeof odd / sizeof *odd),
       "%s %d: of %d mutants %d run, %d are refused", a->name, number,
       nkey * (int)(sizeof odd / sizeof *odd), ran, refused);
    m_free(&m);
}

/* ---- rope, context and windows, as the caches of K and V are told ---- */

static void check_rope(void)
{
    static const struct {
        int arch, context;
        const char *key, *word; /* WORD: a string; else NUM */
        double num;
        const char *want; /* in the words of model_kv() */
    } c[] = {
        {4, 0, "rope.freq_base", NULL, 5000,
         "linear, base 5000, factor 1, times 1, 8 of 8 in halves"},
        {0, 0, "rope.scaling.type", "none", 0, "none, base 10000, factor 1"},
        {0, 0, "rope.scaling.type", "yarn", 0,
         "yarn, base 10000, factor 2, times 1.06931, 8 of 8 in pairs"},
        {12, 0, NULL, NULL, 0, "longrope, long, base 10000, factor 1, times"},
        {12, 16, NULL, NULL, 0, "longrope, short, base 10000"},
        {12, 17, NULL, NULL, 0, "longrope, long, base 10000"},
        {10, 0, NULL, NULL, 0,
         "linear, base 10000, factor 8, times 1, 8 of 8 in halves, "},
    };
    static struct tiny m;

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct runner_opts o = {.threads = 1,
                                .cpu_mask = ~0u,
                                .kv = KV_F32,
                                .context = c[i].context};
        struct gguf_str file;
        struct gguf *g = NULL;
        struct runner r = {0};
        struct err e = {0};
        const char *got = "";
        struct m_key *k;

        m_make(&m, &m_archs[c[i].arch], 21);
        if (c[i].key) {
            k = m_find_key(&m, c[i].key);
            if (!k)
                m_num(&m, c[i].key, GGUF_F32, c[i].num);
            k = m_find_key(&m, c[i].key);
            k->num = c[i].num;
            k->str = c[i].word;
        }
        if (c[i].arch == 12) {
            m_int(&m, "rope.scaling.original_context_length", 16);
            m_add(&m, -1, "rope_factors_long.weight", M_HEAD / 2, 1, 1, 3, 1);
            m_add(&m, -1, "rope_factors_short.weight", M_HEAD / 2, 1, 1, 1, 0);
        }
        file = m_pack(&m);
        if (!gguf_open_memory(&g, "rope", &file, 1, &e) &&
            !runner_open(&r, g, &o, &e))
            got = model_kv(r.m)->rope;
        ok(!strncmp(got, c[i].want, strlen(c[i].want)), "%s: %s %s", m.a->name,
           got, e.msg);
        if (c[i].arch == 10)
            ok(strstr(got, "; windows: none, base 1000, factor 1, times 1"),
               "%s: a table for windows", m.a->name);
        runner_close(&r);
        gguf_close(g);
        m_free(&m);
    }
}

static void check_context(void)
{
    static struct tiny m;
    struct gguf_str file;
    struct gguf *g = NULL;
    struct be *be = NULL;
    struct model *x = NULL;
    struct err e = {0};
    struct model_opts o = {.context = 3, .slide = true};

    m_make(&m, &m_archs[9], 2); /* windows of 5 and none */
    file = m_pack(&m);
    ok(!gguf_open_memory(&g, "context", &file, 1, &e) &&
           !be_open(&be, "cpu", &(struct be_opts){.threads = 1}, &e) &&
           !model_open(&x, g, be, &(struct model_opts){0}, &e) &&
           model_context(x) == M_CONTEXT &&
           model_trained_context(x) == M_CONTEXT &&
           model_kv(x)->layer[0].window == 5 &&
           model_kv(x)->layer[1].window == 0 && model_n_vocab(x) == M_VOCAB &&
           !strcmp(model_arch(x), "gemma2"),
       "context and windows of the file %s", e.msg);
    model_close(x);
    ok(!model_open(&x, g, be, &o, &e) && model_context(x) == 3 &&
           model_kv(x)->layer[0].window == 3 &&
           model_kv(x)->layer[1].window == 3,
       "sliding: no layer sees more than the context %s", e.msg);
    model_close(x);
    o = (struct model_opts){.context = -1};
    ok(model_open(&x, g, be, &o, &e) && e.code == ERR_USAGE,
       "a context below 0: %s", e.msg);
    be_close(be);
    gguf_close(g);
    m_free(&m);
}

/* Every tensor, of every architecture: gone, misshapen, of a type that cannot
 * be, or twice as many dimensions. */
static void check_tensors(const struct m_arch *a, int number)
{
    static struct tiny m;
    char msg[512];
    int said, good[4] = {0}, n;

    m_make(&m, a, 9);
    n = m.nt;
    for (int i = 0; i < n; i++) {
        struct m_tensor *t = &m.t[i], was = *t;
        enum err_code code;

        /* Optional ones must be in all layers or in none; a head that is gone
         * is the embedding, as is meant. */
        snprintf(t->name, sizeof t->name, "gone");
        code = open_it(&m, "", &said, msg);
        good[0] += (code == ERR_FORMAT || code == ERR_UNSUPPORTED) && said;
        *t = was;
        t->ne[0] += 32;
        t->type = GGUF_T_F16; /* zeros: no floats are needed */
        code = open_it(&m, was.name, &said, msg);
        /* The embedding has no other shape than its own: the number of rows
         * is the vocabulary's. */
        good[1] += code == ERR_FORMAT && said;
        *t = was;
        t->type = GGUF_T_I32;
        code = open_it(&m, was.name, &said, msg);
        good[2] += code == ERR_UNSUPPORTED && said;
        *t = was;
        t->ne[2] *= 2;
        t->type = GGUF_T_F16;
        code = open_it(&m, was.name, &said, msg);
        good[3] += code == ERR_FORMAT && said;
        *t = was;
    }
    ok(good[0] == n, "%s %d: %d of %d tensors missed", a->name, number, good[0],
       n);
    ok(good[1] == n, "%s %d: %d of %d shapes refused", a->name, number, good[1],
       n);
    ok(good[2] == n, "%s %d: %d of %d types refused", a->name, number, good[2],
       n);
    ok(good[3] == n, "%s %d: %d of %d stacks refused", a->name, number, good[3],
       n);
    m_add(&m, -1, "blk.0.attn_extra.weight", M_DIM, 1, 1, 0, 1);
    ok(open_it(&m, "blk.0.attn_extra.weight", &said, msg) == ERR_UNSUPPORTED &&
           said,
       "%s %d: a tensor too many: %s", a->name, number, msg);
    m_free(&m);
}

static void check_unknown(void)
{
    static const struct m_arch other = {"nonesuch", M_OUTPUT, .window = 0};
    static struct tiny m;
    char msg[512];
    int said;

    m_make(&m, &other, 3);
    ok(open_it(&m, "architecture 'nonesuch' is not supported", &said, msg) ==
               ERR_UNSUPPORTED &&
           said,
       "an unknown architecture: %s", msg);
    m_free(&m);
}

/* Numbers that are not: they come out, and nothing breaks. */
static void check_nan(void)
{
    static struct tiny m;
    struct runner_opts o = {.threads = 1, .cpu_mask = ~0u, .kv = KV_F16};
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f};

    for (int i = 0; i < 4; i++) {
        struct gguf_str file;
        struct gguf *g = NULL;
        struct runner r = {0};
        struct err e = {0};
        int32_t t[N_TOKENS];
        float got[M_VOCAB];

        n_tokens(t, N_TOKENS);
        m_make(&m, &m_archs[i], 4);
        for (int k = 0; k < m.nt; k++)
            m.t[k].v[0] = odd[i];
        file = m_pack(&m);
        ok(!gguf_open_memory(&g, "nan", &file, 1, &e) &&
               !runner_open(&r, g, &o, &e) &&
               !runner_run(&r, t, 0, N_TOKENS, RUN_LAST, got, &e) &&
               !(fabsf(got[0]) < 1e30f),
           "weights of %g", (double)odd[i]);
        runner_close(&r);
        gguf_close(g);
        m_free(&m);
    }
}

int main(void)
{
    for (int i = 0; i < M_NARCH; i++)
        if (!(m_archs[i].flags & M_BOTH))
            check_arch(&m_archs[i], i);
    check_bad_keys();
    check_missing_keys();
    check_arrays();
    check_unknown();
    check_nan();
    check_rope();
    check_context();
    for (int i = 0; i < M_NARCH; i++)
        check_mutants(&m_archs[i], i);
    for (int i = 0; i < M_NARCH; i++)
        check_tensors(&m_archs[i], i);
    return tap_done();
}
