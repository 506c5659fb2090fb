/* SPDX-License-Identifier: MIT
 *
 * Which tensors a recipe gives more bits is what the programs that made the
 * names do, so that a Q4_K_M is what people take it for. */
#include "quantize/recipe.h"

#include <string.h>
#include <strings.h>

#define T(name) GGUF_T_##name

static const struct recipe recipes[] = {
    {"F32", 0, T(F32)},          {"F16", 1, T(F16)},
    {"BF16", 32, T(BF16)},       {"Q8_0", 7, T(Q8_0)},
    {"Q6_K", 18, T(Q6_K)},       {"Q5_K_M", 17, T(Q5_K)},
    {"Q5_K_S", 16, T(Q5_K)},     {"Q5_1", 9, T(Q5_1)},
    {"Q5_0", 8, T(Q5_0)},        {"Q4_K_M", 15, T(Q4_K)},
    {"Q4_K_S", 14, T(Q4_K)},     {"Q4_1", 3, T(Q4_1)},
    {"Q4_0", 2, T(Q4_0)},        {"IQ4_NL", 25, T(IQ4_NL)},
    {"IQ4_XS", 30, T(IQ4_XS)},   {"Q3_K_L", 13, T(Q3_K)},
    {"Q3_K_M", 12, T(Q3_K)},     {"Q3_K_S", 11, T(Q3_K)},
    {"Q2_K", 10, T(Q2_K)},       {"Q2_K_S", 21, T(Q2_K)},
    {"MXFP4_MOE", 38, T(MXFP4)}, {"COPY", 0, RECIPE_KEEP},
};

enum { NRECIPE = sizeof recipes / sizeof *recipes };

const struct recipe *recipe_at(size_t i)
{
    return i < NRECIPE ? &recipes[i] : NULL;
}

const struct recipe *recipe_find(const char *name)
{
    static const char *const other[][2] = {
        {"Q5_K", "Q5_K_M"},
        {"Q4_K", "Q4_K_M"},
        {"Q3_K", "Q3_K_M"},
        {"MXFP4", "MXFP4_MOE"},
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcasecmp(name, other[i][0]))
            name = other[i][1];
    for (size_t i = 0; i < NRECIPE; i++)
        if (!strcasecmp(name, recipes[i].name))
            return &recipes[i];
    return NULL;
}

/* ---- tensors ---- */

static bool has(struct gguf_str s, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= s.n; i++)
        if (!memcmp(s.p + i, word, n))
            return true;
    return false;
}

