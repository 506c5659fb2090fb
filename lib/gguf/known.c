/* SPDX-License-Identifier: MIT
 *
 * The types that keys of known names must have.  The reader takes any type
 * under any name: what a key is for, only its name says. */
#include <string.h>

#include "gguf/check.h"
#include "gguf/gguf_impl.h"

#define BIT(type) (1u << GGUF_##type)

enum {
    INTEGERS = BIT(U8) | BIT(I8) | BIT(U16) | BIT(I16) | BIT(U32) | BIT(I32) |
               BIT(U64) | BIT(I64),
    NUMBERS = INTEGERS | BIT(F32) | BIT(F64)
};

enum want {
    STRING,
    INT,
    NUM,
    BOOL,
    INTS, /* one for all layers, or one for each */
    NUMS,
    PATTERN,
    STRINGS,
    F32S,
    I32S,
    U32S,
    IDS,
    BYTES
};

static const struct {
    const char *what;
    unsigned scalar, elem;            /* types, a bit each */
    enum gguf_type usual, usual_elem; /* of these */
} wants[] = {
    [STRING] = {"a string", BIT(STR), 0, GGUF_STR, 0},
    [INT] = {"an integer", INTEGERS, 0, GGUF_U32, 0},
    [NUM] = {"a number", NUMBERS, 0, GGUF_F32, 0},
    [BOOL] = {"a bool", BIT(BOOL), 0, GGUF_BOOL, 0},
    [INTS] = {"an integer or an array of integers", INTEGERS, INTEGERS,
              GGUF_U32, GGUF_U32},
    [NUMS] = {"a number or an array of numbers", NUMBERS, NUMBERS, GGUF_F32,
              GGUF_F32},
    [PATTERN] = {"an integer or an array of bools or integers", INTEGERS,
                 INTEGERS | BIT(BOOL), GGUF_U32, GGUF_BOOL},
    [STRINGS] = {"an array of str", 0, BIT(STR), 0, GGUF_STR},
    [F32S] = {"an array of f32", 0, BIT(F32), 0, GGUF_F32},
    [I32S] = {"an array of i32", 0, BIT(I32), 0, GGUF_I32},
    [U32S] = {"an array of u32", 0, BIT(U32), 0, GGUF_U32},
    [IDS] = {"an array of i32 or u32", 0, BIT(I32) | BIT(U32), 0, GGUF_I32},
    [BYTES] = {"an array of bytes", 0, BIT(U8) | BIT(I8), 0, GGUF_U8},
};

struct known {
    const char *name; /* "*x" is any name that ends in x, "x*" that begins so */
    enum want want;
};

static const struct known general[] = {
    {"alignment", INT},
    {"architecture", STRING},
    {"author", STRING},
    {"base_model.count", INT},
    {"basename", STRING},
    {"dataset.count", INT},
    {"datasets", STRINGS},
    {"description", STRING},
    {"doi", STRING},
    {"file_type", INT},
    {"finetune", STRING},
    {"languages", STRINGS},
    {"license", STRING},
    {"license.link", STRING},
    {"license.name", STRING},
    {"name", STRING},
    {"organization", STRING},
    {"padding", BYTES},
    {"quantization_version", INT},
    {"quantized_by", STRING},
    {"repo_url", STRING},
    {"size_label", STRING},
    {"source.*", STRING},
    {"tags", STRINGS},
    {"type", STRING},
    {"url", STRING},
    {"uuid", STRING},
    {"version", STRING},
    {NULL, 0},
};

static const struct known arch[] = {
    {"activation_sparsity_scale", NUMS},
    {"attention.causal", BOOL},
    {"attention.clamp_kqv", NUM},
    {"attention.group_norm_epsilon", NUM},
    {"attention.group_norm_groups", INT},
    {"attention.head_count", INTS},
    {"attention.head_count_kv", INTS},
    {"attention.key_length", INT},
    {"attention.key_length_mla", INT},
    {"attention.key_length_swa", INT},
    {"attention.kv_lora_rank", INT},
    {"attention.layer_norm_epsilon", NUM},
    {"attention.layer_norm_rms_epsilon", NUM},
    {"attention.max_alibi_bias", NUM},
    {"attention.q_lora_rank", INT},
    {"attention.relative_buckets_count", INT},
    {"attention.scale", NUM},
    {"attention.shared_kv_layers", INT},
    {"attention.sliding_window", INT},
    {"attention.sliding_window_pattern", PATTERN},
    {"attention.value_length", INT},
    {"attention.value_length_mla", INT},
    {"attention.value_length_swa", INT},
    {"attn_logit_softcapping", NUM},
    {"block_count", INT},
    {"classifier.output_labels", STRINGS},
    {"context_length", INT},
    {"decoder_block_count", INT},
    {"decoder_start_token_id", INT},
    {"dense_2_feat_in", INT},
    {"dense_2_feat_out", INT},
    {"dense_3_feat_in", INT},
    {"dense_3_feat_out", INT},
    {"embedding_length", INT},
    {"embedding_scale", NUM},
    {"expert_count", INT},
    {"expert_feed_forward_length", INTS},
    {"expert_gating_func", INT},
    {"expert_group_count", INT},
    {"expert_group_used_count", INT},
    {"expert_shared_count", INT},
    {"expert_shared_feed_forward_length", INTS},
    {"expert_used_count", INT},
    {"expert_weights_norm", BOOL},
    {"expert_weights_scale", NUM},
    {"feed_forward_length", INTS},
    {"final_logit_softcapping", NUM},
    {"full_attention_interval", INT},
    {"hidden_activation", STRING},
    {"interleave_moe_layer_step", INT},
    {"kda.head_dim", INT},
    {"leading_dense_block_count", INT},
    {"logit_scale", NUM},
    {"moe_every_n_layers", INT},
    {"nextn_predict_layers", INT},
    {"pooling_type", INT},
    {"residual_scale", NUM},
    {"rope.dimension_count", INT},
    {"rope.dimension_sections", INTS},
    {"rope.freq_base", NUM},
    {"rope.freq_base_swa", NUM},
    {"rope.scale_linear", NUM},
    {"rope.scaling.attn_factor", NUM},
    {"rope.scaling.factor", NUM},
    {"rope.scaling.finetuned", BOOL},
    {"rope.scaling.original_context_length", INT},
    {"rope.scaling.type", STRING},
    {"rope.scaling.yarn_log_multiplier", NUM},
    {"shortconv.l_cache", INT},
    {"ssm.conv_kernel", INT},
    {"ssm.dt_b_c_rms", BOOL},
    {"ssm.group_count", INT},
    {"ssm.inner_size", INT},
    {"ssm.state_size", INT},
    {"ssm.time_step_rank", INT},
    {"tensor_data_layout", STRING},
    {"token_shift_count", INT},
    {"use_parallel_residual", BOOL},
    {"vocab_size", INT},
    {"wkv.head_size", INT},
    {NULL, 0},
};

