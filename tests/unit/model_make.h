/* SPDX-License-Identifier: MIT
 * model_make.h - for tests: tiny models of every architecture, with weights
 * from a seed, as GGUF in memory; and what they compute, in double, written
 * without the library. */
#ifndef LLM_TESTS_MODEL_MAKE_H
#define LLM_TESTS_MODEL_MAKE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "gguf/write.h"

/* What an architecture has. */
enum {
    M_PAIRS = 1 << 0,
    M_LAYERNORM = 1 << 1, /* and biases everywhere */
    M_QKV_BIAS = 1 << 2,
    M_QK_NORM = 1 << 3, /* each head */
    M_QK_WHOLE = 1 << 4,
    M_NO_PRE = 1 << 5, /* no norm before blocks */
    M_POST = 1 << 6,   /* a norm behind them */
    M_FUSED = 1 << 7,
    M_NO_GATE = 1 << 8,
    M_PARALLEL = 1 << 9,
    M_OUTPUT = 1 << 10, /* a head of its own */
    M_OUT_BIAS = 1 << 11,
    M_GELU = 1 << 12,
    M_EXPERTS = 1 << 13,
    M_TOP_NORM = 1 << 14,
    M_SHARED = 1 << 15,
    M_SQRT_DIM = 1 << 16,
    M_O_BIAS = 1 << 17,
    M_MLP_BIAS = 1 << 18,
    M_BOTH = 1 << 19,      /* an encoder; the first of a period sees all */
    M_STREAM = 1 << 20,    /* norms behind the sums; types */
    M_TOP = 1 << 21,       /* a norm of the embeddings */
    M_PLACES = 1 << 22,    /* positions are learned */
    M_ERF = 1 << 23,       /* gelu by its definition */
    M_NORM_BIAS = 1 << 24, /* LAYERNORM: of norms alone, */
    M_NO_BIAS = 1 << 25    /* or none at all */
};

struct m_arch {
    const char *name;
    unsigned flags;
    int window, period; /* all but every PERIODth layer; 0: all */
    double window_base, softcap, attn_softcap;
    int nope;    /* every such layer knows no positions */
    int rotated; /* elements of a head; 0: all */
    double embed, residual, logit, scale, temp;
    int temp_period;
    double factor; /* linear, of layers without a window */
};

static const struct m_arch m_archs[] = {
    {"llama", M_PAIRS | M_OUTPUT, .factor = 2},
    {"llama", M_PAIRS | M_QKV_BIAS | M_O_BIAS | M_MLP_BIAS, .window = 5},
    {"llama", M_PAIRS | M_OUTPUT | M_EXPERTS | M_TOP_NORM, .window = 0},
    {"mistral3", M_PAIRS, .temp = 0.1, .temp_period = 4},
    {"qwen2", M_QKV_BIAS, .window = 0},
    {"qwen2moe", M_QKV_BIAS | M_EXPERTS | M_SHARED | M_OUTPUT, .window = 0},
    {"qwen3", M_QK_NORM, .window = 0},
    {"qwen3moe", M_QK_NORM | M_EXPERTS | M_TOP_NORM | M_OUTPUT, .window = 0},
    {"gemma", M_GELU | M_SQRT_DIM, .window = 0},
    {"gemma2", M_GELU | M_SQRT_DIM | M_POST, .window = 5, .period = 2,
     .softcap = 8, .attn_softcap = 5},
    {"gemma3", M_GELU | M_SQRT_DIM | M_POST | M_QK_NORM, .window = 5,
     .period = 6, .window_base = 1000, .factor = 8},
    {"phi2",
     M_LAYERNORM | M_NO_GATE | M_PARALLEL | M_GELU | M_OUTPUT | M_OUT_BIAS,
     .rotated = 6},
    {"phi3", M_FUSED | M_OUTPUT, .window = 7},
    {"smollm3", M_PAIRS, .nope = 4},
    {"granite", M_PAIRS, .embed = 12, .residual = 0.22, .logit = 0.5,
     .scale = 0.2},
    {"olmo2", M_NO_PRE | M_POST | M_QK_WHOLE | M_OUTPUT, .window = 5,
     .period = 4, .factor = 3},
    {"starcoder2", M_LAYERNORM | M_NO_GATE | M_GELU, .window = 0},
    {"bert",
     M_BOTH | M_LAYERNORM | M_NO_GATE | M_ERF | M_STREAM | M_TOP | M_PLACES,
     .window = 0},
    {"nomic-bert", M_BOTH | M_LAYERNORM | M_NORM_BIAS | M_STREAM | M_TOP,
     .window = 0},
    {"modern-bert", M_BOTH | M_LAYERNORM | M_NO_BIAS | M_FUSED | M_ERF | M_TOP,
     .window = 5, .period = 3, .window_base = 1000},
    {"gemma-embedding", M_BOTH | M_GELU | M_SQRT_DIM | M_POST | M_QK_NORM,
     .window = 8, .period = 6, .window_base = 1000},
};
enum { M_NARCH = sizeof m_archs / sizeof *m_archs };

