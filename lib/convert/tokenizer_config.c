/* SPDX-License-Identifier: MIT
 * tokenizer_config.c - chat templates and the settings of sampling. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "convert/tokenizer_impl.h"

/* ---- chat templates ---- */

/* Names of templates in keys have letters, digits and underscores. */
static void put_template(struct gguf_out *o, struct buf *names, uint64_t *n,
                         const char *name, struct gguf_str s)
{
    char key[128], *p;
    unsigned char *to;

    if (!strcmp(name, "default")) {
        gguf_put_str(o, "tokenizer.chat_template", s);
        return;
    }
    snprintf(key, sizeof key, "tokenizer.chat_template.%.80s", name);
    for (p = key + sizeof "tokenizer.chat_template." - 1; *p; p++)
        if (!((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
              (*p >= 'A' && *p <= 'Z')))
            *p = '_';
    gguf_put_str(o, key, s);
    p = key + sizeof "tokenizer.chat_template." - 1;
    to = buf_add(names, 8);
    if (to)
        wr_u64(to, strlen(p));
    buf_puts(names, p);
    ++*n;
}

static void put_names(struct gguf_out *o, const struct buf *names, uint64_t n)
{
    if (n)
        gguf_put_arr(o, "tokenizer.chat_templates", GGUF_STR, n, names->p,
                     names->n);
}

/* additional_chat_templates/NAME.jinja, in the order of their names. */
static int put_folder(struct gguf_out *o, const struct hf *h, struct buf *names,
                      uint64_t *n, struct err *e)
{
    struct buf path = {0};
    struct dirent **list = NULL;
    int count, rc = 0;

    buf_printf(&path, "%s/additional_chat_templates", h->dir);
    count = scandir(buf_str(&path), &list, NULL, alphasort);
    if (count < 0 && errno != ENOENT && errno != ENOTDIR)
        rc = err_set(e, ERR_IO, "%s: %s", buf_str(&path), strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *file = list[i]->d_name, *dot = strrchr(file, '.');
        struct map m = {0};
        char name[84];

        if (!rc && dot && dot > file && !strcmp(dot, ".jinja")) {
            path.n = 0;
            buf_printf(&path, "additional_chat_templates/%s", file);
            snprintf(name, sizeof name, "%.*s",
                     (int)(dot - file < 80 ? dot - file : 80), file);
            if (hf_map(&m, h, buf_str(&path), e) < 0)
                rc = -1;
            else
                put_template(o, names, n, name,
                             (struct gguf_str){(const char *)m.p, m.n});
            map_close(&m);
        }
        free(list[i]);
    }
    free(list);
    if (!rc)
        rc = buf_ok(&path, e);
    buf_free(&path);
    return rc;
}

/* A template, or a list of named ones, of FILE. */
static int put_value(struct gguf_out *o, const char *file, const json_t *j,
                     struct buf *names, uint64_t *n, struct err *e)
{
    size_t i;
    json_t *t;

    if (json_is_string(j)) {
        put_template(
            o, names, n, "default",
            (struct gguf_str){json_string_value(j), json_string_length(j)});
        return 0;
    }
    if (j && !json_is_array(j))
        return err_set(e, ERR_FORMAT, "%s: chat_template: no string", file);
    json_array_foreach(j, i, t)
    {
        const json_t *s = hf_get(t, "template");
        const char *name = hf_str(t, "name");

        if (!name || !*name || !json_is_string(s))
            return err_set(e, ERR_FORMAT,
                           "%s: chat_template[%zu]: no name and template", file,
                           i);
        put_template(
            o, names, n, name,
            (struct gguf_str){json_string_value(s), json_string_length(s)});
    }
    return 0;
}

int hf_templates(struct gguf_out *o, const struct hf *h, struct err *e)
{
    struct buf names = {0};
    struct map m = {0};
    json_t *alone = NULL;
    uint64_t n = 0;
    int rc = hf_map(&m, h, "chat_template.jinja", e);

    if (rc > 0) {
        put_template(o, &names, &n, "default",
                     (struct gguf_str){(const char *)m.p, m.n});
        rc = put_folder(o, h, &names, &n, e);
    } else if (!rc) {
        const json_t *j = hf_get(h->config, "chat_template");

        if (!j)
            rc = hf_json(&alone, h, "chat_template.json", e);
        if (!rc)
            rc = put_value(
                o, j ? "tokenizer_config.json" : "chat_template.json",
                j ? j : hf_get(alone, "chat_template"), &names, &n, e);
    }
    if (!rc)
        rc = buf_ok(&names, e);
    if (!rc)
        put_names(o, &names, n);
    json_decref(alone);
    map_close(&m);
    buf_free(&names);
    return rc;
}

/* ---- generation_config.json ---- */

static const struct {
    const char *name, *key;
    bool whole;
    double min, max;
} numbers[] = {
    {"temperature", "general.sampling.temp", false, 0, 1e6},
    {"top_k", "general.sampling.top_k", true, 0, INT32_MAX},
    {"top_p", "general.sampling.top_p", false, 0, 1},
    {"min_p", "general.sampling.min_p", false, 0, 1},
    {"repetition_penalty", "general.sampling.penalty_repeat", false, 0, 1e6},
};

/* Ids of a list that the vocabulary has, as 32-bit integers. */
static uint64_t put_ids(struct buf *b, const struct hf *h, const json_t *list)
{
    uint64_t n = 0;
    size_t i;
    json_t *j;

    json_array_foreach(list, i, j)
    {
        unsigned char *p;

        if (!json_is_integer(j) || json_integer_value(j) < 0 ||
            json_integer_value(j) >= h->voc.n)
            continue;
        p = buf_add(b, 4);
        if (p)
            wr_u32(p, (uint32_t)json_integer_value(j));
        n++;
    }
    return n;
}

static int put_lists(struct gguf_out *o, const struct hf *h, struct err *e)
{
    const json_t *eos = hf_get(h->generation, "eos_token_id"),
                 *suppress = hf_get(h->generation, "suppress_tokens");
    struct buf b = {0};
    uint64_t n;
    int rc;

    if (json_array_size(eos) > 1) {
        n = put_ids(&b, h, eos);
        if (n)
            gguf_put_arr(o, "tokenizer.ggml.eos_token_ids", GGUF_U32, n, b.p,
                         b.n);
    }
    b.n = 0;
    n = put_ids(&b, h, suppress);
    if (n)
        gguf_put_arr(o, "tokenizer.ggml.suppress_tokens", GGUF_I32, n, b.p,
                     b.n);
    rc = buf_ok(&b, e);
    buf_free(&b);
    return rc;
}

int hf_sampling(struct gguf_out *o, struct hf *h, struct err *e)
{
    const json_t *sample = hf_get(h->generation, "do_sample");

    /* Settings that a model which does not draw has are not used. */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *j = hf_get(h->generation, numbers[i].name);
        double d = json_number_value(j);

        if (!j || json_is_false(sample))
            continue;
        if (!json_is_number(j) || !(d >= numbers[i].min) ||
            !(d <= numbers[i].max) || (numbers[i].whole && d != (int32_t)d))
            return err_set(e, ERR_FORMAT,
                           "generation_config.json: %s: no number in range",
                           numbers[i].name);
        if (numbers[i].whole)
            gguf_put_int(o, numbers[i].key, GGUF_I32, (int32_t)d);
        else
            gguf_put_float(o, numbers[i].key, GGUF_F32, d);
    }
    if (hf_get(h->generation, "bad_words_ids") ||
        hf_get(h->generation, "begin_suppress_tokens"))
        hf_note(h, "generation_config.json: bad_words_ids and "
                   "begin_suppress_tokens cannot be said");
    return put_lists(o, h, e);
}
