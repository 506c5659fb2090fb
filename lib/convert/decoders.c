/* SPDX-License-Identifier: MIT
 *
 * Models that continue texts.  Defaults are those of the classes in
 * transformers. */
#include <stddef.h>

#include "convert/table.h"

/* ---- values ---- */

/* clang-format off */
#define LAYERS  {"num_hidden_layers", "block_count", CONVERT_U32, 'L', CONVERT_NEEDED}
#define CONTEXT {"max_position_embeddings", "context_length", CONVERT_U32, 'P', CONVERT_NEEDED}
#define WIDTH   {"hidden_size", "embedding_length", CONVERT_U32, 'D', CONVERT_NEEDED}
#define FF      {"intermediate_size", "feed_forward_length", CONVERT_U32, 'F', CONVERT_NEEDED}
#define HEADS   {"num_attention_heads", "attention.head_count", CONVERT_U32, 'A', CONVERT_NEEDED}
#define KVHEADS {"num_key_value_heads", "attention.head_count_kv", CONVERT_U32, 'B', CONVERT_DERIVE}
#define KLEN    {"head_dim", "attention.key_length", CONVERT_U32, 'H', CONVERT_DERIVE}
#define VLEN    {"head_dim", "attention.value_length", CONVERT_U32, 'H', CONVERT_DERIVE}
#define VOCAB   {"vocab_size", "vocab_size", CONVERT_U32, 'V', CONVERT_NEEDED}
#define RMS(eps) {"rms_norm_eps", "attention.layer_norm_rms_epsilon", CONVERT_F32, 0, eps}
#define UNTIED(tied) {"tie_word_embeddings", NULL, CONVERT_NOT, 'u', tied}
#define BIAS(name, def) {name, NULL, CONVERT_FLAG, 'b', def}, {name, NULL, CONVERT_FLAG, 'o', def}

static const struct convert_key core[] = {
    LAYERS, CONTEXT, WIDTH, FF, HEADS, KVHEADS, KLEN, VLEN, VOCAB, {0},
};
static const struct convert_key untied[] = {UNTIED(0), {0}};
static const struct convert_key tied[] = {UNTIED(1), {0}};
static const struct convert_key rms_5[] = {RMS(1e-5), {0}};
static const struct convert_key rms_6[] = {RMS(1e-6), {0}};
static const struct convert_key biases[] = {
    BIAS("attention_bias", 0),
    {"mlp_bias", NULL, CONVERT_FLAG, 'm', 0},
    {0},
};
static const struct convert_key attention_bias[] = {BIAS("attention_bias", 0), {0}};

/* Of Q, K and V alone. */
static const struct convert_key always_qkv[] = {{NULL, NULL, CONVERT_FLAG, 'b', 1}, {0}};
static const struct convert_key qkv_bias[] = {{"qkv_bias", NULL, CONVERT_FLAG, 'b', 1}, {0}};

static const struct convert_key mixtral[] = {
    {"num_local_experts|num_experts", "expert_count", CONVERT_U32, 'E', 8},
    {"num_experts_per_tok", "expert_used_count", CONVERT_U32, 'X', 2},
    {0},
};
static const struct convert_key experts[] = {
    {"num_experts|num_local_experts", "expert_count", CONVERT_U32, 'E', CONVERT_NEEDED},
    {"num_experts_per_tok", "expert_used_count", CONVERT_U32, 'X', CONVERT_NEEDED},
    {"moe_intermediate_size", "expert_feed_forward_length", CONVERT_U32, 'M', CONVERT_NEEDED},
    {"norm_topk_prob", "expert_weights_norm", CONVERT_BOOL, 0, 0},
    {0},
};
static const struct convert_key shared_expert[] = {
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length", CONVERT_U32, 'S', CONVERT_NEEDED},
    {0},
};

static const struct convert_key granite[] = {
    {"attention_multiplier", "attention.scale", CONVERT_F32, 0, 1},
    {"embedding_multiplier", "embedding_scale", CONVERT_F32, 0, 1},
    {"residual_multiplier", "residual_scale", CONVERT_F32, 0, 1},
    {"logits_scaling", "logit_scale", CONVERT_F32, 0, 1},
    {0},
};

