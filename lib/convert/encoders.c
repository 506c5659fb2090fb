/* SPDX-License-Identifier: MIT
 *
 * Models that make embeddings of texts, or judge them. */
#include <stddef.h>

#include "convert/table.h"

/* clang-format off */

/* ---- values ---- */

/* Not what config.json says, but the same in every one. */
#define ALL_HEADS {NULL, NULL, CONVERT_U32, 'B', CONVERT_DERIVE}, {NULL, NULL, CONVERT_U32, 'H', CONVERT_DERIVE}

static const struct convert_key bert[] = {
    {"num_hidden_layers", "block_count", CONVERT_U32, 'L', CONVERT_NEEDED},
    {"max_position_embeddings", "context_length", CONVERT_U32, 'P', CONVERT_NEEDED},
    {"hidden_size", "embedding_length", CONVERT_U32, 'D', CONVERT_NEEDED},
    {"intermediate_size", "feed_forward_length", CONVERT_U32, 'F', CONVERT_NEEDED},
    {"num_attention_heads", "attention.head_count", CONVERT_U32, 'A', CONVERT_NEEDED},
    ALL_HEADS,
    {"layer_norm_eps", "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-12},
    {"vocab_size", "vocab_size", CONVERT_U32, 'V', CONVERT_NEEDED},
    {"type_vocab_size", NULL, CONVERT_U32, 'T', 2},
    {0},
};
static const struct convert_key distilbert[] = {
    {"n_layers", "block_count", CONVERT_U32, 'L', CONVERT_NEEDED},
    {"max_position_embeddings", "context_length", CONVERT_U32, 'P', CONVERT_NEEDED},
    {"dim", "embedding_length", CONVERT_U32, 'D', CONVERT_NEEDED},
    {"hidden_dim", "feed_forward_length", CONVERT_U32, 'F', CONVERT_NEEDED},
    {"n_heads", "attention.head_count", CONVERT_U32, 'A', CONVERT_NEEDED},
    ALL_HEADS,
    {NULL, "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-12},
    {"vocab_size", "vocab_size", CONVERT_U32, 'V', CONVERT_NEEDED},
    {0},
};
static const struct convert_key nomic[] = {
    {"num_hidden_layers|n_layer", "block_count", CONVERT_U32, 'L', CONVERT_NEEDED},
    {"max_position_embeddings|n_positions", "context_length", CONVERT_U32, 'P', CONVERT_NEEDED},
    {"hidden_size|n_embd", "embedding_length", CONVERT_U32, 'D', CONVERT_NEEDED},
    {"intermediate_size|n_inner", "feed_forward_length", CONVERT_U32, 'F', CONVERT_NEEDED},
    {"num_attention_heads|n_head", "attention.head_count", CONVERT_U32, 'A', CONVERT_NEEDED},
    {NULL, NULL, CONVERT_U32, 'B', CONVERT_DERIVE},
    {"head_dim", "attention.key_length", CONVERT_U32, 'H', CONVERT_DERIVE},
    {"head_dim", "attention.value_length", CONVERT_U32, 'H', CONVERT_DERIVE},
    {"layer_norm_eps|layer_norm_epsilon", "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-12},
    {"vocab_size", "vocab_size", CONVERT_U32, 'V', CONVERT_NEEDED},
    {"type_vocab_size", NULL, CONVERT_U32, 'T', 2},
    {0},
};
static const struct convert_key modern[] = {
    {"num_hidden_layers", "block_count", CONVERT_U32, 'L', CONVERT_NEEDED},
    {"max_position_embeddings", "context_length", CONVERT_U32, 'P', CONVERT_NEEDED},
    {"hidden_size", "embedding_length", CONVERT_U32, 'D', CONVERT_NEEDED},
    {"intermediate_size", "feed_forward_length", CONVERT_U32, 'F', CONVERT_NEEDED},
    {"num_attention_heads", "attention.head_count", CONVERT_U32, 'A', CONVERT_NEEDED},
    ALL_HEADS,
    {"norm_eps|layer_norm_eps", "attention.layer_norm_epsilon", CONVERT_F32, 0, 1e-5},
    {"vocab_size", "vocab_size", CONVERT_U32, 'V', CONVERT_NEEDED},
    {0},
};

/* ---- values that must be so ---- */

static const struct convert_fixed bert_fixed[] = {
    {"hidden_act", "gelu"}, {"position_embedding_type", "absolute"}, {0},
};
/* How positions began does not matter. */
static const struct convert_fixed distilbert_fixed[] = {
    {"activation", "gelu"}, {"sinusoidal_pos_embds", "true|false"}, {"tie_weights_", "true|false"}, {0},
};
static const struct convert_fixed nomic_fixed[] = {
    {"activation_function", "swiglu"},
    {"hidden_act", "silu"},
    {"causal", "false"},
    {"qkv_proj_bias", "false"},
    {"mlp_fc1_bias", "false"},
    {"mlp_fc2_bias", "false"},
    {"prenorm", "false"},
    {"parallel_block", "false"},
    {"parallel_block_tied_norm", "true|false"},
    {"use_rms_norm", "false"},
    {"rotary_emb_fraction", "1"},
    {"rotary_emb_interleaved", "false"},
    {"rotary_emb_scale_base", ""},
    /* Beyond the positions that it was trained for, which are the context. */
    {"rotary_scaling_factor", "2"},
    {"scale_attn_weights", "true"},
    {"scale_attn_by_inverse_layer_idx", "false"},
    {"reorder_and_upcast_attn", "true|false"},
    {"pad_vocab_size_multiple", "1|8|16|32|64|128"},
    {"num_experts", "0"},
    {"moe_every_n_layers", "0"},
    {0},
};
static const struct convert_fixed modern_fixed[] = {
    {"hidden_activation", "gelu"},
    {"attention_bias", "false"},
    {"mlp_bias", "false"},
    {"norm_bias", "false"},
    {"position_embedding_type", "absolute|sans_pos"},
    {0},
};
/* Of heads that stay behind, and of how programs ran it. */
static const struct convert_fixed modern_heads[] = {
    {"classifier_activation", "gelu|silu"},
    {"classifier_bias", "true|false"},
    {"classifier_pooling", "cls|mean"},
    {"decoder_bias", "true|false"},
    {"sparse_prediction", "true|false"},
    {"sparse_pred_ignore_index", "-100"},
    {"deterministic_flash_attn", "true|false"},
    {"reference_compile", "true|false"},
    {"repad_logits_with_grad", "true|false"},
    {0},
};

/* There are no logits. */
static const struct convert_fixed anything[] = {
    {"tie_word_embeddings", "true|false"}, {0},
};

/* ---- names ---- */

#define B "blk.%d."
#define NORM(from, to) \
    {from ".weight", to ".weight", "D", 0, 0, 0}, \
    {from ".gamma", to ".weight", "D", 0, 0, 0}, \
    {from ".bias", to ".bias", "D", 0, 0, 0}, \
    {from ".beta", to ".bias", "D", 0, 0, 0}
#define LINEAR(from, to, out, in) \
    {from ".weight", to ".weight", out in, 0, 0, 0}, \
    {from ".bias", to ".bias", out, 0, 0, 0}

#define WORDS {"embeddings.word_embeddings.weight", "token_embd.weight", "VD", 0, 0, 0}
#define TYPES {"embeddings.token_type_embeddings.weight", "token_types.weight", "TD", 0, CONVERT_KEEP, 0}
#define PLACES(change) \
    {"embeddings.position_embeddings.weight", "position_embd.weight", "PD", change, CONVERT_KEEP, 0}

static const struct convert_name bert_embed[] = {
    WORDS, PLACES(0), TYPES, NORM("embeddings.LayerNorm", "token_embd_norm"), {0},
};
static const struct convert_name roberta_embed[] = {
    WORDS, PLACES(CONVERT_PADDED), TYPES, NORM("embeddings.LayerNorm", "token_embd_norm"), {0},
};
static const struct convert_name distilbert_embed[] = {
    WORDS, PLACES(0), NORM("embeddings.LayerNorm", "token_embd_norm"), {0},
};

#define Y "encoder.layer.%d."
static const struct convert_name bert_layers[] = {
    LINEAR(Y "attention.self.query", B "attn_q", "Q", "D"),
    LINEAR(Y "attention.self.key", B "attn_k", "K", "D"),
    LINEAR(Y "attention.self.value", B "attn_v", "K", "D"),
    LINEAR(Y "attention.output.dense", B "attn_output", "D", "Q"),
    NORM(Y "attention.output.LayerNorm", B "attn_output_norm"),
    LINEAR(Y "intermediate.dense", B "ffn_up", "F", "D"),
    LINEAR(Y "output.dense", B "ffn_down", "D", "F"),
    NORM(Y "output.LayerNorm", B "layer_output_norm"),
    {0},
};
#undef Y
#define Y "transformer.layer.%d."
static const struct convert_name distilbert_layers[] = {
    LINEAR(Y "attention.q_lin", B "attn_q", "Q", "D"),
    LINEAR(Y "attention.k_lin", B "attn_k", "K", "D"),
    LINEAR(Y "attention.v_lin", B "attn_v", "K", "D"),
    LINEAR(Y "attention.out_lin", B "attn_output", "D", "Q"),
    NORM(Y "sa_layer_norm", B "attn_output_norm"),
    LINEAR(Y "ffn.lin1", B "ffn_up", "F", "D"),
    LINEAR(Y "ffn.lin2", B "ffn_down", "D", "F"),
    NORM(Y "output_layer_norm", B "layer_output_norm"),
    {0},
};
#undef Y

/* Of rankers: a layer with a tanh, and the product that makes scores. */
#define RANK(from, to, out, in, flags) \
    {from ".weight", to ".weight", out in, 0, flags, 'r'}, \
    {from ".bias", to ".bias", out, 0, flags, 'r'}
static const struct convert_name bert_rank[] = {
    RANK("pooler.dense", "cls", "D", "D", CONVERT_DROP),
    RANK("classifier", "cls.output", "C", "D", CONVERT_TOP),
    {0},
};
static const struct convert_name roberta_rank[] = {
    RANK("classifier.dense", "cls", "D", "D", CONVERT_TOP),
    RANK("classifier.out_proj", "cls.output", "C", "D", CONVERT_TOP),
    {0},
};

#define Y "encoder.layers.%d."
static const struct convert_name nomic_names[] = {
    WORDS, TYPES,
    NORM("emb_ln", "token_embd_norm"),
    {Y "attn.Wqkv.weight", B "attn_qkv.weight", "WD", 0, 0, 0},
    {Y "attn.out_proj.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    NORM(Y "norm1", B "attn_output_norm"),
    {Y "mlp.fc11.weight", B "ffn_up.weight", "FD", 0, 0, 0},
    {Y "mlp.fc12.weight", B "ffn_gate.weight", "FD", 0, 0, 0},
    {Y "mlp.fc2.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    NORM(Y "norm2", B "layer_output_norm"),
    {0},
};
#undef Y
#define Y "layers.%d."
static const struct convert_name modern_names[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight", "VD", 0, 0, 0},
    {"embeddings.norm.weight", "token_embd_norm.weight", "D", 0, 0, 0},
    {Y "attn_norm.weight", B "attn_norm.weight", "D", 0, CONVERT_LATER, 0},
    {Y "attn.Wqkv.weight", B "attn_qkv.weight", "WD", 0, 0, 0},
    {Y "attn.Wo.weight", B "attn_output.weight", "DQ", 0, 0, 0},
    {Y "mlp_norm.weight", B "ffn_norm.weight", "D", 0, 0, 0},
    {Y "mlp.Wi.weight", B "ffn_up.weight", "UD", 0, 0, 0},
    {Y "mlp.Wo.weight", B "ffn_down.weight", "DF", 0, 0, 0},
    {"final_norm.weight", "output_norm.weight", "D", 0, 0, 0},
    {0},
};

/* ---- models ---- */

#define KEYS(...)  ((const struct convert_key *const[]){__VA_ARGS__, NULL})
#define FIXED(...) ((const struct convert_fixed *const[]){__VA_ARGS__, NULL})
#define NAMES(...) ((const struct convert_name *const[]){__VA_ARGS__, NULL})
#define GUESSES "*embeddings.position_ids|cls.*|lm_head.*|vocab_*|pooler.dense.*|*.pooler.dense.*"
#define MASKED "lm_head.*|roberta.pooler.dense.*|pooler.dense.*|*embeddings.position_ids"

const struct convert_model convert_encoders[] = {
    {.type = "bert", .classes = "BertModel|BertForMaskedLM|BertForSequenceClassification",
     .arch = "bert", .flags = CONVERT_ENCODER | CONVERT_NO_ROPE | CONVERT_RANKS,
     .keys = KEYS(bert), .fixed = FIXED(bert_fixed, anything),
     .names = NAMES(bert_embed, bert_layers, bert_rank),
     .prefix = "|bert.", .drop = GUESSES},
    {.type = "roberta",
     .classes = "RobertaModel|RobertaForMaskedLM|RobertaForSequenceClassification",
     .arch = "bert",
     .flags = CONVERT_ENCODER | CONVERT_NO_ROPE | CONVERT_RANKS | CONVERT_OFFSET,
     .keys = KEYS(bert), .fixed = FIXED(bert_fixed, anything),
     .names = NAMES(roberta_embed, bert_layers, roberta_rank),
     .prefix = "|roberta.", .drop = MASKED},
    {.type = "xlm-roberta",
     .classes = "XLMRobertaModel|XLMRobertaForMaskedLM|XLMRobertaForSequenceClassification",
     .arch = "bert",
     .flags = CONVERT_ENCODER | CONVERT_NO_ROPE | CONVERT_RANKS | CONVERT_OFFSET,
     .keys = KEYS(bert), .fixed = FIXED(bert_fixed, anything),
     .names = NAMES(roberta_embed, bert_layers, roberta_rank),
     .prefix = "|roberta.", .drop = MASKED},
    {.type = "distilbert", .classes = "DistilBertModel|DistilBertForMaskedLM",
     .arch = "bert", .flags = CONVERT_ENCODER | CONVERT_NO_ROPE,
     .keys = KEYS(distilbert), .fixed = FIXED(distilbert_fixed, anything),
     .names = NAMES(distilbert_embed, distilbert_layers),
     .prefix = "|distilbert.", .drop = GUESSES},
    {.type = "nomic_bert", .classes = "NomicBertModel", .arch = "nomic-bert",
     .flags = CONVERT_ENCODER,
     .keys = KEYS(nomic), .fixed = FIXED(nomic_fixed, anything),
     .names = NAMES(nomic_names),
     .prefix = "|bert.|model.", .drop = GUESSES, .theta = 1000},
    {.type = "modernbert", .classes = "ModernBertModel|ModernBertForMaskedLM",
     .arch = "modern-bert", .flags = CONVERT_ENCODER,
     .keys = KEYS(modern), .fixed = FIXED(modern_fixed, modern_heads, anything),
     .names = NAMES(modern_names),
     .prefix = "|model.", .drop = "head.dense.weight|head.norm.weight|decoder.*",
     .theta = 160000, .window_theta = 10000,
     .windows = CONVERT_WINDOW_FIRST, .period = 3, .window = 128},
    {0},
};
/* clang-format on */
