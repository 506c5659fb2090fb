/* SPDX-License-Identifier: MIT
 * tokenizer_added.c - added tokens: of tokenizer.json, of tokenizer_config.json
 * (added_tokens_decoder), of added_tokens.json. */
#include <stdlib.h>

#include "convert/tokenizer_impl.h"

/* Tokens that take white space along, or stand alone only, cannot be said. */
struct manner {
    const char *key;
    const char *first; /* that had it */
    size_t count;
};

static bool ends(const char *p, size_t n, const char *with)
{
    size_t k = strlen(with);

    return n >= k && !memcmp(p + n - k, with, k);
}

/* Tokens that are no text although their files do not call them special, as
 * the GGUF files of the world have them. */
enum tok_type hf_added_type(const char *p, size_t n, bool special)
{
    static const char *const names[] = {"<pad>", "<mask>", "<2mass>",
                                        "[@BOS@]"};
    static const char *const around[][2] = {
        {"<|", "|>"},
        {"<\xef\xbd\x9c", "\xef\xbd\x9c>"}, /* U+FF5C */
        {"<unused", ">"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        special |= n == strlen(names[i]) && !memcmp(p, names[i], n);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        size_t k = strlen(around[i][0]);

        special |=
            n >= k && !memcmp(p, around[i][0], k) && ends(p, n, around[i][1]);
    }
    return special ? TOK_CONTROL : TOK_USER_DEFINED;
}

/* The token ID, as J says it is; OVER: the model's own may be replaced. */
static int add(struct hf *h, int64_t id, const char *p, size_t n, bool special,
               bool over, struct err *e)
{
    enum tok_type type = hf_added_type(p, n, special);
    int show = (int)(n < 80 ? n : 80);
    struct gguf_str old = {0};
    struct voc_token *t;

    if (id >= h->voc.limit && h->want->n_vocab > 0) {
        hf_note(h, "added token '%.*s': its id %lld has no embedding", show, p,
                (long long)id);
        return 0;
    }
    if (id < 0 || id >= h->voc.n || !h->voc.t[id].type) {
        int64_t other = voc_find(&h->voc, p, n);

        if (other >= 0)
            return err_set(e, ERR_FORMAT,
                           "added token '%.*s': the ids %lld and %lld", show, p,
                           (long long)id, (long long)other);
        if (voc_put(&h->voc, id, p, n, type, h->scores ? -1000 : 0, e))
            return -1;
    } else {
        old = voc_str(&h->voc, (uint32_t)id);
    }
    t = &h->voc.t[id];
    if (old.p && (old.n != n || memcmp(old.p, p, n))) {
        if (!over)
            return err_set(e, ERR_FORMAT,
                           "added token '%.*s': the id %lld is another's", show,
                           p, (long long)id);
        hf_note(h, "added token '%.*s': in place of the model's token %lld",
                show, p, (long long)id);
        if (voc_respell(&h->voc, (uint32_t)id, p, n, e))
            return -1;
    }
    t->type = (uint8_t)type;
    t->added = 1;
    /* The scores of a GGUF that became a folder are whole. */
    if (over && !hf_get(h->config, "gguf"))
        t->score = -1000;
    return 0;
}

static void note_manner(struct manner m[3], const json_t *j, const char *s)
{
    for (int i = 0; i < 3; i++)
        if (hf_bool(j, m[i].key, false)) {
            if (!m[i].count++)
                m[i].first = s;
        }
}

static int add_object(struct hf *h, struct manner m[3], int64_t id,
                      const json_t *j, bool over, struct err *e)
{
    const json_t *content = hf_get(j, "content");
    const char *s = json_string_value(content);
    bool special = hf_bool(j, "special", false);

    if (!s || !json_string_length(content))
        return err_set(e, ERR_FORMAT, "added token %lld: no content",
                       (long long)id);
    if (hf_bool(j, "single_word", false) && !special)
        return err_set(e, ERR_UNSUPPORTED,
                       "added token '%.80s': single_word cannot be said", s);
    note_manner(m, j, s);
    return add(h, id, s, json_string_length(content), special, over, e);
}

static int of_tokenizer(struct hf *h, struct manner m[3], bool over,
                        struct err *e)
{
    const json_t *list = hf_get(h->tokenizer, "added_tokens");
    size_t i;
    json_t *j;

    if (list && !json_is_array(list))
        return err_set(e, ERR_FORMAT, "added_tokens: no array");
    json_array_foreach(list, i, j)
    {
        if (!json_is_integer(hf_get(j, "id")))
            return err_set(e, ERR_FORMAT, "added_tokens[%zu]: no id", i);
        if (add_object(h, m, json_integer_value(hf_get(j, "id")), j, over, e))
            return -1;
    }
    return 0;
}

static int of_config(struct hf *h, struct manner m[3], bool over, struct err *e)
{
    json_t *list = hf_get(h->config, "added_tokens_decoder"), *j;
    const char *key;

    json_object_foreach(list, key, j)
    {
        char *end;
        long long id = strtoll(key, &end, 10);

        if (!*key || *end || id < 0)
            return err_set(e, ERR_FORMAT,
                           "tokenizer_config.json: added_tokens_decoder: "
                           "'%.40s' is no id",
                           key);
        /* tokenizer.json comes first. */
        if (h->tokenizer && id < h->voc.n && h->voc.t[id].type)
            continue;
        if (add_object(h, m, id, j, over, e))
            return -1;
    }
    return 0;
}

static int of_added(struct hf *h, bool over, struct err *e)
{
    const char *key;
    json_t *id;
    size_t n;

    json_object_keylen_foreach(h->added, key, n, id)
    {
        int64_t k = json_is_integer(id) ? json_integer_value(id) : -1;

        if (k < 0)
            return err_set(e, ERR_FORMAT, "added_tokens.json: '%.80s': no id",
                           key);
        if (add(h, k, key, n, false, over, e))
            return -1;
    }
    return 0;
}

int hf_added_tokens(struct hf *h, struct err *e)
{
    struct manner m[3] = {
        {"lstrip", NULL, 0}, {"rstrip", NULL, 0}, {"single_word", NULL, 0}};
    bool over = strcmp(h->source, "tokenizer.json") != 0 && h->model;

    if (of_tokenizer(h, m, over, e) || of_config(h, m, over, e))
        return -1;
    if (!h->tokenizer && !hf_get(h->config, "added_tokens_decoder") &&
        of_added(h, over, e))
        return -1;
    for (int i = 0; i < 3; i++)
        if (m[i].count)
            hf_note(h,
                    "added tokens with %s, %zu, the first '%.80s': it is not "
                    "honoured",
                    m[i].key, m[i].count, m[i].first);
    return 0;
}
