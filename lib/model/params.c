/* SPDX-License-Identifier: MIT
 *
 * Numbers from a file decide shapes only: the tensors must then have exactly
 * those, so a file cannot make anything larger than itself.  The limits here
 * keep products of two numbers within an int. */
#include "model/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gguf/config.h"
#include "model/arch.h"

enum {
    MAX_DIM = 1 << 20,
    MAX_FF = 1 << 24,
    MAX_HEADS = 1 << 14,
    MAX_HEAD_DIM = 1 << 14,
    MAX_EXPERTS = 1 << 14,
    MAX_CONTEXT = 1 << 30
};

/* The whole key; notes that it was asked for. */
static const struct gguf_val *find(struct build *b, char full[160],
                                   const char *key)
{
    const struct gguf_val *v;

    snprintf(full, 160, "%s.%s", b->arch->name, key);
    v = gguf_key(b->g, full);
    if (v)
        b->key_seen[v - gguf_key_at(b->g, 0)] = true;
    return v;
}

static int missing(struct build *b, const char *full)
{
    return arch_fail(b, ERR_FORMAT, "key '%s' is missing", full);
}

bool params_has(struct build *b, const char *key)
{
    char full[160];

    return !b->bad && find(b, full, key);
}

int params_int(struct build *b, const char *key, int def, int min, int max)
{
    char full[160];
    int64_t n = def;

    if (b->bad)
        return min;
    if (!find(b, full, key) && def == PARAMS_REQUIRED)
        missing(b, full);
    else if (gguf_get_int(&n, b->g, full, min, max, b->e) < 0)
        b->bad = true;
    return b->bad ? min : (int)n;
}

double params_num(struct build *b, const char *key, double def, double min,
                  double max)
{
    char full[160];
    double d = def;

    if (b->bad)
        return min;
    if (!find(b, full, key) && def == PARAMS_REQUIRED)
        missing(b, full);
    else if (gguf_get_float(&d, b->g, full, b->e) < 0)
        b->bad = true;
    else if (gguf_key(b->g, full) && !(d >= min && d <= max))
        arch_fail(b, ERR_FORMAT, "key '%s': %g is not in %g..%g", full, d, min,
                  max);
    return b->bad ? min : d;
}

bool params_bool(struct build *b, const char *key, bool def)
{
    char full[160];

    if (b->bad)
        return def;
    find(b, full, key);
    if (gguf_get_bool(&def, b->g, full, b->e) < 0)
        b->bad = true;
    return def;
}

int params_word(struct build *b, const char *key, const char *const *word,
                int def)
{
    char full[160];
    struct gguf_str s;

    if (b->bad)
        return def;
    find(b, full, key);
    switch (gguf_get_str(&s, b->g, full, b->e)) {
    case 0:
        return def;
    case 1:
        for (int i = 0; word[i]; i++)
            if (s.n == strlen(word[i]) && !memcmp(s.p, word[i], s.n))
                return i;
        arch_fail(b, ERR_UNSUPPORTED, "key '%s': '%.*s' is not supported", full,
                  s.n > 80 ? 80 : (int)s.n, s.p);
        return def;
    default:
        b->bad = true;
        return def;
    }
}

/* Layer L's value of a key that is one number, or an array with one for each
 * layer. */
static int per_layer(struct build *b, const char *key, int l, int def, int min,
                     int max)
{
    char full[160];
    const struct gguf_val *v = b->bad ? NULL : find(b, full, key);
    int64_t n = 0;

    if (!v || v->type != GGUF_ARR)
        return params_int(b, key, def, min, max);
    if (v->n != (uint64_t)b->p.nlayer)
        arch_fail(b, ERR_FORMAT, "key '%s': has %llu elements for %d layers",
                  full, (unsigned long long)v->n, b->p.nlayer);
    else if (!gguf_elem_int(&n, v, (uint64_t)l) || n < min || n > max)
        arch_fail(b, ERR_FORMAT, "key '%s': element %d is not in %d..%d", full,
                  l, min, max);
    return b->bad ? min : (int)n;
}

static void read_layers(struct build *b)
{
    struct params *p = &b->p;
    int def;

    for (int l = 0; l < p->nlayer && !b->bad; l++) {
        struct params_layer *y = &p->layer[l];

        y->heads = per_layer(b, "attention.head_count", l, PARAMS_REQUIRED, 1,
                             MAX_HEADS);
        y->kv_heads =
            per_layer(b, "attention.head_count_kv", l, y->heads, 1, MAX_HEADS);
        y->ff = per_layer(b, "feed_forward_length", l,
                          p->experts ? 1 : PARAMS_REQUIRED, 1, MAX_FF);
        if (!b->bad && y->heads % y->kv_heads)
            arch_fail(b, ERR_FORMAT,
                      "key '%s.attention.head_count_kv': %d heads cannot share "
                      "%d",
                      b->arch->name, y->heads, y->kv_heads);
    }
    if (b->bad)
        return;
    def = p->dim / p->layer[0].heads;
    p->dk = params_int(b, "attention.key_length", def ? def : PARAMS_REQUIRED,
                       1, MAX_HEAD_DIM);
    p->dv = params_int(b, "attention.value_length", def ? def : PARAMS_REQUIRED,
                       1, MAX_HEAD_DIM);
    if (params_int(b, "attention.key_length_swa", p->dk, 1, MAX_HEAD_DIM) !=
            p->dk ||
        params_int(b, "attention.value_length_swa", p->dv, 1, MAX_HEAD_DIM) !=
            p->dv)
        arch_fail(b, ERR_UNSUPPORTED,
                  "key '%s.attention.key_length_swa': heads of two sizes are "
                  "not supported",
                  b->arch->name);
}

