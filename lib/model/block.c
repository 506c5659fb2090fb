/* SPDX-License-Identifier: MIT */
#include "model/block.h"

#include <stdio.h>

#include "model/adapt.h"
#include "model/bind.h"

static void put(struct build *b, struct be_op op)
{
    if (!b->bad)
        buf_put(&b->ops, &op, sizeof op);
}

/* A slot holds at least N floats a column. */
static void wide(struct build *b, enum be_slot s, int n)
{
    if (b->width[s] < n)
        b->width[s] = n;
}

/* Must there be a bias? */
static bool has_bias(const struct build *b)
{
    return b->arch->flags & ARCH_LAYERNORM &&
           !(b->arch->flags & ARCH_FEW_BIASES);
}

void block_embed(struct build *b)
{
    const struct gguf_tensor *t = gguf_tensor(b->g, "token_embd.weight");
    const struct gguf_val *v = gguf_key(b->g, "tokenizer.ggml.tokens");
    int dim = b->p.dim;

    if (t && t->ne[1] <= 1 << 30)
        b->n_vocab = (int)t->ne[1];
    if (v && v->type == GGUF_ARR && v->n > (uint64_t)b->n_vocab && t)
        arch_fail(b, ERR_FORMAT,
                  "tensor 'token_embd.weight': has %d rows for %llu tokens",
                  b->n_vocab, (unsigned long long)v->n);
    wide(b, BE_X, dim);
    wide(b, BE_N, dim);
    put(b, (struct be_op){.op = BE_EMBED,
                          .out = BE_X,
                          .act = BE_NOACT,
                          .w = bind_matrix(b, -1, "token_embd.weight", dim,
                                           b->n_vocab, 0, BIND_LOOKUP),
                          .scale = b->p.embed_scale});
}

/* X += row of a table of N rows, by HOW. */
static void embed_more(struct build *b, const char *name, int n, unsigned how)
{
    put(b, (struct be_op){
               .op = BE_EMBED,
               .out = BE_X,
               .flags = how | BE_ACCUMULATE,
               .act = BE_NOACT,
               .w = bind_matrix(b, -1, name, b->p.dim, n, 0, BIND_LOOKUP),
               .scale = 1});
}

void block_positions(struct build *b)
{
    if (b->context > b->p.context)
        arch_fail(b, ERR_USAGE,
                  "a context of %d positions is not possible, it has learned "
                  "%d",
                  b->context, b->p.context);
    embed_more(b, "position_embd.weight", b->p.context, BE_BY_POSITION);
}

void block_types(struct build *b)
{
    static const char name[] = "token_types.weight";
    const struct gguf_tensor *t = gguf_tensor(b->g, name);

    if (t)
        embed_more(b, name, t->ne[1] < 1 << 20 ? (int)t->ne[1] : 1, BE_BY_TYPE);
}

/* "NAME.weight" and "NAME.bias". */
static be_w weight(struct build *b, int layer, const char *name, int n_in,
                   int n_out, int n_mat)
{
    char full[64];

    snprintf(full, sizeof full, "%s.weight", name);
    return bind_matrix(b, layer, full, n_in, n_out, n_mat, 0);
}

static be_w bias(struct build *b, int layer, const char *name, int n)
{
    char full[64];

    snprintf(full, sizeof full, "%s.bias", name);
    return bind_vector(b, layer, full, n, has_bias(b) ? 0 : BIND_OPTIONAL);
}

static void norm(struct build *b, int layer, const char *name,
                 enum be_slot from, enum be_slot to, bool sum)
{
    bool mean = b->arch->flags & ARCH_LAYERNORM;
    char full[64];

    snprintf(full, sizeof full, "%s.weight", name);
    put(b, (struct be_op){.op = BE_NORM,
                          .in = from,
                          .out = to,
                          .flags = (mean ? BE_LAYERNORM : 0) |
                                   (sum ? BE_ACCUMULATE : 0),
                          .act = BE_NOACT,
                          .w = bind_vector(b, layer, full, b->p.dim, 0),
                          .bias = mean ? bias(b, layer, name, b->p.dim) : 0,
                          .eps = b->p.eps,
                          .scale = sum ? b->p.residual_scale : 1});
}