/* Their sizes. */
enum {
    M_LAYERS = 6,
    M_DIM = 32,
    M_HEADS = 4,
    M_KV = 2,
    M_HEAD = 8,
    M_FF = 48,
    M_VOCAB = 40,
    M_NEXPERT = 4,
    M_USED = 2,
    M_FF_EXPERT = 16,
    M_CONTEXT = 128,
    M_TYPES = 2
};
static const double m_eps = 1e-5, m_base = 10000;

/* ---- the file ---- */

struct m_key {
    char name[64];
    enum gguf_type type;
    double num;
    const char *str;
    int n; /* an array of so many NUMs; 0: one */
};

struct m_tensor {
    char name[96];
    int ne[3];
    uint32_t type;
    float *v;
};

struct tiny {
    const struct m_arch *a;
    struct m_key key[64];
    int nkey;
    struct m_tensor t[256];
    int nt;
    uint64_t seed;
    void (*more)(struct gguf_out *o); /* keys; NULL: none */
    struct buf file;
};

static inline double m_random(struct tiny *m)
{
    m->seed ^= m->seed >> 12;
    m->seed ^= m->seed << 25;
    m->seed ^= m->seed >> 27;
    return (double)(m->seed * 2685821657736338717u >> 40) / (1 << 23) - 1;
}

static inline void m_num(struct tiny *m, const char *name, enum gguf_type type,
                         double num)
{
    struct m_key *k = &m->key[m->nkey++];

    snprintf(k->name, sizeof k->name, "%s.%s", m->a->name, name);
    k->type = type;
    k->num = num;
}

static inline void m_int(struct tiny *m, const char *name, int n)
{
    m_num(m, name, GGUF_U32, n);
}

static inline void m_float(struct tiny *m, const char *name, double d)
{
    m_num(m, name, GGUF_F32, d);
}

static inline void m_name(char full[96], int layer, const char *name)
{
    if (layer < 0)
        snprintf(full, 96, "%s", name);
    else
        snprintf(full, 96, "blk.%d.%s", layer, name);
}

/* Random values around MID. */
static inline void m_add(struct tiny *m, int layer, const char *name, int n_in,
                         int n_out, int n_mat, double mid, double spread)
{
    struct m_tensor *t = &m->t[m->nt++];
    size_t n = (size_t)n_in * (size_t)n_out * (size_t)n_mat;

    *t = (struct m_tensor){.ne = {n_in, n_out, n_mat},
                           .type = GGUF_T_F32,
                           .v = malloc(n * sizeof(float))};
    m_name(t->name, layer, name);
    for (size_t i = 0; i < n; i++)
        t->v[i] = (float)(mid + spread * m_random(m));
}

static inline void m_mat(struct tiny *m, int layer, const char *name, int n_in,
                         int n_out, int n_mat)
{
    m_add(m, layer, name, n_in, n_out, n_mat, 0, 1.7 / sqrt(n_in));
}

