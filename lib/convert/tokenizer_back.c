/* SPDX-License-Identifier: MIT
 * tokenizer_back.c - tokenizer.json, and tokenizer.model, of a GGUF.
 *
 * What JSON has no place for (the name of the pre-tokenizer among those that
 * split alike, types that its lists do not tell) is kept in the member "gguf"
 * of tokenizer_config.json, so that the way there and back gives the same
 * vocabulary. */
#include "convert/tokenizer_back.h"

#include <stdlib.h>

#include "base/newfile.h"

/* ---- files ---- */

int hf_back_write(const struct back *b, const char *file, const struct buf *s,
                  struct err *e)
{
    struct buf path = {0};
    struct newfile *f = NULL;
    int rc = -1;

    buf_printf(&path, "%s/%s", b->dir, file);
    buf_str(&path);
    if (!buf_ok(s, e) && !buf_ok(&path, e) &&
        !newfile_open(&f, (char *)path.p, e) &&
        !newfile_put(f, 0, s->p, s->n, e))
        rc = newfile_close(f, e);
    if (rc)
        newfile_abandon(f);
    buf_free(&path);
    return rc;
}

static int dump(const char *p, size_t n, void *to)
{
    buf_put(to, p, n);
    return ((struct buf *)to)->bad ? -1 : 0;
}

int hf_back_json(const struct back *b, const char *file, const json_t *j,
                 struct err *e)
{
    struct buf s = {0};
    int rc;

    if (!j)
        return err_nomem(e);
    if (json_dump_callback(j, dump, &s, JSON_INDENT(1)))
        s.bad = true;
    buf_putc(&s, '\n');
    rc = hf_back_write(b, file, &s, e);
    buf_free(&s);
    return rc;
}

/* ---- tokens ---- */

bool hf_back_is_hole(const struct back *b, uint32_t id)
{
    enum tok_type type = tok_type(b->t, id);
    struct gguf_str s = tok_spelling(b->t, id);
    char pad[24];
    size_t n = (size_t)snprintf(pad, sizeof pad, "[PAD%u]", id), skip = 0;

    if (!s.n)
        return true;
    if (id == b->unknown || (type != TOK_UNUSED && type != TOK_UNKNOWN))
        return false;
    if (!strcmp(b->model, "bert") && s.n > SPACE_LEN &&
        !memcmp(s.p, SPACE, SPACE_LEN))
        skip = SPACE_LEN;
    return s.n - skip == n && !memcmp(s.p + skip, pad, n);
}

void hf_back_spell(struct buf *out, const struct back *b, uint32_t id)
{
    struct gguf_str s = tok_spelling(b->t, id);

    if (strcmp(b->model, "bert") || tok_type(b->t, id) == TOK_CONTROL) {
        buf_put(out, s.p, s.n);
    } else if (s.n > SPACE_LEN && !memcmp(s.p, SPACE, SPACE_LEN)) {
        buf_put(out, s.p + SPACE_LEN, s.n - SPACE_LEN);
    } else {
        buf_puts(out, "##");
        buf_put(out, s.p, s.n);
    }
}

bool hf_back_is_added(const struct back *b, uint32_t id, bool *special)
{
    enum tok_type type = tok_type(b->t, id);

    *special = type == TOK_CONTROL || type == TOK_UNKNOWN;
    return !hf_back_is_hole(b, id) && (*special || type == TOK_USER_DEFINED);
}

/* Does a key name it?  Then tokenizer_config.json does. */
static bool has_role(const struct back *b, uint32_t id)
{
    int64_t is;

    for (int r = 0; r < HF_NROLE; r++)
        if (gguf_get_int(&is, b->g, hf_roles[r].key, 0, UINT32_MAX, NULL) > 0 &&
            is == id)
            return true;
    return false;
}

/* The type that it gets when the folder is read. */
static enum tok_type type_there(const struct back *b, uint32_t id)
{
    struct gguf_str s = tok_spelling(b->t, id);
    enum tok_type type = tok_type(b->t, id);
    bool special, hole = hf_back_is_hole(b, id);

    if (!strcmp(b->model, "t5") && id == b->unknown)
        return TOK_UNKNOWN;
    if (hf_back_is_added(b, id, &special))
        return hf_added_type(s.p, s.n, special);
    if (!hole && has_role(b, id))
        return TOK_CONTROL;
    if (!strcmp(b->model, "llama"))
        return hole ? TOK_UNUSED : type;
    if (hole)
        return strcmp(b->model, "t5") ? TOK_UNUSED : TOK_NORMAL;
    return type == TOK_BYTE ? TOK_BYTE : TOK_NORMAL;
}

