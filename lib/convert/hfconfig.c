/* SPDX-License-Identifier: MIT */
#include "convert/hfconfig.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"

enum { MAX_JSON = 16 << 20 };

/* ---- files ---- */

/* P[N] as JSON: an object or an array, no name twice. */
static json_t *parse(const char *path, const void *p, size_t n, struct err *e)
{
    json_error_t je;
    json_t *j = json_loadb(p, n, JSON_REJECT_DUPLICATES, &je);

    if (!j && json_error_code(&je) == json_error_out_of_memory)
        err_nomem(e);
    else if (!j)
        err_set(e, ERR_FORMAT, "%s: line %d: %s", path, je.line, je.text);
    return j;
}

int hfconfig_json(json_t **out, const char *dir, const char *name,
                  struct err *e)
{
    struct buf path = {0};
    struct map m = {0};
    struct stat st;
    int rc = -1;

    *out = NULL;
    buf_printf(&path, "%s/%s", dir, name);
    if (buf_ok(&path, e)) {
        buf_free(&path);
        return -1;
    }
    if (lstat(buf_str(&path), &st))
        rc = 0;
    else if (map_open(&m, buf_str(&path), e))
        rc = -1;
    else if (m.n > MAX_JSON)
        err_set(e, ERR_UNSUPPORTED, "%s: is too long", buf_str(&path));
    else
        *out = parse(buf_str(&path), m.n ? (const char *)m.p : "", m.n, e);
    map_close(&m);
    buf_free(&path);
    return *out ? 1 : rc;
}

/* The folder of PATH. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat st;
    size_t n = strlen(path);

    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        while (n > 1 && path[n - 1] == '/')
            n--;
        return strndup(path, n);
    }
    return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1)
                 : strdup(".");
}

/* Models of several parts, of which this is the one for texts.  Whether its
 * output is the embedding the whole may say. */
static json_t *text_part(json_t *file)
{
    static const char tied[] = "tie_word_embeddings";
    json_t *j = json_object_get(file, "text_config"),
           *tie = json_object_get(file, tied);

    if (!json_is_object(j))
        return NULL;
    if (tie && !json_object_get(j, tied))
        json_object_set(j, tied, tie);
    return j;
}

int hfconfig_open(struct hfconfig *h, const char *path, struct err *e)
{
    struct stat st;
    int rc;

    *h = (struct hfconfig){.dir = folder_of(path), .seen = json_object()};
    if (!h->dir || !h->seen)
        return err_nomem(e);
    if (stat(path, &st))
        return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    rc = hfconfig_json(&h->file, h->dir, "config.json", e);
    if (rc <= 0)
        return rc ? -1 : err_set(e, ERR_IO, "%s: has no config.json", h->dir);
    if (!json_is_object(h->file))
        return err_set(e, ERR_FORMAT, "%s/config.json: is no JSON object",
                       h->dir);
    h->root = text_part(h->file);
    h->whole = !h->root;
    if (h->whole)
        h->root = h->file;
    h->type = json_string_value(hfconfig_get(h, "model_type"));
    if (!h->type)
        return err_set(e, ERR_FORMAT, "%s/config.json: 'model_type' is missing",
                       h->dir);
    hfconfig_get(h, "architectures");
    h->class = json_string_value(
        json_array_get(json_object_get(h->file, "architectures"), 0));
    return 0;
}

void hfconfig_close(struct hfconfig *h)
{
    json_decref(h->file);
    json_decref(h->seen);
    free(h->dir);
    *h = (struct hfconfig){0};
}

/* ---- values ---- */

bool hfconfig_among(const char *name, const char *list)
{
    size_t n = strlen(name);

    for (const char *p = list; p; p = strchr(p, '|')) {
        p += p != list;
        if (!strncmp(p, name, n) && (!p[n] || p[n] == '|'))
            return true;
    }
    return false;
}

/* The first of NAMES that has a value; KEY: which one. */
static json_t *find(struct hfconfig *h, char key[64], const char *names)
{
    json_t *found = NULL;

    for (const char *p = names; p; p = strchr(p, '|')) {
        char name[64];
        size_t n;
        json_t *v;

        p += p != names;
        n = strcspn(p, "|");
        n = n < sizeof name - 1 ? n : sizeof name - 1;
        memcpy(name, p, n);
        name[n] = 0;
        v = json_object_get(h->root, name);
        if (v)
            json_object_set_new(h->seen, name, json_true());
        if (json_is_null(v))
            v = NULL;
        if (p == names || (v && !found))
            memcpy(key, name, sizeof name);
        if (v && !found)
            found = v;
    }
    return found;
}

json_t *hfconfig_get(struct hfconfig *h, const char *names)
{
    char key[64];

    return find(h, key, names);
}

static int wrong(const struct hfconfig *h, const char *key, const char *what,
                 struct err *e)
{
    return err_set(e, ERR_FORMAT, "%s/config.json: '%s' %s", h->dir, key, what);
}

