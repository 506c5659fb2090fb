/* SPDX-License-Identifier: MIT
 * tokenizer_back_config.c - tokenizer_config.json, the chat templates and
 * generation_config.json of a GGUF. */
#include <errno.h>
#include <sys/stat.h>

#include "convert/tokenizer_back.h"

static json_t *text(struct gguf_str s)
{
    return json_stringn(s.p, s.n);
}

/* The id that a key names, among the tokens; -1 if none. */
static int64_t id_of(const struct back *b, const char *key)
{
    int64_t id = -1;

    return gguf_get_int(&id, b->g, key, 0, (int64_t)b->n - 1, NULL) > 0 ? id
                                                                        : -1;
}

/* ---- tokenizer_config.json ---- */

static int put_roles(json_t *j, const struct back *b)
{
    for (int r = 0; r < HF_NROLE; r++) {
        int64_t id = id_of(b, hf_roles[r].key);
        json_t *s = NULL;

        if (id >= 0)
            s = text(tok_spelling(b->t, (uint32_t)id));
        else if (r == HF_UNK)
            s = json_null(); /* whatever tokenizer.json needs one for */
        else
            continue;
        if (json_object_set_new(j, hf_roles[r].token, s))
            return -1;
    }
    return 0;
}

static int put_context(json_t *j, const struct back *b)
{
    struct gguf_str arch = {0};
    char key[96];
    int64_t n;

    if (gguf_get_str(&arch, b->g, "general.architecture", NULL) <= 0 ||
        arch.n > 64)
        return 0;
    snprintf(key, sizeof key, "%.*s.context_length", (int)arch.n, arch.p);
    if (gguf_get_int(&n, b->g, key, 1, INT32_MAX, NULL) <= 0)
        return 0;
    return json_object_set_new(j, "model_max_length", json_integer(n));
}

/* Keys of tokens that tokenizer_config.json has no name for: fim_pre_token_id
 * and so on. */
static json_t *more_ids(const struct back *b)
{
    static const char before[] = "tokenizer.ggml.", after[] = "_token_id";
    size_t nb = sizeof before - 1, na = sizeof after - 1;
    json_t *j = json_object();

    for (size_t i = 0; i < gguf_nkey(b->g); i++) {
        const struct gguf_val *v = gguf_key_at(b->g, i);
        int64_t id;
        int r = 0;

        if (v->key.n <= nb + na || memcmp(v->key.p, before, nb) ||
            memcmp(v->key.p + v->key.n - na, after, na) ||
            !gguf_val_int(&id, v) || id < 0 || id >= b->n)
            continue;
        while (r < HF_NROLE && (v->key.n != strlen(hf_roles[r].key) ||
                                memcmp(v->key.p, hf_roles[r].key, v->key.n)))
            r++;
        if (r == HF_NROLE)
            json_object_setn_new(j, v->key.p + nb, v->key.n - nb,
                                 json_integer(id));
    }
    return j;
}

/* What else would be lost. */
static json_t *remains(const struct back *b)
{
    struct gguf_str pre = {0};
    json_t *j = json_object(), *ids = more_ids(b);

    if (json_object_size(ids))
        json_object_set(j, "ids", ids);
    json_decref(ids);
    if (gguf_get_str(&pre, b->g, "tokenizer.ggml.pre", NULL) > 0 &&
        json_object_set_new(j, "pre", text(pre))) {
        json_decref(j);
        return NULL;
    }
    if (json_object_size(b->types))
        json_object_set(j, "token_types", b->types);
    return j;
}

static int write_config(const struct back *b, struct err *e)
{
    bool bert = !strcmp(b->model, "bert");
    json_t *j = json_pack("{s:s, s:b, s:b, s:b, s:o}", "tokenizer_class",
                          bert ? "BertTokenizer" : "PreTrainedTokenizerFast",
                          "add_bos_token", tok_adds_bos(b->t), "add_eos_token",
                          tok_adds_eos(b->t), "clean_up_tokenization_spaces", 0,
                          "gguf", remains(b));
    int rc;

    if (!j || put_roles(j, b) || put_context(j, b)) {
        json_decref(j);
        return err_set(e, ERR_UNSUPPORTED, "a special token is no UTF-8");
    }
    rc = hf_back_json(b, "tokenizer_config.json", j, e);
    json_decref(j);
    return rc;
}

/* ---- chat templates ---- */

static int write_text(const struct back *b, const char *file, struct gguf_str s,
                      struct err *e)
{
    struct buf view = {(unsigned char *)(uintptr_t)s.p, s.n, 0, false};

    return hf_back_write(b, file, &view, e);
}