static int odd_types(struct back *b, struct err *e)
{
    char key[16];

    b->types = json_object();
    for (uint32_t id = 0; id < b->n; id++)
        if (type_there(b, id) != tok_type(b->t, id)) {
            snprintf(key, sizeof key, "%u", id);
            if (json_object_set_new(b->types, key,
                                    json_integer(tok_type(b->t, id))))
                return err_nomem(e);
        }
    return b->types ? 0 : err_nomem(e);
}

json_t *hf_back_added(struct back *b, struct err *e)
{
    json_t *list = json_array();
    bool mask = b->pre.flags & PRETOK_MASK_LSTRIP;

    for (uint32_t id = 0; list && id < b->n; id++) {
        struct gguf_str s = tok_spelling(b->t, id);
        bool special;
        json_t *text;

        if (!hf_back_is_added(b, id, &special))
            continue;
        text = json_stringn(s.p, s.n);
        if (!text) {
            json_decref(list);
            err_set(e, ERR_UNSUPPORTED, "token %u: no UTF-8", id);
            return NULL;
        }
        if (json_array_append_new(
                list,
                json_pack("{s:I, s:o, s:b, s:b, s:b, s:b, s:b}", "id",
                          (json_int_t)id, "content", text, "single_word", 0,
                          "lstrip",
                          mask && (!strcmp(json_string_value(text), "<mask>") ||
                                   !strcmp(json_string_value(text), "[MASK]")),
                          "rstrip", 0, "normalized", 0, "special", special))) {
            json_decref(list);
            list = NULL;
        }
    }
    if (!list)
        err_nomem(e);
    return list;
}

/* ---- opening ---- */

static int find_pre(struct back *b, struct err *e)
{
    struct pretok_info info;

    if (strcmp(b->model, "gpt2") && strcmp(b->model, "gemma4"))
        return 0;
    for (size_t i = 0; pretok_at(&info, i); i++)
        if (!strcmp(info.name, tok_pre(b->t))) {
            b->pre = info;
            return 0;
        }
    return err_set(e, ERR_UNSUPPORTED, "unknown pre-tokenizer '%s'",
                   tok_pre(b->t));
}

static int write_tokenizer(struct back *b, struct err *e)
{
    json_t *model = hf_back_model(b, e), *j = NULL, *added;
    int rc = -1;

    added = model ? hf_back_added(b, e) : NULL;
    if (!added) {
        json_decref(model);
        return -1;
    }
    j = json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
                  "1.0", "truncation", "padding", "added_tokens", added,
                  "normalizer", hf_back_normalizer(b), "pre_tokenizer",
                  hf_back_pre_tokenizer(b), "post_processor", hf_back_post(b),
                  "decoder", hf_back_decoder(b), "model", model);
    rc = hf_back_json(b, "tokenizer.json", j, e);
    json_decref(j);
    return rc;
}

static int write_spm(const struct back *b, struct err *e)
{
    struct buf s = {0};
    int rc;

    if (strcmp(b->model, "llama"))
        return 0;
    hf_back_spm(&s, b);
    rc = hf_back_write(b, "tokenizer.model", &s, e);
    buf_free(&s);
    return rc;
}

int convert_tokenizer_back(const char *dir, const struct gguf *g, struct err *e)
{
    struct back b = {.g = g, .dir = dir};
    int rc = tok_open(&b.t, g, NULL, e);

    if (rc)
        return -1;
    b.model = tok_model(b.t);
    b.n = tok_count(b.t);
    b.unknown = tok_role(b.t, TOK_UNK);
    for (uint32_t id = 0; b.unknown < 0 && id < b.n; id++)
        if (tok_type(b.t, id) == TOK_UNKNOWN)
            b.unknown = id;
    if (!strcmp(b.model, "rwkv"))
        rc = err_set(e, ERR_UNSUPPORTED, "tokenizer.ggml.model 'rwkv'");
    if (!rc)
        rc = find_pre(&b, e) || odd_types(&b, e) || write_tokenizer(&b, e) ||
             write_spm(&b, e) || hf_back_config(&b, e);
    if (rc)
        err_prefix(e, "%s", gguf_path(g));
    json_decref(b.types);
    tok_close(b.t);
    return rc ? -1 : 0;
}