void block_norm(struct build *b, int layer, const char *name, enum be_slot from,
                enum be_slot to)
{
    norm(b, layer, name, from, to, to == BE_X);
}

void block_norm_stream(struct build *b, int layer, const char *name)
{
    norm(b, layer, name, BE_X, BE_X, false);
}

/* OUT = act(W IN + bias); scaled and added when OUT is X.  What adapters add to
 * that waits for adapt_end(). */
static void product(struct build *b, enum be_slot in, enum be_slot out, be_w w,
                    be_w bias_, int act)
{
    float scale = out == BE_X ? b->p.residual_scale : 1;

    put(b, (struct be_op){.op = BE_MUL,
                          .in = in,
                          .out = out,
                          .flags = out == BE_X ? BE_ACCUMULATE : 0,
                          .act = act,
                          .w = w,
                          .bias = bias_,
                          .scale = scale});
    adapt_add(b, w, out, scale, 0);
}

/* N floats of OUT become act(OUT), times IN when that is another. */
static void act_on(struct build *b, enum be_slot out, enum be_slot in, int act,
                   int n)
{
    put(b, (struct be_op){.op = BE_ACT,
                          .in = in,
                          .out = out,
                          .act = act,
                          .n = n,
                          .scale = 1});
}

static void mul(struct build *b, enum be_slot in, enum be_slot out, be_w w,
                be_w bias_, int act)
{
    product(b, in, out, w, bias_, act);
    adapt_end(b, in);
}

void block_qkv(struct build *b, int layer, enum be_slot from)
{
    static const char *const name[] = {"attn_q", "attn_k", "attn_v"};
    const struct params *p = &b->p;
    const struct params_layer *y = &p->layer[layer];
    int n[] = {y->heads * p->dk, y->kv_heads * p->dk, y->kv_heads * p->dv};
    int all = n[0] + n[1] + n[2], at = 0;
    bool fused = bind_has_layer(b, layer, "attn_qkv.weight");

    for (int i = 0; i < 3; i++) {
        enum be_slot to = (enum be_slot)(BE_Q + i);
        be_w w, v;

        wide(b, to, n[i]);
        if (fused) {
            w = bind_rows(b, layer, "attn_qkv.weight", p->dim, all, at, n[i]);
            v = bind_part(b, layer, "attn_qkv.bias", all, at, n[i],
                          has_bias(b) ? 0 : BIND_OPTIONAL);
        } else {
            w = weight(b, layer, name[i], p->dim, n[i], 0);
            v = bias(b, layer, name[i], n[i]);
        }
        product(b, from, to, w, v, BE_NOACT);
        at += n[i];
    }
    adapt_end(b, from);
}

void block_qk_norm(struct build *b, int layer, int how)
{
    const struct params *p = &b->p;
    const struct params_layer *y = &p->layer[layer];

    for (int k = 0; k < 2; k++) {
        int heads = k ? y->kv_heads : y->heads, d = p->dk;

        if (how == BLOCK_ALL_HEADS) {
            d *= heads;
            heads = 1;
        }
        put(b, (struct be_op){.op = BE_NORM_HEADS,
                              .in = k ? BE_K : BE_Q,
                              .out = k ? BE_K : BE_Q,
                              .act = BE_NOACT,
                              .heads = heads,
                              .head_dim = d,
                              .w = bind_vector(b, layer,
                                               k ? "attn_k_norm.weight"
                                                 : "attn_q_norm.weight",
                                               d, 0),
                              .eps = p->eps,
                              .scale = 1});
    }
}

void block_rope(struct build *b, int layer)
{
    const struct params_layer *y = &b->p.layer[layer];

    for (int k = 0; k < 2 && y->rope >= 0; k++)
        put(b,
            (struct be_op){.op = BE_ROPE,
                           .in = k ? BE_K : BE_Q,
                           .out = k ? BE_K : BE_Q,
                           .flags = b->arch->flags & ARCH_PAIRS ? BE_PAIRS : 0,
                           .act = BE_NOACT,
                           .heads = k ? y->kv_heads : y->heads,
                           .head_dim = b->p.dk,
                           .rope = y->rope,
                           .scale = 1});
    if (b->p.temp_scale != 0)
        put(b, (struct be_op){.op = BE_SCALE_POS,
                              .in = BE_Q,
                              .out = BE_Q,
                              .act = BE_NOACT,
                              .period = b->p.temp_period,
                              .scale = b->p.temp_scale});
}