static bool is(struct gguf_str s, const char *word)
{
    return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

static bool ends_in(struct gguf_str s, const char *word)
{
    size_t n = strlen(word);

    return s.n >= n && !memcmp(s.p + s.n - n, word, n);
}

/* Matrices that are small, or that a model's choices hang on. */
static const char *const fixed[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "position_embd",
    "token_types.weight",
    "ssm_conv1d",
    "shortconv.conv",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first",
    "time_mix_w0",
    "time_mix_w1",
    "time_mix_w2",
    "time_mix_v0",
    "time_mix_v1",
    "time_mix_v2",
    "time_mix_a0",
    "time_mix_a1",
    "time_mix_a2",
    "time_mix_g1",
    "time_mix_g2",
    "time_mix_decay",
    "time_mix_lerp_fused",
    "attn_rel_b.weight",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

enum recipe_role recipe_role(const struct gguf *g, const struct gguf_tensor *t)
{
    static const struct {
        const char *word;
        enum recipe_role role;
    } by_name[] = {
        {"attn_qkv.weight", RECIPE_V},    {"attn_kv_b.weight", RECIPE_V},
        {"attn_v.weight", RECIPE_V},      {"attn_k.weight", RECIPE_K},
        {"attn_output.weight", RECIPE_O}, {"ffn_down", RECIPE_DOWN},
    };

    if (t->ndim < 2 || !ends_in(t->name, "weight"))
        return RECIPE_FIXED;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (has(t->name, fixed[i]))
            return RECIPE_FIXED;
    if (is(t->name, "output.weight"))
        return RECIPE_OUTPUT;
    if (is(t->name, "token_embd.weight"))
        return gguf_tensor(g, "output.weight") ? RECIPE_EMBED : RECIPE_OUTPUT;
    if (is(t->name, "per_layer_token_embd.weight"))
        return gguf_tensor(g, "output.weight") ? RECIPE_EMBED : RECIPE_OUTPUT;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (has(t->name, by_name[i].word))
            return by_name[i].role;
    return RECIPE_REST;
}

/* ---- rules ---- */

/* When a rule holds. */
enum when {
    ALWAYS,
    FIRST2, /* of its like */
    FIRST4,
    PART16,  /* in the first sixteenth of the layers */
    PART8,   /* the first eighth */
    MORE,    /* the first and last eighth, and every third between */
    SHARED,  /* at least 4 heads share a K and V */
    EXPERTS, /* 8 experts */
    PLAIN8,  /* PART8, without an importance matrix */
    MATRIX8, /* PART8, with one */
};

/* The first rule that holds, of those for the role, is taken; where none does,
 * the recipe's own type. */
static const struct rule {
    const char *recipe;
    enum recipe_role role;
    enum when when;
    uint32_t type;
} rules[] = {
    {"", RECIPE_V, EXPERTS, T(Q8_0)},
    {"", RECIPE_K, EXPERTS, T(Q8_0)},
    {"Q2_K", RECIPE_O, EXPERTS, T(Q5_K)},
    {"Q3_K_S", RECIPE_O, EXPERTS, T(Q5_K)},
    {"Q3_K_M", RECIPE_O, EXPERTS, T(Q5_K)},
    {"Q4_K_S", RECIPE_O, EXPERTS, T(Q5_K)},
    {"Q4_K_M", RECIPE_O, EXPERTS, T(Q5_K)},
    {"IQ4_NL", RECIPE_O, EXPERTS, T(Q5_K)},
    {"IQ4_XS", RECIPE_O, EXPERTS, T(Q5_K)},
    {"Q2_K", RECIPE_V, SHARED, T(Q4_K)},
    {"Q2_K", RECIPE_V, ALWAYS, T(Q3_K)},
    {"Q2_K", RECIPE_DOWN, ALWAYS, T(Q3_K)},
    {"Q2_K", RECIPE_O, ALWAYS, T(Q3_K)},
    {"Q2_K_S", RECIPE_V, SHARED, T(Q4_K)},
    {"Q2_K_S", RECIPE_DOWN, PART8, T(Q4_K)},
    {"Q3_K_M", RECIPE_V, FIRST2, T(Q5_K)},
    {"Q3_K_M", RECIPE_V, ALWAYS, T(Q4_K)},
    {"Q3_K_M", RECIPE_DOWN, PART16, T(Q5_K)},
    {"Q3_K_M", RECIPE_DOWN, ALWAYS, T(Q4_K)},
    {"Q3_K_M", RECIPE_O, ALWAYS, T(Q4_K)},
    {"Q3_K_L", RECIPE_V, ALWAYS, T(Q5_K)},
    {"Q3_K_L", RECIPE_DOWN, ALWAYS, T(Q5_K)},
    {"Q3_K_L", RECIPE_O, ALWAYS, T(Q5_K)},
    {"Q4_K_S", RECIPE_V, FIRST4, T(Q5_K)},
    {"Q4_K_S", RECIPE_DOWN, PART8, T(Q5_K)},
    {"Q4_K_M", RECIPE_V, MORE, T(Q6_K)},
    {"Q4_K_M", RECIPE_DOWN, MORE, T(Q6_K)},
    {"Q5_K_M", RECIPE_V, MORE, T(Q6_K)},
    {"Q5_K_M", RECIPE_DOWN, MORE, T(Q6_K)},
    {"IQ4_NL", RECIPE_V, SHARED, T(Q5_K)},
    {"IQ4_NL", RECIPE_DOWN, PLAIN8, T(Q5_K)},
    {"IQ4_XS", RECIPE_V, SHARED, T(Q5_K)},
    {"IQ4_XS", RECIPE_DOWN, PLAIN8, T(Q5_K)},
    {"Q4_0", RECIPE_DOWN, MATRIX8, T(Q4_1)},
    {"Q5_0", RECIPE_DOWN, MATRIX8, T(Q5_1)},
};

int64_t recipe_sharing(const struct gguf_config *c)
{
    int64_t most = 1;

    for (int64_t i = 0; c->layer && i < c->layers; i++)
        if (c->layer[i].kv_heads > 0 &&
            c->layer[i].heads / c->layer[i].kv_heads > most)
            most = c->layer[i].heads / c->layer[i].kv_heads;
    return most;
}

static bool holds(enum when when, const struct recipe_place *p)
{
    int64_t i = p->at, n = p->of;

    switch (when) {
    case ALWAYS:
        return true;
    case FIRST2:
        return i < 2;
    case FIRST4:
        return i < 4;
    case PART16:
        return i < n / 16;
    case PLAIN8:
        return !p->imatrix && i < n / 8;
    case MATRIX8:
        return p->imatrix && i < n / 8;
    case PART8:
        return i < n / 8;
    case MORE:
        return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case SHARED:
        return p->shared >= 4;
    case EXPERTS:
        return p->config->experts == 8;
    }
    return false;
}

static uint32_t by_rule(const struct recipe *r, const struct recipe_place *p)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *k = &rules[i];

        if (k->role == p->role &&
            (!*k->recipe || !strcmp(k->recipe, r->name)) && holds(k->when, p))
            return k->type;
    }
    return r->type;
}

uint32_t recipe_type(const struct recipe *r, const struct recipe_place *p)
{
    uint32_t type;

    if (r->type == T(F32) || r->type == T(F16) || r->type == T(BF16))
        return r->type;
    if (p->role == RECIPE_OUTPUT)
        return r->type == T(Q8_0) || r->type == T(MXFP4) || !p->whole ? T(Q8_0)
                                                                      : T(Q6_K);
    if (r->type == T(MXFP4))
        return p->expert ? T(MXFP4) : T(Q8_0);
    type = by_rule(r, p);
    /* With 80 layers, V is small beside Q. */
    if (p->role == RECIPE_V && p->config->layers == 80 && p->shared > 1 &&
        (type == T(Q3_K) || type == T(Q4_K)))
        type = T(Q5_K);
    return type;
}
