/* SPDX-License-Identifier: MIT
 * tokenizer.c - which files of a folder are read, and the keys they become. */
#include "convert/tokenizer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "convert/tokenizer_impl.h"

enum { MAX_JSON = 256 << 20 };

void hf_note(struct hf *h, const char *fmt, ...)
{
    char line[400];
    va_list ap;

    if (!h->want->notes)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_printf(h->want->notes, "%s\n", line);
}

/* ---- files ---- */

int hf_map(struct map *m, const struct hf *h, const char *file, struct err *e)
{
    struct buf path = {0};
    int rc;

    *m = (struct map){0};
    buf_printf(&path, "%s/%s", h->dir, file);
    if (buf_ok(&path, e))
        rc = -1;
    else if (access(buf_str(&path), F_OK) &&
             (errno == ENOENT || errno == ENOTDIR))
        rc = 0;
    else
        rc = map_open(m, buf_str(&path), e) ? -1 : 1;
    buf_free(&path);
    return rc;
}

int hf_json(json_t **out, const struct hf *h, const char *file, struct err *e)
{
    struct map m;
    json_error_t je;
    int rc = hf_map(&m, h, file, e);

    *out = NULL;
    if (rc <= 0)
        return rc;
    rc = 0;
    if (m.n > MAX_JSON)
        rc = err_set(e, ERR_UNSUPPORTED, "%s/%s: more than %d MB", h->dir, file,
                     MAX_JSON >> 20);
    if (!rc) {
        *out = json_loadb((const char *)m.p, m.n,
                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
        if (!*out)
            rc = err_set(e, ERR_FORMAT, "%s/%s:%d: %s", h->dir, file, je.line,
                         je.text);
        else if (!json_is_object(*out))
            rc = err_set(e, ERR_FORMAT, "%s/%s: no JSON object", h->dir, file);
    }
    map_close(&m);
    return rc;
}

/* ---- JSON ---- */

json_t *hf_get(const json_t *obj, const char *key)
{
    json_t *v = obj ? json_object_get(obj, key) : NULL;

    return json_is_null(v) ? NULL : v;
}

const char *hf_str(const json_t *obj, const char *key)
{
    return json_string_value(hf_get(obj, key));
}

bool hf_bool(const json_t *obj, const char *key, bool def)
{
    const json_t *v = hf_get(obj, key);

    return json_is_boolean(v) ? json_is_true(v) : def;
}

bool hf_is(const json_t *obj, const char *type)
{
    const char *s = hf_str(obj, "type");

    return s && !strcmp(s, type);
}

const char *hf_show(char *buf, size_t size, const json_t *j)
{
    /* Of what is too long, pieces are left out: it ends at the first. */
    memset(buf, 0, size);
    json_dumpb(j, buf, size - 1, JSON_ENCODE_ANY | JSON_COMPACT);

    return buf;
}

/* ---- the keys ---- */

static void put_text(struct gguf_out *o, const char *key, const char *s)
{
    gguf_put_str(o, key, (struct gguf_str){s, strlen(s)});
}

/* U+2581 in tokens that are found in the text as they are is a space. */
static void put_spaced(struct buf *b, const char *p, size_t n)
{
    size_t at = b->n;
    unsigned char *len;

    buf_add(b, 8);
    for (size_t k; n; p += k, n -= k) {
        bool space = n >= SPACE_LEN && !memcmp(p, SPACE, SPACE_LEN);

        k = space ? SPACE_LEN : 1;
        buf_put(b, space ? " " : p, 1);
    }
    len = b->bad ? NULL : b->p + at;
    if (len)
        wr_u64(len, b->n - at - 8);
}

static void put_string(struct buf *b, const char *before, const char *p,
                       size_t n)
{
    unsigned char *to = buf_add(b, 8);

    if (to)
        wr_u64(to, strlen(before) + n);
    buf_puts(b, before);
    buf_put(b, p, n);
}

/* A token as this kind of vocabulary spells it. */
static void put_token(struct buf *b, const struct hf *h, uint32_t id)
{
    const struct voc_token *t = &h->voc.t[id];
    struct gguf_str s = voc_str(&h->voc, id);
    char pad[24];

    if (!t->type) {
        int n = snprintf(pad, sizeof pad, "[PAD%u]", id);

        put_string(b, strcmp(h->model, "bert") ? "" : SPACE, pad, (size_t)n);
    } else if (!strcmp(h->model, "bert") && t->type != TOK_CONTROL) {
        /* What begins a word is marked, what goes on is not. */
        if (s.n > 2 && !memcmp(s.p, "##", 2))
            put_string(b, "", s.p + 2, s.n - 2);
        else
            put_string(b, SPACE, s.p, s.n);
    } else if (t->type == TOK_USER_DEFINED) {
        put_spaced(b, s.p, s.n);
    } else {
        put_string(b, "", s.p, s.n);
    }
}

/* Types that this folder's GGUF had and JSON cannot say: see
 * tokenizer_back.c. */
static unsigned type_at(const struct hf *h, const json_t *types, uint32_t id)
{
    char key[16];
    const json_t *j;
    unsigned type = h->voc.t[id].type ? h->voc.t[id].type : TOK_UNUSED;

    if (!types)
        return type;
    snprintf(key, sizeof key, "%u", id);
    j = hf_get(types, key);
    if (json_is_integer(j) && json_integer_value(j) >= TOK_NORMAL &&
        json_integer_value(j) <= TOK_BYTE)
        type = (unsigned)json_integer_value(j);
    return type;
}

static int put_vocab(struct gguf_out *o, struct hf *h, struct err *e)
{
    const json_t *types = hf_get(hf_get(h->config, "gguf"), "token_types");
    uint32_t n = h->want->n_vocab > 0 ? h->voc.limit : h->voc.n;
    struct buf tokens = {0}, type = {0}, score = {0};
    int rc;

    while (h->voc.n < n) { /* room for what has no token */
        if (voc_put(&h->voc, n - 1, "", 0, TOK_UNUSED, h->pad_score, e))
            return -1;
        h->voc.t[n - 1].type = 0;
    }
    for (uint32_t id = 0; id < n; id++) {
        unsigned char *p = buf_add(&type, 4);
        float f = h->voc.t[id].type ? h->voc.t[id].score : h->pad_score;
        uint32_t u;

        put_token(&tokens, h, id);
        memcpy(&u, &f, 4);
        if (p)
            wr_u32(p, type_at(h, types, id));
        p = h->scores ? buf_add(&score, 4) : NULL;
        if (p)
            wr_u32(p, u);
    }
    gguf_put_arr(o, "tokenizer.ggml.tokens", GGUF_STR, n, tokens.p, tokens.n);
    if (h->scores)
        gguf_put_arr(o, "tokenizer.ggml.scores", GGUF_F32, n, score.p, score.n);
    gguf_put_arr(o, "tokenizer.ggml.token_type", GGUF_I32, n, type.p, type.n);
    rc = buf_ok(&tokens, e) || buf_ok(&type, e) || buf_ok(&score, e);
    buf_free(&tokens);
    buf_free(&type);
    buf_free(&score);
    return rc ? -1 : 0;
}

static void put_flags(struct gguf_out *o, const struct hf *h)
{
    const struct {
        const char *key;
        int v;
    } flags[] = {
        {"tokenizer.ggml.add_bos_token", h->add_bos},
        {"tokenizer.ggml.add_eos_token", h->add_eos},
        {"tokenizer.ggml.add_sep_token", h->add_sep},
        {"tokenizer.ggml.add_space_prefix", h->space_prefix},
        {"tokenizer.ggml.remove_extra_whitespaces", h->shrink},
        {"tokenizer.ggml.normalizer.lowercase", h->lowercase},
        {"tokenizer.ggml.normalizer.strip_accents", h->accents},
    };

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].v >= 0)
            gguf_put_int(o, flags[i].key, GGUF_BOOL, flags[i].v);
}