static const struct convert_key gemma2[] = {
    {"query_pre_attn_scalar", "attention.scale", CONVERT_ROOT, 0, 256},
    {"attn_logit_softcapping", "attn_logit_softcapping", CONVERT_CAP, 0, 50},
    {"final_logit_softcapping", "final_logit_softcapping", CONVERT_CAP, 0, 30},
    {0},
};
/* As a part of another model it says only what differs. */
static const struct convert_key gemma3[] = {
    {"num_hidden_layers", "block_count", CONVERT_U32, 'L', 26},
    {"max_position_embeddings", "context_length", CONVERT_U32, 'P', 131072},
    {"hidden_size", "embedding_length", CONVERT_U32, 'D', 2304},
    {"intermediate_size", "feed_forward_length", CONVERT_U32, 'F', 9216},
    {"num_attention_heads", "attention.head_count", CONVERT_U32, 'A', 8},
    {"num_key_value_heads", "attention.head_count_kv", CONVERT_U32, 'B', 4},
    {"head_dim", "attention.key_length", CONVERT_U32, 'H', 256},
    {"head_dim", "attention.value_length", CONVERT_U32, 'H', 256},
    {"vocab_size", "vocab_size", CONVERT_U32, 'V', 262208},
    {"query_pre_attn_scalar", "attention.scale", CONVERT_ROOT, 0, 256},
    {"final_logit_softcapping", "final_logit_softcapping", CONVERT_CAP, 0, 0},
    {0},
};