static inline void m_norm(struct tiny *m, int layer, const char *name, int n)
{
    m_add(m, layer, name, n, 1, 1, 1, 0.3);
}

static inline void m_bias(struct tiny *m, int layer, const char *name, int n)
{
    m_add(m, layer, name, n, 1, 1, 0, 0.3);
}

/* A norm of the stream, with its bias. */
static inline void m_stream(struct tiny *m, int l, const char *name)
{
    char full[64];

    snprintf(full, sizeof full, "%s.weight", name);
    m_norm(m, l, full, M_DIM);
    snprintf(full, sizeof full, "%s.bias", name);
    if (m->a->flags & M_LAYERNORM && !(m->a->flags & M_NO_BIAS))
        m_bias(m, l, full, M_DIM);
}

/* Do all products have biases? */
static inline bool m_biases(const struct tiny *m)
{
    return m->a->flags & M_LAYERNORM &&
           !(m->a->flags & (M_NORM_BIAS | M_NO_BIAS));
}

/* Has layer L a norm before its blocks?  The first one of an encoder has that
 * of the embeddings. */
static inline bool m_pre(const struct tiny *m, int l)
{
    return !(m->a->flags & (M_NO_PRE | M_STREAM)) &&
           (l || !(m->a->flags & M_TOP));
}

/* Heads of K and V. */
static inline int m_kv(const struct m_arch *a)
{
    return a->flags & M_TOP ? M_HEADS : M_KV;
}

static inline void m_attention(struct tiny *m, int l)
{
    unsigned f = m->a->flags;
    int q = M_HEADS * M_HEAD, kv = m_kv(m->a) * M_HEAD;

    if (m_pre(m, l))
        m_stream(m, l, "attn_norm");
    if (f & M_FUSED) {
        m_mat(m, l, "attn_qkv.weight", M_DIM, q + 2 * kv, 1);
    } else {
        m_mat(m, l, "attn_q.weight", M_DIM, q, 1);
        m_mat(m, l, "attn_k.weight", M_DIM, kv, 1);
        m_mat(m, l, "attn_v.weight", M_DIM, kv, 1);
    }
    if (f & M_QKV_BIAS || m_biases(m)) {
        m_bias(m, l, "attn_q.bias", q);
        m_bias(m, l, "attn_k.bias", kv);
        m_bias(m, l, "attn_v.bias", kv);
    }
    if (f & (M_QK_NORM | M_QK_WHOLE)) {
        m_norm(m, l, "attn_q_norm.weight", f & M_QK_NORM ? M_HEAD : q);
        m_norm(m, l, "attn_k_norm.weight", f & M_QK_NORM ? M_HEAD : kv);
    }
    m_mat(m, l, "attn_output.weight", q, M_DIM, 1);
    if (f & M_O_BIAS || m_biases(m))
        m_bias(m, l, "attn_output.bias", M_DIM);
    if (f & M_POST)
        m_norm(m, l, "post_attention_norm.weight", M_DIM);
    if (f & M_STREAM)
        m_stream(m, l, "attn_output_norm");
}