static const struct known tokenizer[] = {
    {"chat_template", STRING},
    {"chat_template.*", STRING},
    {"chat_templates", STRINGS},
    {"ggml.add_bos_token", BOOL},
    {"ggml.add_eos_token", BOOL},
    {"ggml.add_sep_token", BOOL},
    {"ggml.add_space_prefix", BOOL},
    {"ggml.added_tokens", STRINGS},
    {"ggml.eos_token_ids", U32S},
    {"ggml.merges", STRINGS},
    {"ggml.model", STRING},
    {"ggml.normalizer.lowercase", BOOL},
    {"ggml.normalizer.strip_accents", BOOL},
    {"ggml.pre", STRING},
    {"ggml.precompiled_charsmap", BYTES},
    {"ggml.remove_extra_whitespaces", BOOL},
    {"ggml.scores", F32S},
    {"ggml.suppress_tokens", IDS},
    {"ggml.token_type", I32S},
    {"ggml.token_type_count", INT},
    {"ggml.tokens", STRINGS},
    {"*_token_id", INT},
    {"huggingface.json", STRING},
    {NULL, 0},
};

static bool matches(const char *p, size_t n, const char *name)
{
    size_t len = strlen(name);

    if (*name == '*')
        return n >= len - 1 && !memcmp(p + n - (len - 1), name + 1, len - 1);
    if (len && name[len - 1] == '*')
        return n >= len - 1 && !memcmp(p, name, len - 1);
    return n == len && !memcmp(p, name, n);
}

/* What the table says of KEY without its first N bytes and a dot. */
static const struct known *look(const struct known *table, struct gguf_str key,
                                size_t n)
{
    for (; table->name; table++)
        if (matches(key.p + n + 1, key.n - n - 1, table->name))
            return table;
    return NULL;
}

static bool begins(struct gguf_str key, struct gguf_str with)
{
    return with.n && key.n > with.n && !memcmp(key.p, with.p, with.n) &&
           key.p[with.n] == '.';
}

static const struct known *known_key(const struct gguf *g, struct gguf_str key)
{
    struct gguf_str a = {0};

    if (begins(key, (struct gguf_str){"general", 7}))
        return look(general, key, 7);
    if (begins(key, (struct gguf_str){"tokenizer", 9}))
        return look(tokenizer, key, 9);
    gguf_get_str(&a, g, "general.architecture", NULL);
    return begins(key, a) ? look(arch, key, a.n) : NULL;
}

bool gguf_usual_type(enum gguf_type *type, const struct gguf *g,
                     struct gguf_str key, bool array)
{
    const struct known *k = known_key(g, key);

    if (!k || !(array ? wants[k->want].elem : wants[k->want].scalar))
        return false;
    *type = array ? wants[k->want].usual_elem : wants[k->want].usual;
    return true;
}

/* Does V stand beside the tokens, one element for each? */
static bool is_parallel(struct gguf_str key)
{
    return matches(key.p, key.n, "tokenizer.ggml.scores") ||
           matches(key.p, key.n, "tokenizer.ggml.token_type");
}

int gguf_check_key(const struct gguf *g, size_t i, struct err *e)
{
    const struct gguf_val *v = gguf_key_at(g, i),
                          *tokens = gguf_key(g, "tokenizer.ggml.tokens");
    const struct known *k = known_key(g, v->key);
    bool arr = v->type == GGUF_ARR, fits;

    if (!k)
        return 0;
    /* Of an empty array the elements' type tells nothing. */
    fits = !arr   ? wants[k->want].scalar >> v->type & 1
           : v->n ? wants[k->want].elem >> v->elem & 1
                  : wants[k->want].elem != 0;
    if (!fits)
        return err_set(e, ERR_FORMAT, "%s: key '%.*s': is %s%s, must be %s",
                       g->path, GGUF_NAME(v->key), arr ? "an array of " : "",
                       gguf_val_name(arr ? v->elem : v->type),
                       wants[k->want].what);
    if (is_parallel(v->key) && tokens && tokens->type == GGUF_ARR &&
        v->n != tokens->n)
        return err_set(e, ERR_FORMAT,
                       "%s: key '%.*s': has %llu elements for %llu tokens",
                       g->path, GGUF_NAME(v->key), (unsigned long long)v->n,
                       (unsigned long long)tokens->n);
    return 0;
}