/* Those that tokenizer_back_config.c kept: fim_pre_token_id and so on. */
static void put_more_ids(struct gguf_out *o, const struct hf *h)
{
    json_t *ids = hf_get(hf_get(h->config, "gguf"), "ids"), *id;
    const char *name;

    json_object_foreach(ids, name, id)
    {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
        char key[96];
        int r = 0;

        snprintf(key, sizeof key, "tokenizer.ggml.%.64s", name);
        while (r < HF_NROLE && strcmp(key, hf_roles[r].key))
            r++;
        if (r == HF_NROLE && !name[n] && n > 9 && n <= 64 &&
            !strcmp(name + n - 9, "_token_id") && json_is_integer(id) &&
            json_integer_value(id) >= 0 && json_integer_value(id) < h->voc.n)
            gguf_put_int(o, key, GGUF_U32, json_integer_value(id));
    }
}

static int put_keys(struct gguf_out *o, struct hf *h, struct err *e)
{
    put_text(o, "tokenizer.ggml.model", h->model);
    if (h->pre[0])
        put_text(o, "tokenizer.ggml.pre", h->pre);
    if (put_vocab(o, h, e))
        return -1;
    if (h->nmerge || !strcmp(h->model, "gpt2"))
        gguf_put_arr(o, "tokenizer.ggml.merges", GGUF_STR, h->nmerge,
                     h->merges.p, h->merges.n);
    if (h->charsmap.n)
        gguf_put_arr(o, "tokenizer.ggml.precompiled_charsmap", GGUF_U8,
                     h->charsmap.n, h->charsmap.p, h->charsmap.n);
    for (int r = 0; r < HF_NROLE; r++)
        if (h->role[r] >= 0 && h->role[r] < h->voc.n &&
            (r != HF_CLS || h->role[r] != h->role[HF_BOS]))
            gguf_put_int(o, hf_roles[r].key, GGUF_U32, h->role[r]);
    put_more_ids(o, h);
    put_flags(o, h);
    return hf_sampling(o, h, e) || hf_templates(o, h, e) ? -1 : 0;
}