static inline void m_network(struct tiny *m, int l)
{
    unsigned f = m->a->flags;

    if (!(f & (M_NO_PRE | M_PARALLEL | M_STREAM)))
        m_stream(m, l, "ffn_norm");
    if (f & M_EXPERTS) {
        m_mat(m, l, "ffn_gate_inp.weight", M_DIM, M_NEXPERT, 1);
        m_mat(m, l, "ffn_gate_exps.weight", M_DIM, M_FF_EXPERT, M_NEXPERT);
        m_mat(m, l, "ffn_up_exps.weight", M_DIM, M_FF_EXPERT, M_NEXPERT);
        m_mat(m, l, "ffn_down_exps.weight", M_FF_EXPERT, M_DIM, M_NEXPERT);
        if (f & M_SHARED) {
            m_mat(m, l, "ffn_gate_shexp.weight", M_DIM, M_FF, 1);
            m_mat(m, l, "ffn_up_shexp.weight", M_DIM, M_FF, 1);
            m_mat(m, l, "ffn_down_shexp.weight", M_FF, M_DIM, 1);
            m_mat(m, l, "ffn_gate_inp_shexp.weight", M_DIM, 1, 1);
        }
        return;
    }
    if (!(f & (M_NO_GATE | M_FUSED)))
        m_mat(m, l, "ffn_gate.weight", M_DIM, M_FF, 1);
    m_mat(m, l, "ffn_up.weight", M_DIM, f & M_FUSED ? 2 * M_FF : M_FF, 1);
    m_mat(m, l, "ffn_down.weight", M_FF, M_DIM, 1);
    if (f & M_MLP_BIAS)
        m_bias(m, l, "ffn_gate.bias", M_FF);
    if (f & M_MLP_BIAS || m_biases(m)) {
        m_bias(m, l, "ffn_up.bias", M_FF);
        m_bias(m, l, "ffn_down.bias", M_DIM);
    }
    if (f & M_POST)
        m_norm(m, l, "post_ffw_norm.weight", M_DIM);
    if (f & M_STREAM)
        m_stream(m, l, "layer_output_norm");
}

static inline void m_keys(struct tiny *m)
{
    const struct m_arch *a = m->a;

    m_int(m, "block_count", M_LAYERS);
    m_int(m, "context_length", M_CONTEXT);
    m_int(m, "embedding_length", M_DIM);
    m_int(m, "feed_forward_length", M_FF);
    m_int(m, "attention.head_count", M_HEADS);
    if (m_kv(a) != M_HEADS)
        m_int(m, "attention.head_count_kv", m_kv(a));
    if (!(a->flags & M_PLACES))
        m_float(m, "rope.freq_base", m_base);
    m_float(m,
            a->flags & M_LAYERNORM ? "attention.layer_norm_epsilon"
                                   : "attention.layer_norm_rms_epsilon",
            m_eps);
    if (a->window)
        m_int(m, "attention.sliding_window", a->window);
    if (a->window_base > 0)
        m_float(m, "rope.freq_base_swa", a->window_base);
    if (a->softcap > 0)
        m_float(m, "final_logit_softcapping", a->softcap);
    if (a->attn_softcap > 0)
        m_float(m, "attn_logit_softcapping", a->attn_softcap);
    if (a->rotated)
        m_int(m, "rope.dimension_count", a->rotated);
    if (a->embed > 0)
        m_float(m, "embedding_scale", a->embed);
    if (a->residual > 0)
        m_float(m, "residual_scale", a->residual);
    if (a->logit > 0)
        m_float(m, "logit_scale", a->logit);
    if (a->scale > 0)
        m_float(m, "attention.scale", a->scale);
    if (a->temp > 0) {
        m_float(m, "attention.temperature_scale", a->temp);
        m_int(m, "rope.scaling.original_context_length", a->temp_period);
    }
    if (a->factor > 0)
        m_float(m, "rope.scaling.factor", a->factor);
    if (a->flags & M_EXPERTS) {
        m_int(m, "expert_count", M_NEXPERT);
        m_int(m, "expert_used_count", M_USED);
        m_int(m, "expert_feed_forward_length", M_FF_EXPERT);
    }
    if (a->flags & M_SHARED)
        m_int(m, "expert_shared_feed_forward_length", M_FF);
}

static inline void m_make(struct tiny *m, const struct m_arch *a, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->a = a;
    m->seed = seed;
    m_keys(m);
    m_add(m, -1, "token_embd.weight", M_DIM, M_VOCAB, 1, 0, 1);
    if (a->flags & M_PLACES)
        m_add(m, -1, "position_embd.weight", M_DIM, M_CONTEXT, 1, 0, 1);
    if (a->flags & M_STREAM)
        m_add(m, -1, "token_types.weight", M_DIM, M_TYPES, 1, 0, 1);
    if (a->flags & M_TOP)
        m_stream(m, -1, "token_embd_norm");
    for (int l = 0; l < M_LAYERS; l++) {
        m_attention(m, l);
        m_network(m, l);
    }
    if (!(a->flags & M_STREAM))
        m_stream(m, -1, "output_norm");
    if (a->flags & M_OUTPUT)
        m_mat(m, -1, "output.weight", M_DIM, M_VOCAB, 1);
    if (a->flags & M_OUT_BIAS)
        m_bias(m, -1, "output.bias", M_VOCAB);
}

