/* SPDX-License-Identifier: MIT
 *
 * Edits that would leave a file which is well formed and no use. */
#include <stdio.h>
#include <string.h>

#include "cmd/set/set.h"
#include "gguf/check.h"
#include "gguf/config.h"

/* The shapes of the tensors follow from these, behind the architecture's name.
 */
static const char *const shapes[] = {
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_mla",
    "attention.key_length_swa",
    "attention.kv_lora_rank",
    "attention.q_lora_rank",
    "attention.value_length",
    "attention.value_length_mla",
    "attention.value_length_swa",
    "block_count",
    "embedding_length",
    "expert_count",
    "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
    "feed_forward_length",
    "leading_dense_block_count",
    "nextn_predict_layers",
    "ssm.conv_kernel",
    "ssm.group_count",
    "ssm.inner_size",
    "ssm.state_size",
    "ssm.time_step_rank",
    "tensor_data_layout",
    "vocab_size",
};

/* Each token has a row of the embedding; these stand beside them. */
static const char *const tokens[] = {
    "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
    "tokenizer.ggml.token_type", "tokenizer.ggml.merges"};

static bool is(struct gguf_str s, const char *word)
{
    return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

static const char *why_not(const struct gguf *g, struct gguf_str key)
{
    struct gguf_str arch = {0};

    if (is(key, "general.architecture"))
        return "the other keys' names and the tensors go by it";
    if (key.n >= 6 && !memcmp(key.p, "split.", 6))
        return "it says which file of a split model this is";
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (is(key, tokens[i]))
            return "the rows of the embedding, and the other keys of the "
                   "vocabulary, go by it";
    gguf_get_str(&arch, g, "general.architecture", NULL);
    if (!arch.n || key.n <= arch.n || memcmp(key.p, arch.p, arch.n) ||
        key.p[arch.n] != '.')
        return NULL;
    key.p += arch.n + 1;
    key.n -= arch.n + 1;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (is(key, shapes[i]))
            return "the tensors' shapes go by it";
    return NULL;
}

static int refuse(const struct gguf *g, struct gguf_str key, struct err *e)
{
    const char *why = why_not(g, key);

    if (!why)
        return 0;
    return err_set(e, ERR_USAGE, "%s: key '%.*s': %s (--force sets it)",
                   gguf_path(g), (int)(key.n < 80 ? key.n : 80), key.p, why);
}

int guard_edits(const struct gguf *g, const struct edits *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct edit *x = &s->v[i];

        if ((x->old && refuse(g, x->old->key, e)) ||
            (!x->deleted && refuse(g, x->now.key, e)))
            return -1;
    }
    return 0;
}

/* Are the model's dimensions what its keys can mean? */
static bool sound(const struct gguf *g, struct err *e)
{
    struct gguf_config c;
    int rc = gguf_config_init(&c, g, e);

    gguf_config_fini(&c);
    return !rc;
}

int guard_result(const struct gguf *before, const struct gguf *after,
                 const struct edits *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct gguf_val *v =
            s->v[i].deleted ? NULL : gguf_key(after, s->v[i].name);

        if (v &&
            gguf_check_key(after, (size_t)(v - gguf_key_at(after, 0)), e)) {
            e->code = ERR_USAGE;
            return -1;
        }
    }
    if (sound(before, NULL) && !sound(after, e)) {
        e->code = ERR_USAGE;
        return -1;
    }
    return 0;
}