static void read_experts(struct build *b)
{
    struct params *p = &b->p;
    int f;

    if (!(b->arch->flags & ARCH_EXPERTS))
        return;
    p->experts = params_int(b, "expert_count", 0, 0, MAX_EXPERTS);
    p->used =
        params_int(b, "expert_used_count", p->experts ? PARAMS_REQUIRED : 0,
                   !!p->experts, p->experts);
    f = params_int(b, "expert_gating_func", 0, 0, 1 << 30);
    if (f > 2)
        arch_fail(b, ERR_UNSUPPORTED,
                  "key '%s.expert_gating_func': %d is not supported",
                  b->arch->name, f);
    p->sigmoid_experts = f == 2;
}

void params_read(struct build *b)
{
    struct params *p = &b->p;
    const char *eps = b->arch->flags & ARCH_LAYERNORM
                          ? "attention.layer_norm_epsilon"
                          : "attention.layer_norm_rms_epsilon";

    p->nlayer =
        params_int(b, "block_count", PARAMS_REQUIRED, 1, GGUF_MAX_LAYERS);
    p->dim = params_int(b, "embedding_length", PARAMS_REQUIRED, 1, MAX_DIM);
    p->context =
        params_int(b, "context_length", PARAMS_REQUIRED, 1, MAX_CONTEXT);
    p->eps = (float)params_num(b, eps, PARAMS_REQUIRED, 0, 1);
    p->layer = b->bad
                   ? NULL
                   : arena_array(b->mem, (size_t)p->nlayer, sizeof *p->layer);
    if (!b->bad && !p->layer) {
        err_nomem(b->e);
        b->bad = true;
    }
    read_experts(b);
    if (!b->bad)
        read_layers(b);
    p->embed_scale = p->residual_scale = p->logit_scale = 1;
    p->attn_scale = b->bad ? 1 : (float)(1 / sqrt(p->dk));
    /* 0, as some files say, is the default. */
    if (params_num(b, "attention.scale", 0, 0, 1e6) > 0)
        p->attn_scale = (float)params_num(b, "attention.scale", 0, 0, 1e6);
    if (b->arch->flags & ARCH_BOTH && params_bool(b, "attention.causal", false))
        arch_fail(b, ERR_UNSUPPORTED,
                  "key '%s.attention.causal': true is not supported",
                  b->arch->name);
    p->pooling = params_has(b, "pooling_type")
                     ? params_int(b, "pooling_type", 0, 0, 4)
                     : -1;
    if (!b->context)
        b->context = p->context;
}

void params_windows(struct build *b, int period, int window)
{
    static const char key[] = "attention.sliding_window_pattern";
    char full[160];
    const struct gguf_val *v;

    window = params_int(b, "attention.sliding_window", window, 0, INT32_MAX);
    if (b->bad)
        return;
    v = find(b, full, key);
    if (v && v->type != GGUF_ARR)
        period = params_int(b, key, 0, 0, GGUF_MAX_LAYERS);
    for (int l = 0; l < b->p.nlayer && !b->bad; l++) {
        int global = b->arch->flags & ARCH_FIRST_GLOBAL ? 0 : period - 1;
        bool slides = !period || l % period != global;

        if (v && v->type == GGUF_ARR)
            slides = per_layer(b, key, l, 0, 0, 1);
        b->p.layer[l].window = slides ? window : 0;
    }
}

int params_window(const struct build *b, int l)
{
    int w = b->p.layer[l].window;

    return b->slide && (!w || w > b->context) ? b->context : w;
}

/* ---- keys that nobody asked for ---- */

/* Their values, whatever they are, do not change what is computed. */
static const char *const harmless[] = {
    "vocab_size",
    "tensor_data_layout",
    "classifier.output_labels",
    "dense_2_feat_in",
    "dense_2_feat_out",
    "dense_3_feat_in",
    "dense_3_feat_out",
    "feed_forward_length",
    "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "attention.sliding_window_pattern",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_log_multiplier",
};

/* These change nothing when they are 1, and all others when they are 0. */
static const char *const one[] = {
    "logit_scale",           "residual_scale",
    "embedding_scale",       "attention.output_scale",
    "attention.value_scale", "attention.causal",
    "rope.scaling.alpha",    "expert_weights_scale",
    "expert_group_count",    "expert_group_used_count",
    "moe_every_n_layers",    "interleave_moe_layer_step",
};

static bool among(struct gguf_str key, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (key.n == strlen(list[i]) && !memcmp(key.p, list[i], key.n))
            return true;
    return false;
}

static bool changes_nothing(const struct gguf_val *v, struct gguf_str key)
{
    bool causal = key.n == 16 && !memcmp(key.p, "attention.causal", 16);
    double d = 1;
    int64_t i;

    if (among(key, harmless, sizeof harmless / sizeof *harmless))
        return true;
    if (gguf_val_int(&i, v))
        d = (double)i;
    else if (!gguf_val_float(&d, v))
        return false;
    return (d == 0 && !causal) ||
           (d == 1 && among(key, one, sizeof one / sizeof *one));
}

void params_unknown(struct build *b)
{
    size_t n = strlen(b->arch->name) + 1;

    for (size_t i = 0; i < gguf_nkey(b->g) && !b->bad; i++) {
        const struct gguf_val *v = gguf_key_at(b->g, i);
        struct gguf_str key;

        if (b->key_seen[i] || v->key.n < n || v->key.p[n - 1] != '.' ||
            memcmp(v->key.p, b->arch->name, n - 1))
            continue;
        key = (struct gguf_str){v->key.p + n, v->key.n - n};
        if (!changes_nothing(v, key))
            arch_fail(b, ERR_UNSUPPORTED, "key '%.*s' is not supported",
                      v->key.n > 80 ? 80 : (int)v->key.n, v->key.p);
    }
}
