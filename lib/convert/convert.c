/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"
#include "convert/tokenizer.h"

/* ---- which model it is ---- */

static bool class_fits(const struct convert *c, const struct convert_model *m)
{
    return !c->hf.class || hfconfig_among(c->hf.class, m->classes);
}

/* Gemma 3 has two lives. */
static bool both_ways(struct convert *c)
{
    return json_is_true(
        json_object_get(c->hf.root, "use_bidirectional_attention"));
}

static int find_model(struct convert *c, struct err *e)
{
    const struct convert_model *m = NULL;
    bool known = false;

    for (int i = 0; !c->m && (m = convert_model_at(i)); i++) {
        if (strcmp(m->type, c->hf.type))
            continue;
        known = true;
        if (class_fits(c, m) &&
            (strcmp(m->type, "gemma3_text") ||
             both_ways(c) == !!(m->flags & CONVERT_BOTH_WAYS)))
            c->m = m;
    }
    if (c->m)
        return 0;
    if (known)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/config.json: 'architectures': %.60s is not "
                       "supported",
                       c->hf.dir, c->hf.class);
    return err_set(e, ERR_UNSUPPORTED,
                   "%s/config.json: 'model_type': '%.60s' is not supported",
                   c->hf.dir, c->hf.type);
}

/* ---- the whole ---- */

/* An id, or the first of a list, of config.json; -1: it says nothing. */
static int64_t id(const struct convert *c, const char *name)
{
    const json_t *v = json_object_get(c->hf.root, name);

    if (!v && !c->hf.whole)
        v = json_object_get(c->hf.file, name);
    if (json_is_array(v))
        v = json_array_get(v, 0);
    return json_is_integer(v) && json_integer_value(v) >= 0
               ? json_integer_value(v)
               : -1;
}

static int tokenizer(struct convert *c, struct err *e)
{
    struct convert_tokenizer_want w = {
        .arch = c->m->arch,
        .n_vocab = (int)convert_size(c, 'V'),
        .bos = id(c, "bos_token_id"),
        .eos = id(c, "eos_token_id"),
        .pad = id(c, "pad_token_id"),
        .notes = &c->notes,
    };

    return c->want.no_tokenizer ? 0
                                : convert_tokenizer(&c->out, c->hf.dir, &w, e);
}

static int read_all(struct convert *c, const char *path, struct err *e)
{
    if (hfconfig_open(&c->hf, path, e) || convert_quantised(c, e) ||
        find_model(c, e) || convert_general(c, e) || convert_sizes(c, e) ||
        convert_keys(c, e) || convert_rope(c, e) || convert_layers(c, e) ||
        convert_modules(c, e) || hfconfig_unknown(&c->hf, e) ||
        safetensors_open(&c->s, c->hf.dir, e) || convert_plan(c, e) ||
        convert_sums(c, e) || tokenizer(c, e))
        return -1;
    buf_str(&c->notes);
    return buf_ok(&c->notes, e);
}

int convert_open(struct convert **out, const char *path,
                 const struct convert_want *want, struct err *e)
{
    struct convert *c = calloc(1, sizeof *c);

    *out = NULL;
    if (!c)
        return err_nomem(e);
    c->want = *want;
    gguf_out_init(&c->out, 32);
    if (read_all(c, path, e)) {
        convert_close(c);
        return -1;
    }
    *out = c;
    return 0;
}

void convert_close(struct convert *c)
{
    if (!c)
        return;
    for (int i = 0; i < CONVERT_MAX_DENSE; i++)
        safetensors_close(c->dense[i]);
    safetensors_close(c->s);
    hfconfig_close(&c->hf);
    gguf_out_fini(&c->out);
    buf_free(&c->tensors);
    buf_free(&c->notes);
    arena_free(&c->mem);
    free(c->seen);
    free(c);
}

const struct convert_model *convert_model_of_folder(const struct convert *c)
{
    return c->m;
}

size_t convert_n(const struct convert *c)
{
    return c->tensors.n / sizeof(struct convert_tensor);
}

const struct convert_tensor *convert_at(const struct convert *c, size_t i)
{
    return (const struct convert_tensor *)(const void *)c->tensors.p + i;
}

const struct gguf_out *convert_head(const struct convert *c)
{
    return &c->out;
}

const char *convert_notes(const struct convert *c)
{
    return c->notes.n ? (const char *)c->notes.p : "";
}
