/* SPDX-License-Identifier: MIT
 * tokenizer_post.c - tokens with a job, and which of them stand around a text.
 */
#include "convert/tokenizer_impl.h"

const struct hf_role_name hf_roles[HF_NROLE] = {
    [HF_BOS] = {"bos_token", "tokenizer.ggml.bos_token_id"},
    [HF_EOS] = {"eos_token", "tokenizer.ggml.eos_token_id"},
    [HF_UNK] = {"unk_token", "tokenizer.ggml.unknown_token_id"},
    [HF_SEP] = {"sep_token", "tokenizer.ggml.seperator_token_id"},
    [HF_PAD] = {"pad_token", "tokenizer.ggml.padding_token_id"},
    [HF_CLS] = {"cls_token", "tokenizer.ggml.cls_token_id"},
    [HF_MASK] = {"mask_token", "tokenizer.ggml.mask_token_id"},
    [HF_EOT] = {"eot_token", "tokenizer.ggml.eot_token_id"},
};

/* A token of a configuration: a string, or an object with its content. */
static const char *token_text(const json_t *j)
{
    return json_is_string(j) ? json_string_value(j) : hf_str(j, "content");
}

static int64_t find(const struct hf *h, const char *s)
{
    return s ? voc_find(&h->voc, s, strlen(s)) : -1;
}

/* Special tokens that no file lists as added ones. */
static void make_control(struct hf *h, int64_t id)
{
    if (id >= 0 && h->voc.t[id].type != TOK_UNKNOWN)
        h->voc.t[id].type = TOK_CONTROL;
}

static int64_t in_range(const struct hf *h, int64_t id)
{
    return id >= 0 && id < h->voc.limit ? id : -1;
}

/* An id of generation_config.json: a number, or the first of a list. */
static int64_t generation_id(const struct hf *h, const char *key)
{
    const json_t *j = hf_get(h->generation, key);

    if (json_is_array(j))
        j = json_array_get(j, 0);
    return json_is_integer(j) ? json_integer_value(j) : -1;
}

static void by_name(struct hf *h)
{
    for (int r = 0; r < HF_NROLE; r++) {
        const char *s = token_text(hf_get(h->config, hf_roles[r].token));
        int64_t id;

        if (!s && !json_object_get(h->config, hf_roles[r].token))
            s = token_text(hf_get(h->special, hf_roles[r].token));
        id = find(h, s);
        if (s && id < 0)
            hf_note(h, "%s: '%.80s' is no token", hf_roles[r].token, s);
        if (id < 0)
            continue;
        if (h->role[r] < 0)
            h->role[r] = id;
        if (h->added || !h->voc.t[id].added)
            make_control(h, id);
    }
}

static void more_special(struct hf *h)
{
    const json_t *list = hf_get(h->special, "additional_special_tokens");
    size_t i;
    json_t *j;

    if (!list)
        list = hf_get(h->config, "additional_special_tokens");
    json_array_foreach(list, i, j) make_control(h, find(h, token_text(j)));
}

/* ---- post_processor ---- */

/* The special token of a template's item; NULL when it is the text A or B,
 * which *SEQUENCE says. */
static const char *item(const json_t *j, char *sequence)
{
    const char *s = hf_str(hf_get(j, "Sequence"), "id");

    *sequence = s ? s[0] : 0;
    return hf_str(hf_get(j, "SpecialToken"), "id");
}

struct around {
    const char *first, *last;
    int before, after; /* how many */
};

static int read_single(struct around *a, const json_t *list, struct err *e)
{
    bool text = false;
    size_t i;
    json_t *j;

    json_array_foreach(list, i, j)
    {
        char sequence;
        const char *s = item(j, &sequence);

        if (!s && sequence != 'A')
            return err_set(e, ERR_FORMAT, "post_processor: single[%zu]", i);
        if (!s) {
            text = true;
        } else if (text) {
            a->last = s;
            a->after++;
        } else {
            a->first = s;
            a->before++;
        }
    }
    return 0;
}

/* Tokens between A and B. */
static int count_middle(const json_t *list)
{
    int n = 0;
    bool in = false;
    size_t i;
    json_t *j;

    json_array_foreach(list, i, j)
    {
        char sequence;
        const char *s = item(j, &sequence);

        if (sequence == 'B')
            return n;
        in |= sequence == 'A';
        n += in && s;
    }
    return 0;
}

/* The name in a template is that of an entry of special_tokens, which has the
 * ids. */
static int64_t template_id(const struct hf *h, const json_t *p, const char *s)
{
    const json_t *entry = hf_get(hf_get(p, "special_tokens"), s),
                 *ids = hf_get(entry, "ids");

    if (json_array_size(ids) == 1 && json_is_integer(json_array_get(ids, 0)))
        return in_range(h, json_integer_value(json_array_get(ids, 0)));
    return find(h, s);
}