static inline void m_free(struct tiny *m)
{
    for (int i = 0; i < m->nt; i++)
        free(m->t[i].v);
    buf_free(&m->file);
}

static inline struct m_key *m_find_key(struct tiny *m, const char *name)
{
    char full[64];

    snprintf(full, sizeof full, "%s.%s", m->a->name, name);
    for (int i = 0; i < m->nkey; i++)
        if (!strcmp(m->key[i].name, full))
            return &m->key[i];
    return NULL;
}

static inline struct m_tensor *m_find(struct tiny *m, int layer,
                                      const char *name)
{
    char full[96];

    m_name(full, layer, name);
    for (int i = 0; i < m->nt; i++)
        if (!strcmp(m->t[i].name, full))
            return &m->t[i];
    return NULL;
}

static inline void m_put_array(struct gguf_out *o, const struct m_key *k)
{
    unsigned char p[4 * 64];

    for (int i = 0; i < k->n && i < 64; i++)
        wr_u32(p + 4 * i, (uint32_t)k->num);
    gguf_put_arr(o, k->name, GGUF_U32, (uint64_t)k->n, p, 4 * (size_t)k->n);
}

/* The file's bytes, in M->file.  Data of a type other than F32 are zeros. */
static inline struct gguf_str m_pack(struct tiny *m)
{
    static const char zeros[64];
    struct gguf_out o;
    struct err e = {0};

    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture",
                 (struct gguf_str){m->a->name, strlen(m->a->name)});
    for (int i = 0; i < m->nkey; i++) {
        const struct m_key *k = &m->key[i];

        if (k->str)
            gguf_put_str(&o, k->name,
                         (struct gguf_str){k->str, strlen(k->str)});
        else if (k->n)
            m_put_array(&o, k);
        else if (k->type == GGUF_F32 || k->type == GGUF_F64)
            gguf_put_float(&o, k->name, k->type, k->num);
        else
            gguf_put_int(&o, k->name, k->type, (int64_t)k->num);
    }
    if (m->more)
        m->more(&o);
    for (int i = 0; i < m->nt; i++) {
        const struct m_tensor *t = &m->t[i];
        uint64_t ne[3] = {(uint64_t)t->ne[0], (uint64_t)t->ne[1],
                          (uint64_t)t->ne[2]};

        gguf_put_tensor(&o, (struct gguf_str){t->name, strlen(t->name)},
                        t->type,
                        t->ne[2] > 1   ? 3
                        : t->ne[1] > 1 ? 2
                                       : 1,
                        ne);
    }
    m->file.n = 0;
    if (gguf_out_head(&m->file, &o, &e))
        printf("# %s\n", e.msg);
    for (int i = 0; i < m->nt; i++) {
        const struct m_tensor *t = &m->t[i];
        const struct gguf_type_info *ti = gguf_type_info(t->type);
        size_t n = (size_t)t->ne[0] * (size_t)t->ne[1] * (size_t)t->ne[2],
               bytes = n / ti->elems * ti->bytes;

        if (t->type == GGUF_T_F32) {
            buf_put(&m->file, t->v, bytes);
        } else {
            void *p = buf_add(&m->file, bytes);

            if (p)
                memset(p, 0, bytes);
        }
        buf_put(&m->file, zeros, gguf_out_pad(&o, bytes));
    }
    gguf_out_fini(&o);
    return (struct gguf_str){(const char *)m->file.p, m->file.n};
}

#endif
