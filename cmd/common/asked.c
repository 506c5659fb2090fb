/* SPDX-License-Identifier: MIT */
#include "cmd/common/asked.h"

#include <jansson.h>
#include <stdlib.h>

struct asked *asked_new(const struct asked *common, struct err *e)
{
    struct asked *q = calloc(1, sizeof *q);

    if (!q) {
        err_nomem(e);
        return NULL;
    }
    *q = *common;
    q->stop = q->ban = (struct stop_set){0};
    q->must = (struct constrain){0};
    q->grammar = NULL;
    q->lora = (struct lora_choice){0};
    if (sampling_copy(&q->w.sampling, &common->w.sampling, e) ||
        stop_copy(&q->stop, &common->stop, e) ||
        stop_copy(&q->ban, &common->ban, e) ||
        constrain_copy(&q->must, &common->must, e)) {
        asked_free(q);
        return NULL;
    }
    return q;
}

void asked_free(void *data)
{
    struct asked *q = data;

    if (!q)
        return;
    sampling_fini(&q->w.sampling);
    stop_free(&q->stop);
    stop_free(&q->ban);
    constrain_fini(&q->must);
    lora_choice_fini(&q->lora);
    if (q->grammar)
        constrain_put(q->cache, q->grammar);
    free(q);
}

int asked_ready(struct asked *q, struct constrain_cache *cache, struct err *e)
{
    q->cache = cache;
    return constrain_get(&q->grammar, cache, &q->must, e);
}

typedef int add_fn(struct stop_set *s, const void *p, size_t n, struct err *e);

/* A string, or an array of strings. */
static int set_texts(struct stop_set *to, add_fn *add, const struct wire_rec *r,
                     const char *key, struct err *e)
{
    json_t *v = wanted_json(r, key, e), *item;
    size_t n = json_is_array(v) ? json_array_size(v) : v ? 1 : 0;
    int rc = v ? 0 : -1;

    for (size_t i = 0; !rc && i < n; i++) {
        item = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(item))
            rc = err_set(e, ERR_FORMAT, "key '%s' is no text", key);
        else
            rc = add(to, json_string_value(item), json_string_length(item), e)
                     ? err_prefix(e, "%s", key)
                     : 0;
    }
    json_decref(v);
    return rc;
}

/* In place of the common ones. */
static int set_stop(void *arg, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    struct asked *q = arg;

    stop_free(&q->stop);
    return set_texts(&q->stop, stop_add, r, key, e);
}

/* Besides those. */
static int set_ban(void *arg, const struct wire_rec *r, const char *key,
                   struct err *e)
{
    struct asked *q = arg;

    return set_texts(&q->ban, stop_add, r, key, e);
}

static int set_ban_regex(void *arg, const struct wire_rec *r, const char *key,
                         struct err *e)
{
    struct asked *q = arg;

    return set_texts(&q->ban, stop_add_regex, r, key, e);
}

static int set_must(void *arg, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    struct asked *q = arg;

    return constrain_set(&q->must, r, key, e);
}

static int set_lora(void *arg, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    struct asked *q = arg;

    (void)key;
    return lora_set(&q->lora, &q->load->loras, q->load->model, r, e);
}

int asked_set(struct asked *q, const struct wire_rec *r, struct err *e)
{
    /* What llm-prefill tells of the model is known here. */
    static const struct wanted_key keys[] = {{"eog", NULL},
                                             {"sampling", NULL},
                                             {"stop", set_stop},
                                             {"ban-string", set_ban},
                                             {"ban-regex", set_ban_regex},
                                             {"grammar", set_must},
                                             {"json", set_must},
                                             {"schema", set_must},
                                             {"regex", set_must},
                                             {"trigger", set_must},
                                             {"lora", set_lora},
                                             {0}};

    return wanted_set(&q->w, r, keys, q, e) ? -1 : wanted_has(r, "eog");
}
