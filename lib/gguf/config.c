/* SPDX-License-Identifier: MIT
 *
 * Per-layer numbers stand as one scalar or as an array with one element per
 * layer.  Which layers slide is an array of bools, or a period P (every P-th
 * layer sees all), or, in older files, known by the architecture alone.
 */
#include "gguf/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf_impl.h"

struct cx {
    struct gguf_config *c;
    const struct gguf *g;
    struct err *e;
};

static const char *full_name(char key[160], const struct cx *x,
                             const char *suffix)
{
    snprintf(key, 160, "%.*s.%s", GGUF_NAME(x->c->arch), suffix);
    return key;
}

/* A scalar of the architecture: 1, 0, -1 as gguf_get_int(). */
static int num(int64_t *out, const struct cx *x, const char *suffix)
{
    char key[160];

    return gguf_get_int(out, x->g, full_name(key, x, suffix), 0, INT32_MAX,
                        x->e);
}

static const struct gguf_val *find(const struct cx *x, const char *suffix)
{
    char key[160];

    return gguf_key(x->g, full_name(key, x, suffix));
}

/* Layer I's value of a key that may be a scalar or an array; same results. */
static int per_layer(int64_t *out, const struct cx *x, const char *suffix,
                     int64_t i)
{
    const struct gguf_val *v = find(x, suffix);
    int64_t n = 0;

    if (!v || v->type != GGUF_ARR)
        return num(out, x, suffix);
    if (v->n < (uint64_t)x->c->layers)
        return err_set(x->e, ERR_FORMAT,
                       "%s: key '%.*s': has %llu elements for %lld layers",
                       x->g->path, GGUF_NAME(v->key), (unsigned long long)v->n,
                       (long long)x->c->layers);
    if (!gguf_elem_int(&n, v, (uint64_t)i) || n < 0 || n > INT32_MAX)
        return err_set(x->e, ERR_FORMAT,
                       "%s: key '%.*s': element %lld is not a count",
                       x->g->path, GGUF_NAME(v->key), (long long)i);
    *out = n;
    return 1;
}

static bool arch_is(const struct cx *x, const char *name)
{
    return x->c->arch.n == strlen(name) &&
           !memcmp(x->c->arch.p, name, x->c->arch.n);
}

/* Architectures whose older files do not say which layers slide. */
static const struct slide {
    const char *arch;
    int period, window; /* WINDOW: when the key is absent too */
    bool full_first;    /* the full layer is the first of its group */
} slides[] = {
    {"afmoe", 4, 0, false},       {"cohere2", 4, 0, false},
    {"cohere2moe", 4, 0, true},   {"exaone-moe", 4, 128, false},
    {"exaone4", 4, 0, false},     {"gemma-embedding", 6, 0, false},
    {"gemma2", 2, 4096, false},   {"gemma3", 6, 0, false},
    {"gemma3n", 5, 0, false},     {"gpt-oss", 2, 0, false},
    {"laguna", 4, 0, true},       {"llama4", 4, 8192, false},
    {"mellum", 4, 0, false},      {"modern-bert", 3, 0, true},
    {"olmo2", 4, 0, false},       {"plamo3", 8, 0, false},
    {"smallthinker", 4, 0, true},
};

static const struct slide *slide_of(const struct cx *x)
{
    for (size_t i = 0; i < sizeof slides / sizeof *slides; i++)
        if (arch_is(x, slides[i].arch))
            return &slides[i];
    return NULL;
}

static int find_windows(const struct cx *x)
{
    static const char key[] = "attention.sliding_window_pattern";
    struct gguf_config *c = x->c;
    const struct gguf_val *v = find(x, key);
    const struct slide *s = slide_of(x);
    int64_t period = s ? s->period : 1, slides_here;
    int r;

    r = num(&c->window, x, "attention.sliding_window");
    if (!r && s)
        c->window = s->window;
    if (r < 0 || !c->window)
        return r < 0 ? -1 : 0;
    if (v && v->type != GGUF_ARR && num(&period, x, key) < 0)
        return -1;
    for (int64_t i = 0; i < c->layers; i++) {
        int64_t in = period ? i % period : 0;

        slides_here =
            !period || (s && s->full_first ? in > 0 : in < period - 1);
        if (v && v->type == GGUF_ARR && per_layer(&slides_here, x, key, i) < 0)
            return -1;
        c->layer[i].window = slides_here ? c->window : 0;
    }
    return 0;
}