static void set_last(struct hf *h, int64_t id)
{
    if (h->role[HF_EOS] >= 0 && h->role[HF_EOS] != id &&
        h->role[HF_SEP] != id && h->role[HF_EOT] < 0)
        h->role[HF_EOT] = h->role[HF_EOS];
    h->role[HF_EOS] = id;
    h->add_eos = 1;
}

static int template(struct hf *h, const json_t *p, struct err *e)
{
    struct around a = {0};
    int middle = count_middle(hf_get(p, "pair"));
    int64_t first, last;

    if (read_single(&a, hf_get(p, "single"), e))
        return -1;
    if (a.before > 1 || a.after > 1)
        return err_set(e, ERR_UNSUPPORTED,
                       "post_processor: more than one token before or after a "
                       "text: '%.60s', '%.60s'",
                       a.first ? a.first : "", a.last ? a.last : "");
    first = a.first ? template_id(h, p, a.first) : -1;
    last = a.last ? template_id(h, p, a.last) : -1;
    if ((a.first && first < 0) || (a.last && last < 0))
        return err_set(e, ERR_FORMAT, "post_processor: '%.80s' is no token",
                       a.first && first < 0 ? a.first : a.last);
    h->add_bos = a.first != NULL;
    h->add_eos = 0;
    if (a.first)
        h->role[HF_BOS] = first;
    if (a.last)
        set_last(h, last);
    if (middle)
        h->add_sep = middle == 2 || !a.last;
    return 0;
}

/* BertProcessing and RobertaProcessing: ["[SEP]", 102]. */
static int64_t pair_id(const struct hf *h, const json_t *p, const char *key)
{
    const json_t *id = json_array_get(hf_get(p, key), 1);

    return json_is_integer(id) ? in_range(h, json_integer_value(id)) : -1;
}

static int one(struct hf *h, const json_t *p, struct err *e)
{
    bool roberta = hf_is(p, "RobertaProcessing");

    if (hf_is(p, "ByteLevel")) /* offsets only */
        return 0;
    if (hf_is(p, "TemplateProcessing"))
        return template(h, p, e);
    if (!roberta && !hf_is(p, "BertProcessing")) {
        char show[200];

        return err_set(e, ERR_UNSUPPORTED, "post_processor: cannot be said: %s",
                       hf_show(show, sizeof show, p));
    }
    if (pair_id(h, p, "cls") < 0 || pair_id(h, p, "sep") < 0)
        return err_set(e, ERR_FORMAT, "post_processor: no cls and sep");
    h->role[HF_BOS] = h->role[HF_CLS] = pair_id(h, p, "cls");
    h->role[HF_SEP] = pair_id(h, p, "sep");
    set_last(h, h->role[HF_SEP]);
    h->add_bos = 1;
    h->add_sep = roberta;
    return 0;
}

static int post_processor(struct hf *h, struct err *e)
{
    const json_t *p = hf_get(h->tokenizer, "post_processor");
    const json_t *list = hf_get(p, "processors");

    if (!p)
        return 0;
    if (!hf_is(p, "Sequence"))
        return one(h, p, e);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (one(h, json_array_get(list, i), e))
            return -1;
    return 0;
}

/* ---- all of it ---- */

static void config_flag(int *to, const struct hf *h, const char *key)
{
    const json_t *j = hf_get(h->config, key);

    if (json_is_boolean(j))
        *to = json_is_true(j);
}

/* What nothing says is as the tokenizers of that kind do it. */
static void defaults(struct hf *h)
{
    bool old = !h->tokenizer;
    bool bert = !strcmp(h->model, "bert"), t5 = !strcmp(h->model, "t5");

    if (h->add_bos < 0)
        h->add_bos = bert || (old && !strcmp(h->model, "llama")) ||
                     !strcmp(h->model, "gemma4");
    if (h->add_eos < 0 && (bert || (old && t5)))
        h->add_eos = 1;
    if (h->role[HF_BOS] < 0)
        h->add_bos = 0;
    if (h->role[HF_EOS] < 0 && h->add_eos == 1)
        h->add_eos = 0;
}

int hf_roles_load(struct hf *h, struct err *e)
{
    const int64_t want[] = {h->want->bos, h->want->eos, h->want->pad};
    static const struct {
        enum hf_role role;
        const char *key;
    } numbered[] = {{HF_BOS, "bos_token_id"},
                    {HF_EOS, "eos_token_id"},
                    {HF_PAD, "pad_token_id"}};

    by_name(h);
    more_special(h);
    if (h->role[HF_BOS] < 0)
        h->role[HF_BOS] = h->role[HF_CLS];
    if (h->role[HF_EOS] < 0)
        h->role[HF_EOS] = h->role[HF_SEP];
    if (post_processor(h, e))
        return -1;
    config_flag(&h->add_bos, h, "add_bos_token");
    config_flag(&h->add_eos, h, "add_eos_token");
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
        int64_t *to = &h->role[numbered[i].role];

        if (*to < 0)
            *to = in_range(h, want[i]);
        if (*to < 0)
            *to = in_range(h, generation_id(h, numbered[i].key));
    }
    defaults(h);
    return 0;
}