static const struct convert_key phi2[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-5},
    {0},
};
static const struct convert_key starcoder2[] = {
    {"norm_epsilon|layer_norm_epsilon", "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-5},
    {0},
};

/* ---- values that must be so ---- */

static const struct convert_fixed silu[] = {{"hidden_act", "silu|swish"}, {0}};
static const struct convert_fixed gelu_tanh[] = {
    {"hidden_act", "gelu_pytorch_tanh|gelu_new|gelu_fast"}, {0},
};
/* Files from before hidden_activation say gelu, and mean the other one. */
static const struct convert_fixed gemma_act[] = {
    {"hidden_act", "gelu|gelu_pytorch_tanh"},
    {"hidden_activation", "gelu_pytorch_tanh"},
    {0},
};
static const struct convert_fixed one_way[] = {{"use_bidirectional_attention", "false"}, {0}};
static const struct convert_fixed both_ways[] = {{"use_bidirectional_attention", "true"}, {0}};
static const struct convert_fixed uncapped[] = {{"attn_logit_softcapping", ""}, {0}};
static const struct convert_fixed every_layer[] = {
    {"decoder_sparse_step", "1"}, {"mlp_only_layers", ""}, {0},
};
static const struct convert_fixed phi2_fixed[] = {{"qk_layernorm", "false"}, {0}};
static const struct convert_fixed phi3_fixed[] = {
    {"attention_bias", "false"},
    {"mlp_bias", "false"},
    {"lm_head_bias", "false"},
    {"full_attn_mod", "1"},
    {"interpolate_factor", "1"},
    {"embd_layer", "default"},
    {0},
};
static const struct convert_fixed starcoder2_fixed[] = {
    {"use_bias", "true"},
    {"norm_type", "layer_norm"},
    {"mlp_type", "default"},
    {"scale_attn_weights", "true"},
    {0},
};
static const struct convert_fixed mrope[] = {{"use_mrope", "false"}, {0}};
static const struct convert_fixed nope_interval[] = {{"no_rope_layer_interval", "4"}, {0}};

/* ---- names ---- */

#define Y "layers.%d."
#define B "blk.%d."

static const struct convert_name embed[] = {
    {"embed_tokens.weight", "token_embd.weight", "VD", 0, 0, 0}, {0},
};
static const struct convert_name head[] = {
    {"norm.weight", "output_norm.weight", "D", 0, 0, 0},
    {"lm_head.weight", "output.weight", "VD", 0, CONVERT_TOP | CONVERT_DROP, 'u'},
    {0},
};
static const struct convert_name norms[] = {
    {Y "input_layernorm.weight", B "attn_norm.weight", "D", 0, 0, 0},
    {Y "post_attention_layernorm.weight", B "ffn_norm.weight", "D", 0, 0, 0},
    {0},
};
static const struct convert_name qkv[] = {
    {Y "self_attn.q_proj.weight", B "attn_q.weight", "QD", CONVERT_PAIRS_Q, 0, 0},
    {Y "self_attn.q_proj.bias", B "attn_q.bias", "Q", CONVERT_PAIRS_Q, 0, 'b'},
    {Y "self_attn.k_proj.weight", B "attn_k.weight", "KD", CONVERT_PAIRS_K, 0, 0},
    {Y "self_attn.k_proj.bias", B "attn_k.bias", "K", CONVERT_PAIRS_K, 0, 'b'},
    {Y "self_attn.v_proj.weight", B "attn_v.weight", "KD", 0, 0, 0},
    {Y "self_attn.v_proj.bias", B "attn_v.bias", "K", 0, 0, 'b'},
    {0},
};
static const struct convert_name attn_out[] = {
    {Y "self_attn.o_proj.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    {Y "self_attn.o_proj.bias", B "attn_output.bias", "D", 0, 0, 'o'},
    {0},
};
static const struct convert_name qk_norm[] = {
    {Y "self_attn.q_norm.weight", B "attn_q_norm.weight", "H", 0, 0, 0},
    {Y "self_attn.k_norm.weight", B "attn_k_norm.weight", "H", 0, 0, 0},
    {0},
};
static const struct convert_name glu[] = {
    {Y "mlp.gate_proj.weight", B "ffn_gate.weight", "FD", 0, 0, 0},
    {Y "mlp.gate_proj.bias", B "ffn_gate.bias", "F", 0, 0, 'm'},
    {Y "mlp.up_proj.weight", B "ffn_up.weight", "FD", 0, 0, 0},
    {Y "mlp.up_proj.bias", B "ffn_up.bias", "F", 0, 0, 'm'},
    {Y "mlp.down_proj.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    {Y "mlp.down_proj.bias", B "ffn_down.bias", "D", 0, 0, 'm'},
    {0},
};

#define OLD Y "block_sparse_moe."
#define NEW Y "mlp."
static const struct convert_name mixtral_ff[] = {
    {OLD "gate.weight", B "ffn_gate_inp.weight", "ED", 0, CONVERT_KEEP, 0},
    {NEW "gate.weight", B "ffn_gate_inp.weight", "ED", 0, CONVERT_KEEP, 0},
    {OLD "experts.%d.w1.weight", B "ffn_gate_exps.weight", "FD", CONVERT_STACK, 0, 0},
    {NEW "experts.gate_up_proj", B "ffn_gate_exps.weight", "EUD", CONVERT_FIRST, 0, 0},
    {OLD "experts.%d.w3.weight", B "ffn_up_exps.weight", "FD", CONVERT_STACK, 0, 0},
    {NEW "experts.gate_up_proj", B "ffn_up_exps.weight", "EUD", CONVERT_SECOND, 0, 0},
    {OLD "experts.%d.w2.weight", B "ffn_down_exps.weight", "DF", CONVERT_STACK, 0, 0},
    {NEW "experts.down_proj", B "ffn_down_exps.weight", "EDF", 0, 0, 0},
    {0},
};
static const struct convert_name experts_ff[] = {
    {NEW "gate.weight", B "ffn_gate_inp.weight", "ED", 0, CONVERT_KEEP, 0},
    {NEW "experts.%d.gate_proj.weight", B "ffn_gate_exps.weight", "MD", CONVERT_STACK, 0, 0},
    {NEW "experts.gate_up_proj", B "ffn_gate_exps.weight", "END", CONVERT_FIRST, 0, 0},
    {NEW "experts.%d.up_proj.weight", B "ffn_up_exps.weight", "MD", CONVERT_STACK, 0, 0},
    {NEW "experts.gate_up_proj", B "ffn_up_exps.weight", "END", CONVERT_SECOND, 0, 0},
    {NEW "experts.%d.down_proj.weight", B "ffn_down_exps.weight", "DM", CONVERT_STACK, 0, 0},
    {NEW "experts.down_proj", B "ffn_down_exps.weight", "EDM", 0, 0, 0},
    {0},
};
static const struct convert_name shared_ff[] = {
    {NEW "shared_expert.gate_proj.weight", B "ffn_gate_shexp.weight", "SD", 0, 0, 0},
    {NEW "shared_expert.up_proj.weight", B "ffn_up_shexp.weight", "SD", 0, 0, 0},
    {NEW "shared_expert.down_proj.weight", B "ffn_down_shexp.weight", "DS", 0, 0, 0},
    {NEW "shared_expert_gate.weight", B "ffn_gate_inp_shexp.weight", "1D", 0, CONVERT_KEEP, 0},
    {0},
};

static const struct convert_name gemma_norms[] = {
    {Y "input_layernorm.weight", B "attn_norm.weight", "D", CONVERT_ONE, 0, 0},
    {Y "post_attention_layernorm.weight", B "ffn_norm.weight", "D", CONVERT_ONE, 0, 0},
    {0},
};
static const struct convert_name gemma2_norms[] = {
    {Y "input_layernorm.weight", B "attn_norm.weight", "D", CONVERT_ONE, 0, 0},
    {Y "post_attention_layernorm.weight", B "post_attention_norm.weight", "D", CONVERT_ONE, 0, 0},
    {Y "pre_feedforward_layernorm.weight", B "ffn_norm.weight", "D", CONVERT_ONE, 0, 0},
    {Y "post_feedforward_layernorm.weight", B "post_ffw_norm.weight", "D", CONVERT_ONE, 0, 0},
    {0},
};
static const struct convert_name gemma3_qk_norm[] = {
    {Y "self_attn.q_norm.weight", B "attn_q_norm.weight", "H", CONVERT_ONE, 0, 0},
    {Y "self_attn.k_norm.weight", B "attn_k_norm.weight", "H", CONVERT_ONE, 0, 0},
    {0},
};
static const struct convert_name gemma_head[] = {
    {"norm.weight", "output_norm.weight", "D", CONVERT_ONE, 0, 0},
    {"lm_head.weight", "output.weight", "VD", 0, CONVERT_TOP | CONVERT_DROP, 'u'},
    {0},
};

static const struct convert_name olmo2_names[] = {
    {Y "post_attention_layernorm.weight", B "post_attention_norm.weight", "D", 0, 0, 0},
    {Y "post_feedforward_layernorm.weight", B "post_ffw_norm.weight", "D", 0, 0, 0},
    {Y "self_attn.q_norm.weight", B "attn_q_norm.weight", "Q", 0, 0, 0},
    {Y "self_attn.k_norm.weight", B "attn_k_norm.weight", "K", 0, 0, 0},
    {0},
};

static const struct convert_name phi2_names[] = {
    {Y "input_layernorm.weight", B "attn_norm.weight", "D", 0, 0, 0},
    {Y "input_layernorm.bias", B "attn_norm.bias", "D", 0, 0, 0},
    {Y "self_attn.dense.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    {Y "self_attn.dense.bias", B "attn_output.bias", "D", 0, 0, 0},
    {Y "mlp.fc1.weight", B "ffn_up.weight", "FD", 0, 0, 0},
    {Y "mlp.fc1.bias", B "ffn_up.bias", "F", 0, 0, 0},
    {Y "mlp.fc2.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    {Y "mlp.fc2.bias", B "ffn_down.bias", "D", 0, 0, 0},
    {"final_layernorm.weight", "output_norm.weight", "D", 0, 0, 0},
    {"final_layernorm.bias", "output_norm.bias", "D", 0, 0, 0},
    {"lm_head.weight", "output.weight", "VD", 0, CONVERT_TOP | CONVERT_DROP, 'u'},
    {"lm_head.bias", "output.bias", "V", 0, CONVERT_TOP, 0},
    {0},
};

static const struct convert_name phi3_names[] = {
    {Y "self_attn.qkv_proj.weight", B "attn_qkv.weight", "WD", 0, 0, 0},
    {Y "self_attn.o_proj.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    {Y "mlp.gate_up_proj.weight", B "ffn_up.weight", "UD", 0, 0, 0},
    {Y "mlp.down_proj.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    {0},
};

static const struct convert_name starcoder2_names[] = {
    {Y "input_layernorm.weight", B "attn_norm.weight", "D", 0, 0, 0},
    {Y "input_layernorm.bias", B "attn_norm.bias", "D", 0, 0, 0},
    {Y "post_attention_layernorm.weight", B "ffn_norm.weight", "D", 0, 0, 0},
    {Y "post_attention_layernorm.bias", B "ffn_norm.bias", "D", 0, 0, 0},
    {Y "self_attn.o_proj.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    {Y "self_attn.o_proj.bias", B "attn_output.bias", "D", 0, 0, 0},
    {Y "mlp.c_fc.weight", B "ffn_up.weight", "FD", 0, 0, 0},
    {Y "mlp.c_fc.bias", B "ffn_up.bias", "F", 0, 0, 0},
    {Y "mlp.c_proj.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    {Y "mlp.c_proj.bias", B "ffn_down.bias", "D", 0, 0, 0},
    {"norm.weight", "output_norm.weight", "D", 0, 0, 0},
    {"norm.bias", "output_norm.bias", "D", 0, 0, 0},
    {"lm_head.weight", "output.weight", "VD", 0, CONVERT_TOP | CONVERT_DROP, 'u'},
    {0},
};

/* ---- models ---- */

#define KEYS(...)  ((const struct convert_key *const[]){__VA_ARGS__, NULL})
#define FIXED(...) ((const struct convert_fixed *const[]){__VA_ARGS__, NULL})
#define NAMES(...) ((const struct convert_name *const[]){__VA_ARGS__, NULL})
#define BODY "model.|"
#define PART "model.||language_model.model.|model.language_model."
#define INV_FREQ "*.rotary_emb.inv_freq"
#define EYES "vision_tower.*|multi_modal_projector.*|model.vision_tower.*|model.multi_modal_projector.*"

const struct convert_model convert_decoders[] = {
    {.type = "llama", .classes = "LlamaForCausalLM|LlamaModel", .arch = "llama",
     .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_6, untied, biases), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "mistral", .classes = "MistralForCausalLM|MistralModel|Mistral3ForConditionalGeneration",
     .arch = "llama", .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_6, untied), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = PART, .drop = INV_FREQ, .aside = EYES, .theta = 10000,
     .windows = CONVERT_WINDOW_ALL, .window = 4096},
    {.type = "mixtral", .classes = "MixtralForCausalLM|MixtralModel", .arch = "llama",
     .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_5, untied, mixtral), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, mixtral_ff, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 1e6,
     .windows = CONVERT_WINDOW_ALL},
    {.type = "ministral3",
     .classes = "Ministral3ForCausalLM|Ministral3Model|Mistral3ForConditionalGeneration",
     .arch = "mistral3", .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_5, untied), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = PART, .drop = INV_FREQ, .aside = EYES, .theta = 1e6,
     .windows = CONVERT_WINDOW_ALL},
    {.type = "qwen2", .classes = "Qwen2ForCausalLM|Qwen2Model", .arch = "qwen2",
     .keys = KEYS(core, rms_6, untied, always_qkv), .fixed = FIXED(silu, mrope),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "qwen2_moe", .classes = "Qwen2MoeForCausalLM|Qwen2MoeModel", .arch = "qwen2moe",
     .keys = KEYS(core, rms_6, untied, qkv_bias, experts, shared_expert),
     .fixed = FIXED(silu, mrope, every_layer),
     .names = NAMES(embed, norms, qkv, attn_out, experts_ff, shared_ff, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "qwen3", .classes = "Qwen3ForCausalLM|Qwen3Model", .arch = "qwen3",
     .keys = KEYS(core, rms_6, untied, attention_bias), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, qk_norm, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "qwen3_moe", .classes = "Qwen3MoeForCausalLM|Qwen3MoeModel", .arch = "qwen3moe",
     .keys = KEYS(core, rms_6, untied, attention_bias, experts),
     .fixed = FIXED(silu, every_layer),
     .names = NAMES(embed, norms, qkv, attn_out, qk_norm, experts_ff, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "gemma", .classes = "GemmaForCausalLM|GemmaModel", .arch = "gemma",
     .keys = KEYS(core, rms_6, tied, attention_bias), .fixed = FIXED(gemma_act, one_way),
     .names = NAMES(embed, gemma_norms, qkv, attn_out, glu, gemma_head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "gemma2", .classes = "Gemma2ForCausalLM|Gemma2Model", .arch = "gemma2",
     .keys = KEYS(core, rms_6, tied, attention_bias, gemma2), .fixed = FIXED(gemma_act, one_way),
     .names = NAMES(embed, gemma2_norms, qkv, attn_out, glu, gemma_head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000,
     .windows = CONVERT_WINDOW_LAST, .period = 2, .window = 4096},
    {.type = "gemma3_text",
     .classes = "Gemma3ForCausalLM|Gemma3TextModel|Gemma3ForConditionalGeneration",
     .arch = "gemma3", .flags = CONVERT_NO_SCALING,
     .keys = KEYS(gemma3, rms_6, tied, attention_bias),
     .fixed = FIXED(gemma_act, one_way, uncapped),
     .names = NAMES(embed, gemma2_norms, qkv, gemma3_qk_norm, attn_out, glu, gemma_head),
     .prefix = PART, .drop = INV_FREQ, .aside = EYES, .theta = 1e6, .window_theta = 10000,
     .windows = CONVERT_WINDOW_LAST, .period = 6, .window = 4096},
    {.type = "gemma3_text", .classes = "Gemma3TextModel|Gemma3ForCausalLM",
     .arch = "gemma-embedding",
     .flags = CONVERT_NO_SCALING | CONVERT_ENCODER | CONVERT_BOTH_WAYS,
     .keys = KEYS(gemma3, rms_6, tied, attention_bias),
     .fixed = FIXED(gemma_act, both_ways, uncapped),
     .names = NAMES(embed, gemma2_norms, qkv, gemma3_qk_norm, attn_out, glu, gemma_head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 1e6, .window_theta = 10000,
     .windows = CONVERT_WINDOW_LAST, .period = 6, .window = 4096},
    {.type = "phi", .classes = "PhiForCausalLM", .arch = "phi2",
     .keys = KEYS(core, phi2, untied, always_qkv), .fixed = FIXED(gelu_tanh, phi2_fixed),
     .names = NAMES(embed, qkv, phi2_names),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000, .partial = 0.5},
    {.type = "phi3", .classes = "Phi3ForCausalLM|Phi3Model", .arch = "phi3",
     .keys = KEYS(core, rms_5, untied), .fixed = FIXED(silu, phi3_fixed),
     .names = NAMES(embed, norms, phi3_names, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000,
     .windows = CONVERT_WINDOW_ALL},
    {.type = "smollm3", .classes = "SmolLM3ForCausalLM|SmolLM3Model", .arch = "smollm3",
     .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_6, tied, biases), .fixed = FIXED(silu, nope_interval),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 2e6},
    {.type = "granite", .classes = "GraniteForCausalLM|GraniteModel", .arch = "granite",
     .flags = CONVERT_PAIRS,
     .keys = KEYS(core, rms_6, untied, biases, granite), .fixed = FIXED(silu),
     .names = NAMES(embed, norms, qkv, attn_out, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "olmo2", .classes = "Olmo2ForCausalLM|Olmo2Model", .arch = "olmo2",
     .keys = KEYS(core, rms_5, untied, attention_bias), .fixed = FIXED(silu),
     .names = NAMES(embed, qkv, attn_out, olmo2_names, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000},
    {.type = "olmo3", .classes = "Olmo3ForCausalLM|Olmo3Model", .arch = "olmo2",
     .flags = CONVERT_NO_SCALING,
     .keys = KEYS(core, rms_5, untied, attention_bias), .fixed = FIXED(silu),
     .names = NAMES(embed, qkv, attn_out, olmo2_names, glu, head),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000,
     .windows = CONVERT_WINDOW_LAST, .period = 4, .window = 4096},
    {.type = "starcoder2", .classes = "Starcoder2ForCausalLM|Starcoder2Model", .arch = "starcoder2",
     .keys = KEYS(core, starcoder2, tied, always_qkv), .fixed = FIXED(gelu_tanh, starcoder2_fixed),
     .names = NAMES(embed, qkv, starcoder2_names),
     .prefix = BODY, .drop = INV_FREQ, .theta = 10000,
     .windows = CONVERT_WINDOW_ALL},
    {0},
};
/* clang-format on */