static int find_heads(const struct cx *x)
{
    struct gguf_config *c = x->c;
    int64_t k = 0, v = 0, k_swa = 0, v_swa = 0, first = 0, mla = 0;

    for (int64_t i = 0; i < c->layers; i++) {
        struct gguf_layer *l = &c->layer[i];
        int r = per_layer(&l->heads, x, "attention.head_count", i);

        l->kv_heads = l->heads;
        if (r < 0 ||
            per_layer(&l->kv_heads, x, "attention.head_count_kv", i) < 0)
            return -1;
        first = first ? first : l->heads;
    }
    k = v = first ? c->embedding / first : 0;
    if (num(&k, x, "attention.key_length") < 0 ||
        num(&v, x, "attention.value_length") < 0)
        return -1;
    k_swa = k;
    v_swa = v;
    if (num(&k_swa, x, "attention.key_length_swa") < 0 ||
        num(&v_swa, x, "attention.value_length_swa") < 0 ||
        num(&c->lora_rank, x, "attention.kv_lora_rank") < 0 ||
        num(&mla, x, "attention.key_length_mla") < 0)
        return -1;
    for (int64_t i = 0; i < c->layers; i++) {
        struct gguf_layer *l = &c->layer[i];

        l->k_len = l->window ? k_swa : k;
        l->v_len = l->window ? v_swa : v;
        /* The compressed row and the rotated part of K, shared by all heads;
         * V is read out of the same row. */
        if (mla && c->lora_rank && l->kv_heads) {
            l->kv_heads = 1;
            l->k_len = c->lora_rank + c->rope_dims;
            l->v_len = 0;
        }
    }
    return 0;
}

static bool has_tensor(const struct cx *x, int64_t layer,
                       const char *const *name)
{
    for (; *name; name++) {
        char full[64];

        snprintf(full, sizeof full, "blk.%lld.%s", (long long)layer, *name);
        if (gguf_tensor(x->g, full))
            return true;
    }
    return false;
}

/* Which layers keep what: by their tensors, where the file has them. */
static int find_memory(const struct cx *x)
{
    static const char *const attn[] = {"attn_k.weight", "attn_qkv.weight",
                                       "attn_kv_a_mqa.weight", NULL},
                             *const recurrent[] = {"ssm_conv1d.weight",
                                                   "ssm_conv1d_q.weight",
                                                   "shortconv.conv.weight",
                                                   "time_mix_key.weight", NULL},
                             *const any[] = {
                                 "attn_norm.weight", "attn_norm.bias",
                                 "attn_output.weight", "ffn_norm.weight", NULL};
    struct gguf_config *c = x->c;
    int64_t shared = 0, nextn = 0, interval = 0;
    bool blocks = has_tensor(x, 0, any) || has_tensor(x, 0, attn) ||
                  has_tensor(x, 0, recurrent);

    if (num(&shared, x, "attention.shared_kv_layers") < 0 ||
        num(&nextn, x, "nextn_predict_layers") < 0 ||
        num(&interval, x, "full_attention_interval") < 0)
        return -1;
    for (int64_t i = 0; i < c->layers; i++) {
        struct gguf_layer *l = &c->layer[i];
        bool main = i < c->layers - nextn;

        l->state = main && has_tensor(x, i, recurrent);
        l->kv = main && c->causal && l->kv_heads && i < c->layers - shared &&
                (!blocks || has_tensor(x, i, attn));
        if (interval && (i + 1) % interval)
            l->kv = false;
        else if (interval)
            l->state = false;
    }
    return 0;
}

/* A recurrent layer's state, kept in f32: what its convolution still needs of
 * the past, and the state proper. */
static int find_state(const struct cx *x)
{
    struct gguf_config *c = x->c;
    int64_t conv = 0, inner = 0, state = 0, group = 0, wkv = 0, shift = 2,
            short_conv = 0, kda = 0, heads = 0;
    uint64_t n = 0, a = 0, b = 0;
    bool ok;

    if (num(&conv, x, "ssm.conv_kernel") < 0 ||
        num(&inner, x, "ssm.inner_size") < 0 ||
        num(&state, x, "ssm.state_size") < 0 ||
        num(&group, x, "ssm.group_count") < 0 ||
        num(&wkv, x, "wkv.head_size") < 0 ||
        num(&shift, x, "token_shift_count") < 0 ||
        num(&short_conv, x, "shortconv.l_cache") < 0 ||
        num(&kda, x, "kda.head_dim") < 0)
        return -1;
    conv = conv ? conv - 1 : 0;
    for (int64_t i = 0; i < c->layers && !heads; i++)
        heads = c->layer[i].heads;
    if (wkv)
        ok = mul_ok((uint64_t)c->embedding, (uint64_t)(shift + wkv), &n);
    else if (short_conv)
        ok = mul_ok((uint64_t)c->embedding, (uint64_t)(short_conv - 1), &n);
    else if (kda)
        ok = mul_ok((uint64_t)(heads * kda), (uint64_t)(3 * conv + kda), &n);
    else
        ok = mul_ok(2 * (uint64_t)group, (uint64_t)state, &a) &&
             add_ok(a, (uint64_t)inner, &a) && mul_ok(a, (uint64_t)conv, &a) &&
             mul_ok((uint64_t)state, (uint64_t)inner, &b) && add_ok(a, b, &n);
    if (!ok || n > INT64_MAX / 4)
        return err_set(x->e, ERR_FORMAT,
                       "%s: the recurrent state's size "
                       "overflows",
                       x->g->path);
    c->state_bytes = (int64_t)n * 4;
    return 0;
}