static bool plain_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'z') ||
              (p[i] >= 'A' && p[i] <= 'Z') || p[i] == '_'))
            return false;
    return n > 0 && n <= 80;
}

static int write_named(const struct back *b, const char *name, size_t n,
                       struct gguf_str s, struct err *e)
{
    struct buf path = {0};
    char file[128];
    int rc;

    buf_printf(&path, "%s/additional_chat_templates", b->dir);
    buf_str(&path);
    rc = buf_ok(&path, e);
    if (!rc && mkdir((char *)path.p, 0777) && errno != EEXIST)
        rc = err_set(e, ERR_IO, "%s: %s", (char *)path.p, strerror(errno));
    snprintf(file, sizeof file, "additional_chat_templates/%.*s.jinja", (int)n,
             name);
    if (!rc)
        rc = write_text(b, file, s, e);
    buf_free(&path);
    return rc;
}

static int write_templates(const struct back *b, struct err *e)
{
    static const char key[] = "tokenizer.chat_template";
    size_t n = sizeof key - 1;

    for (size_t i = 0; i < gguf_nkey(b->g); i++) {
        const struct gguf_val *v = gguf_key_at(b->g, i);
        const unsigned char *p = v->p;
        const char *name = v->key.p + n + 1;
        int rc = 0;

        if (v->type != GGUF_STR || v->key.n < n || memcmp(v->key.p, key, n))
            continue;
        if (v->key.n == n)
            rc = write_text(b, "chat_template.jinja", gguf_str_next(&p), e);
        else if (v->key.p[n] == '.' && plain_name(name, v->key.n - n - 1))
            rc = write_named(b, name, v->key.n - n - 1, gguf_str_next(&p), e);
        if (rc)
            return -1;
    }
    return 0;
}

/* ---- generation_config.json ---- */

static const struct {
    const char *key, *name;
    bool whole;
} numbers[] = {
    {"general.sampling.temp", "temperature", false},
    {"general.sampling.top_k", "top_k", true},
    {"general.sampling.top_p", "top_p", false},
    {"general.sampling.min_p", "min_p", false},
    {"general.sampling.penalty_repeat", "repetition_penalty", false},
};

/* A float as the shortest decimal number that is it: 0.7, not
 * 0.69999998807907104. */
static json_t *shortest(double d)
{
    char s[32];
    double x = d;

    for (int digits = 1; digits < 10; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, d);
        if (sscanf(s, "%lf", &x) == 1 && (float)x == (float)d)
            break;
    }
    return json_real((float)x == (float)d ? x : d);
}

static json_t *id_list(const struct back *b, const char *key)
{
    const struct gguf_val *v = gguf_key(b->g, key);
    json_t *list = json_array();
    int64_t id;

    for (uint64_t i = 0; v && v->type == GGUF_ARR && i < v->n; i++)
        if (gguf_elem_int(&id, v, i) && id >= 0 && id < b->n)
            json_array_append_new(list, json_integer(id));
    return list;
}

static void put_ids(json_t *j, const struct back *b)
{
    static const struct {
        const char *name, *key;
    } ids[] = {
        {"bos_token_id", "tokenizer.ggml.bos_token_id"},
        {"eos_token_id", "tokenizer.ggml.eos_token_id"},
        {"pad_token_id", "tokenizer.ggml.padding_token_id"},
    };
    json_t *list;

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (id_of(b, ids[i].key) >= 0)
            json_object_set_new(j, ids[i].name,
                                json_integer(id_of(b, ids[i].key)));
    list = id_list(b, "tokenizer.ggml.eos_token_ids");
    if (json_array_size(list) > 1)
        json_object_set(j, "eos_token_id", list);
    json_decref(list);
    list = id_list(b, "tokenizer.ggml.suppress_tokens");
    if (json_array_size(list))
        json_object_set(j, "suppress_tokens", list);
    json_decref(list);
}

static int write_generation(const struct back *b, struct err *e)
{
    json_t *j = json_object();
    bool draws = false;
    int rc = 0;

    put_ids(j, b);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double d;

        if (gguf_get_float(&d, b->g, numbers[i].key, NULL) <= 0)
            continue;
        draws = true;
        json_object_set_new(j, numbers[i].name,
                            numbers[i].whole && d >= 0 && d <= INT32_MAX
                                ? json_integer((json_int_t)d)
                                : shortest(d));
    }
    if (draws)
        json_object_set_new(j, "do_sample", json_true());
    if (json_object_size(j))
        rc = hf_back_json(b, "generation_config.json", j, e);
    json_decref(j);
    return rc;
}

int hf_back_config(struct back *b, struct err *e)
{
    return write_config(b, e) || write_templates(b, e) || write_generation(b, e)
               ? -1
               : 0;
}