void block_attend(struct build *b, int layer)
{
    const struct params *p = &b->p;
    const struct params_layer *y = &p->layer[layer];

    wide(b, BE_ATT, y->heads * p->dv);
    put(b, (struct be_op){.op = BE_STORE,
                          .in = BE_K,
                          .out = BE_V,
                          .layer = layer,
                          .act = BE_NOACT,
                          .scale = 1});
    put(b, (struct be_op){.op = BE_ATTEND,
                          .in = BE_Q,
                          .out = BE_ATT,
                          .flags = b->arch->flags & ARCH_BOTH ? BE_BOTH : 0,
                          .layer = layer,
                          .act = BE_NOACT,
                          .heads = y->heads,
                          .head_dim = p->dk,
                          .window = params_window(b, layer),
                          .softcap = p->attn_softcap,
                          .scale = p->attn_scale});
}

void block_attn_out(struct build *b, int layer, enum be_slot to)
{
    int n = b->p.layer[layer].heads * b->p.dv;

    wide(b, to, b->p.dim);
    mul(b, BE_ATT, to, weight(b, layer, "attn_output", n, b->p.dim, 0),
        bias(b, layer, "attn_output", b->p.dim), BE_NOACT);
}

/* What adapters add comes before the activation, which then stands apart. */
static void glu(struct build *b, enum be_slot from, int n, enum kern_unary act,
                be_w gate, be_w gate_bias, be_w up, be_w up_bias)
{
    bool apart = adapt_has(b, gate) || adapt_has(b, up);

    put(b, (struct be_op){.op = BE_GLU,
                          .in = from,
                          .out = BE_MID,
                          .flags = apart ? BE_APART : 0,
                          .act = apart ? BE_NOACT : (int)act,
                          .w = gate,
                          .bias = gate_bias,
                          .w2 = up,
                          .bias2 = up_bias,
                          .scale = 1});
    if (!apart)
        return;
    wide(b, BE_UP, n);
    adapt_add(b, gate, BE_MID, 1, 0);
    adapt_add(b, up, BE_UP, 1, 0);
    adapt_end(b, from);
    act_on(b, BE_MID, BE_UP, (int)act, n);
}

static void down(struct build *b, int layer, enum be_slot to)
{
    int ff = b->p.layer[layer].ff, dim = b->p.dim;

    wide(b, to, dim);
    mul(b, BE_MID, to, weight(b, layer, "ffn_down", ff, dim, 0),
        bias(b, layer, "ffn_down", dim), BE_NOACT);
}

void block_glu(struct build *b, int layer, enum kern_unary act,
               enum be_slot from, enum be_slot to)
{
    int ff = b->p.layer[layer].ff, dim = b->p.dim;
    be_w gate = weight(b, layer, "ffn_gate", dim, ff, 0),
         gate_bias = bias(b, layer, "ffn_gate", ff),
         up = weight(b, layer, "ffn_up", dim, ff, 0),
         up_bias = bias(b, layer, "ffn_up", ff);

    wide(b, BE_MID, ff);
    glu(b, from, ff, act, gate, gate_bias, up, up_bias);
    down(b, layer, to);
}

void block_glu_fused(struct build *b, int layer, enum kern_unary act)
{
    int ff = b->p.layer[layer].ff, dim = b->p.dim;
    be_w gate = bind_rows(b, layer, "ffn_up.weight", dim, 2 * ff, 0, ff),
         up = bind_rows(b, layer, "ffn_up.weight", dim, 2 * ff, ff, ff);

    wide(b, BE_MID, ff);
    glu(b, BE_N, ff, act, gate, 0, up, 0);
    down(b, layer, BE_X);
}

void block_mlp(struct build *b, int layer, enum kern_unary act,
               enum be_slot from)
{
    int ff = b->p.layer[layer].ff, dim = b->p.dim;
    be_w up = weight(b, layer, "ffn_up", dim, ff, 0);
    bool apart = adapt_has(b, up);