/* ---- all of it ---- */

static int load(struct hf *h, struct err *e)
{
    const struct {
        json_t **to;
        const char *file;
    } files[] = {
        {&h->tokenizer, "tokenizer.json"},
        {&h->config, "tokenizer_config.json"},
        {&h->special, "special_tokens_map.json"},
        {&h->generation, "generation_config.json"},
        {&h->added, "added_tokens.json"},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (hf_json(files[i].to, h, files[i].file, e))
            return -1;
    return 0;
}

static int read_vocab(struct hf *h, struct err *e)
{
    int rc = hf_prefers_spm(h) ? hf_sentencepiece(h, e) : 0;

    if (rc)
        return rc < 0 ? -1 : 0;
    h->source = "tokenizer.json";
    if (!h->tokenizer && hf_older(h, e))
        return -1;
    return hf_read_json(h, e) ? err_prefix(e, "%s/%s", h->dir, h->source) : 0;
}

/* What JSON has no place for, as tokenizer_back.c leaves it. */
static void take_hint(struct hf *h)
{
    const char *pre = hf_str(hf_get(h->config, "gguf"), "pre");

    if (pre && strcmp(h->model, "gpt2") && strcmp(h->model, "gemma4"))
        snprintf(h->pre, sizeof h->pre, "%s", pre);
}

int convert_tokenizer(struct gguf_out *o, const char *dir,
                      const struct convert_tokenizer_want *want, struct err *e)
{
    struct hf h = {.dir = dir,
                   .want = want,
                   .source = "",
                   .add_bos = -1,
                   .add_eos = -1,
                   .add_sep = -1,
                   .space_prefix = -1,
                   .shrink = -1,
                   .lowercase = -1,
                   .accents = -1};
    int rc;

    for (int r = 0; r < HF_NROLE; r++)
        h.role[r] = -1;
    rc = load(&h, e);
    if (!rc)
        rc = read_vocab(&h, e);
    if (!rc && hf_roles_load(&h, e))
        rc = err_prefix(e, "%s/%s", dir, h.source);
    if (!rc) {
        take_hint(&h);
        rc = put_keys(o, &h, e) ? err_prefix(e, "%s", dir) : 0;
    }
    voc_free(&h.voc);
    buf_free(&h.merges);
    buf_free(&h.parts);
    buf_free(&h.charsmap);
    json_decref(h.tokenizer);
    json_decref(h.config);
    json_decref(h.special);
    json_decref(h.generation);
    json_decref(h.added);
    return rc;
}