int hfconfig_int(int64_t *out, struct hfconfig *h, const char *names,
                 int64_t min, int64_t max, struct err *e)
{
    char key[64];
    json_t *v = find(h, key, names);
    int64_t i;

    if (!v)
        return 0;
    if (!json_is_integer(v))
        return wrong(h, key, "is no integer", e);
    i = json_integer_value(v);
    if (i < min || i > max)
        return err_set(
            e, ERR_FORMAT, "%s/config.json: '%s': %lld is not in %lld..%lld",
            h->dir, key, (long long)i, (long long)min, (long long)max);
    *out = i;
    return 1;
}

int hfconfig_num(double *out, struct hfconfig *h, const char *names,
                 struct err *e)
{
    char key[64];
    json_t *v = find(h, key, names);

    if (!v)
        return 0;
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return wrong(h, key, "is no number", e);
    *out = json_number_value(v);
    return 1;
}

int hfconfig_bool(bool *out, struct hfconfig *h, const char *names,
                  struct err *e)
{
    char key[64];
    json_t *v = find(h, key, names);

    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return wrong(h, key, "is neither true nor false", e);
    *out = json_is_true(v);
    return 1;
}

int hfconfig_str(const char **out, struct hfconfig *h, const char *names,
                 struct err *e)
{
    char key[64];
    json_t *v = find(h, key, names);

    if (!v)
        return 0;
    if (!json_is_string(v))
        return wrong(h, key, "is no string", e);
    *out = json_string_value(v);
    return 1;
}

int hfconfig_num_in(double *out, const json_t *o, const char *key,
                    const char *where, const struct hfconfig *h, struct err *e)
{
    json_t *v = json_object_get(o, key);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return err_set(e, ERR_FORMAT, "%s/config.json: '%s': '%s' is no number",
                       h->dir, where, key);
    *out = json_number_value(v);
    return 1;
}

/* ---- values that nobody asked for ---- */

/* Of training, of how the model was kept, of how texts are made with it (which
 * generation_config.json says), and of labels. */
static const char harmless[] =
    "_name_or_path|name_or_path|auto_map|transformers_version|torch_dtype|"
    "dtype|"
    "use_cache|initializer_range|initializer_cutoff_factor|attention_dropout|"
    "attention_probs_dropout_prob|hidden_dropout_prob|hidden_dropout|"
    "resid_pdrop|embd_pdrop|attn_pdrop|residual_dropout|embedding_dropout|"
    "mlp_dropout|dropout|qa_dropout|seq_classif_dropout|classifier_dropout|"
    "summary_activation|summary_first_dropout|summary_proj_to_labels|"
    "summary_type|summary_use_proj|gradient_checkpointing|pretraining_tp|"
    "output_router_logits|router_aux_loss_coef|router_jitter_noise|"
    "output_attentions|output_hidden_states|return_dict|torchscript|"
    "use_bfloat16|tf_legacy_loss|chunk_size_feed_forward|problem_type|"
    "finetuning_task|task_specific_params|tokenizer_class|unsloth_fixed|"
    "unsloth_version|id2label|label2id|num_labels|bos_token_id|eos_token_id|"
    "pad_token_id|sep_token_id|cls_token_id|unk_token_id|mask_token_id|"
    "decoder_start_token_id|temperature|top_k|top_p|typical_p|do_sample|"
    "num_beams|num_beam_groups|num_return_sequences|max_length|min_length|"
    "early_stopping|length_penalty|repetition_penalty|diversity_penalty|"
    "no_repeat_ngram_size|encoder_no_repeat_ngram_size|bad_words_ids|"
    "remove_invalid_values|exponential_decay_length_penalty|suppress_tokens|"
    "begin_suppress_tokens|forced_bos_token_id|forced_eos_token_id|"
    "output_scores|return_dict_in_generate|prefix|_attn_implementation|"
    "_attn_implementation_autoset|attn_implementation|cache_implementation|"
    "_commit_hash|_flash_attn_2_enabled|is_llama_config|transformers.js_config|"
    "output_past|dense_seq_output|use_xentropy|use_flash_attn|fused_bias_fc|"
    "fused_dropout_add_ln|attention_softmax_in_fp32|"
    "scale_attention_softmax_in_fp32|sentence_transformers|"
    "sbert_ce_default_activation_function|sbert_ce_default_activation";

/* Nothing when they are off. */
static const char off[] = "is_decoder|add_cross_attention|is_encoder_decoder|"
                          "tie_encoder_decoder|use_sliding_window|"
                          "rope_interleaved";

static bool empty(const json_t *v)
{
    return json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v));
}

int hfconfig_unknown(const struct hfconfig *h, struct err *e)
{
    const char *key;
    json_t *v;

    json_object_foreach(
        h->root, key,
        v) if (!json_object_get(h->seen, key) && !empty(v) &&
               !hfconfig_among(key, harmless) &&
               !(json_is_false(v) &&
                 hfconfig_among(
                     key, off))) return err_set(e, ERR_UNSUPPORTED,
                                                "%s/config.json: '%.100s' "
                                                "is not known, and might "
                                                "change results",
                                                h->dir, key);
    return 0;
}