    wide(b, BE_MID, ff);
    mul(b, from, BE_MID, up, bias(b, layer, "ffn_up", ff),
        apart ? BE_NOACT : (int)act);
    if (apart)
        act_on(b, BE_MID, BE_MID, (int)act, ff);
    down(b, layer, BE_X);
}

void block_experts(struct build *b, int layer)
{
    const struct params *p = &b->p;
    int n = p->experts, ff = p->ff_expert, dim = p->dim;
    be_w route = weight(b, layer, "ffn_gate_inp", dim, n, 0),
         gate = weight(b, layer, "ffn_gate_exps", dim, ff, n),
         up = weight(b, layer, "ffn_up_exps", dim, ff, n),
         out = weight(b, layer, "ffn_down_exps", ff, dim, n);

    put(b, (struct be_op){.op = BE_ROUTE,
                          .in = BE_N,
                          .flags = (p->norm_experts ? BE_ROUTE_NORM : 0) |
                                   (p->sigmoid_experts ? BE_ROUTE_SIGMOID : 0),
                          .act = BE_NOACT,
                          .w = route,
                          .experts = n,
                          .used = p->used,
                          .scale = 1});
    put(b, (struct be_op){.op = BE_EXPERTS,
                          .in = BE_N,
                          .out = BE_X,
                          .act = KERN_SILU,
                          .w = gate,
                          .w2 = up,
                          .w3 = out,
                          .experts = n,
                          .used = p->used,
                          .scale = 1});
}

void block_shared_expert(struct build *b, int layer)
{
    int ff = b->p.ff_shared, dim = b->p.dim;
    be_w gate = weight(b, layer, "ffn_gate_shexp", dim, ff, 0),
         up = weight(b, layer, "ffn_up_shexp", dim, ff, 0),
         out = weight(b, layer, "ffn_down_shexp", ff, dim, 0),
         alone = weight(b, layer, "ffn_gate_inp_shexp", dim, 1, 0);

    wide(b, BE_MID, ff);
    wide(b, BE_TMP, dim);
    glu(b, BE_N, ff, KERN_SILU, gate, 0, up, 0);
    mul(b, BE_MID, BE_TMP, out, 0, BE_NOACT);
    put(b, (struct be_op){.op = BE_GATE,
                          .in = BE_N,
                          .out = BE_TMP,
                          .act = BE_NOACT,
                          .w = alone,
                          .scale = 1});
    put(b, (struct be_op){.op = BE_ADD,
                          .in = BE_TMP,
                          .out = BE_X,
                          .act = BE_NOACT,
                          .scale = 1});
}

void block_result(struct build *b, enum be_slot from)
{
    put(b, (struct be_op){
               .op = BE_LOGITS, .in = from, .act = BE_NOACT, .scale = 1});
}

void block_head(struct build *b, bool with_bias)
{
    const char *name =
        bind_has(b, "output.weight") ? "output.weight" : "token_embd.weight";
    be_w w, v = 0;
    bool apart;

    block_norm(b, -1, "output_norm", BE_X, BE_N);
    if (b->embed) {
        block_result(b, BE_N);
        return;
    }
    w = bind_matrix(b, -1, name, b->p.dim, b->n_vocab, 0, 0);
    if (with_bias)
        v = bind_vector(b, -1, "output.bias", b->n_vocab, 0);
    apart = adapt_has(b, w);
    put(b, (struct be_op){.op = BE_LOGITS,
                          .in = BE_N,
                          .act = BE_NOACT,
                          .w = w,
                          .bias = v,
                          .softcap = apart ? 0 : b->p.softcap,
                          .scale = apart ? 1 : b->p.logit_scale});
    if (!apart)
        return;
    adapt_add(b, w, BE_LOW, 1, BE_TO_LOGITS);
    adapt_end(b, BE_N);
    put(b, (struct be_op){.op = BE_ACT,
                          .in = BE_LOW,
                          .out = BE_LOW,
                          .flags = BE_TO_LOGITS,
                          .act = BE_NOACT,
                          .n = b->n_vocab,
                          .softcap = b->p.softcap,
                          .scale = b->p.logit_scale});
}