static int find_layers(const struct cx *x)
{
    struct gguf_config *c = x->c;
    int64_t n;

    c->ff_min = INT64_MAX;
    c->layer = calloc(c->layers ? (size_t)c->layers : 1, sizeof *c->layer);
    if (!c->layer)
        return err_nomem(x->e);
    for (int64_t i = 0; i < c->layers; i++) {
        n = 0;
        if (per_layer(&n, x, "feed_forward_length", i) < 0)
            return -1;
        c->ff_min = n < c->ff_min ? n : c->ff_min;
        c->ff_max = n > c->ff_max ? n : c->ff_max;
    }
    if (find_windows(x) || find_heads(x) || find_memory(x) || find_state(x))
        return -1;
    return 0;
}

static int find_rope(const struct cx *x)
{
    char key[160];

    x->c->rope_factor = 0;
    if (num(&x->c->rope_dims, x, "rope.dimension_count") < 0 ||
        gguf_get_float(&x->c->rope_base, x->g,
                       full_name(key, x, "rope.freq_base"), x->e) < 0 ||
        gguf_get_float(&x->c->rope_factor, x->g,
                       full_name(key, x, "rope.scaling.factor"), x->e) < 0 ||
        gguf_get_str(&x->c->rope_scaling, x->g,
                     full_name(key, x, "rope.scaling.type"), x->e) < 0)
        return -1;
    return 0;
}

/* The number of layers that a decoder has: of T5, its decoder's. */
static int find_layer_count(const struct cx *x)
{
    struct gguf_config *c = x->c;

    if (num(&c->layers, x, "block_count") < 0 ||
        num(&c->layers, x, "decoder_block_count") < 0)
        return -1;
    if (c->layers > GGUF_MAX_LAYERS) {
        err_set(x->e, ERR_FORMAT, "%s: key 'block_count': %lld is more than %d",
                x->g->path, (long long)c->layers, GGUF_MAX_LAYERS);
        c->layers = 0;
        return -1;
    }
    return 0;
}

static int find_causal(const struct cx *x)
{
    char key[160];

    x->c->causal = !arch_is(x, "t5encoder") && !arch_is(x, "gemma-embedding");
    return gguf_get_bool(&x->c->causal, x->g,
                         full_name(key, x, "attention.causal"), x->e) < 0
               ? -1
               : 0;
}

static void sum_tensors(struct gguf_config *c, const struct gguf *g)
{
    const struct gguf_val *tokens = gguf_key(g, "tokenizer.ggml.tokens");
    const struct gguf_tensor *t = gguf_tensor(g, "token_embd.weight");

    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *k = gguf_tensor_at(g, i);
        const struct gguf_type_info *type = gguf_type_info(k->type);

        c->params += k->bytes / type->bytes * type->elems;
        c->bytes += k->bytes;
    }
    if (tokens && tokens->type == GGUF_ARR)
        c->tokens = (int64_t)tokens->n;
    if (t)
        c->rows = (int64_t)t->ne[1];
}

int gguf_config_init(struct gguf_config *c, const struct gguf *g, struct err *e)
{
    struct cx x = {c, g, e};

    *c = (struct gguf_config){.causal = true};
    sum_tensors(c, g);
    if (gguf_get_str(&c->arch, g, "general.architecture", e) < 0 ||
        gguf_get_str(&c->name, g, "general.name", e) < 0 ||
        gguf_get_str(&c->size_label, g, "general.size_label", e) < 0)
        return -1;
    if (!c->arch.n)
        return 0;
    if (find_layer_count(&x) || find_causal(&x) || find_rope(&x) ||
        num(&c->context, &x, "context_length") < 0 ||
        num(&c->embedding, &x, "embedding_length") < 0 ||
        num(&c->experts, &x, "expert_count") < 0 ||
        num(&c->experts_used, &x, "expert_used_count") < 0 ||
        num(&c->experts_shared, &x, "expert_shared_count") < 0)
        return -1;
    return c->layers ? find_layers(&x) : 0;
}

void gguf_config_fini(struct gguf_config *c)
{
    free(c->layer);
    c->layer = NULL;
}

/* A row of N elements; a last block that is not full still takes its bytes. */
static bool row_bytes(uint64_t *r, uint64_t n, const struct gguf_type_info *t)
{
    return mul_ok((n + t->elems - 1) / t->elems, t->bytes, r);
}

bool gguf_kv_bytes(uint64_t *kv, uint64_t *state, const struct gguf_config *c,
                   int64_t context, const struct gguf_type_info *kt,
                   const struct gguf_type_info *vt)
{
    *kv = *state = 0;
    for (int64_t i = 0; c->layer && i < c->layers; i++) {
        const struct gguf_layer *l = &c->layer[i];
        int64_t n = l->window && l->window < context ? l->window : context;
        uint64_t k, v;

        if (l->state && !add_ok(*state, (uint64_t)c->state_bytes, state))
            return false;
        if (!l->kv)
            continue;
        /* Each factor is below 2^31, so these two cannot wrap. */
        if (!row_bytes(&k, (uint64_t)(l->kv_heads * l->k_len), kt) ||
            !row_bytes(&v, (uint64_t)(l->kv_heads * l->v_len), vt) ||
            !add_ok(k, v, &k) || !mul_ok(k, (uint64_t)n, &k) ||
            !add_ok(*kv, k, kv))
            return false;
    }
    return true;
}
