/* SPDX-License-Identifier: MIT
 * asked.c - what is asked for a sequence: the options, and its own "set"
 * records over them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/decode/decode.h"

struct asked *asked_new(const struct asked *common, struct err *e)
{
    struct asked *q = calloc(1, sizeof *q);

    if (!q) {
        err_nomem(e);
        return NULL;
    }
    *q = *common;
    q->stop = (struct stop_set){0};
    if (sampling_copy(&q->sampling, &common->sampling, e) ||
        stop_copy(&q->stop, &common->stop, e)) {
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
    sampling_fini(&q->sampling);
    stop_free(&q->stop);
    free(q);
}

/* "stop": a string, or an array of strings, in place of the common ones. */
static int set_stop(struct asked *q, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    struct buf text = {0};
    json_t *v = NULL, *item;
    size_t i, n;
    int rc = wire_get_json(&text, r, key, e) < 0 ? -1 : 0;

    if (!rc && !(v = json_loadb((char *)text.p, text.n,
                                JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)))
        rc = err_set(e, ERR_FORMAT, "key '%s' cannot be read", key);
    stop_free(&q->stop);
    n = json_is_array(v) ? json_array_size(v) : v ? 1 : 0;
    for (i = 0; !rc && i < n; i++) {
        item = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(item))
            rc = err_set(e, ERR_FORMAT, "key '%s' is no text", key);
        else
            rc = stop_add(&q->stop, json_string_value(item),
                          json_string_length(item), e);
    }
    json_decref(v);
    buf_free(&text);
    return rc;
}

static int set_count(struct asked *q, const struct wire_rec *r, const char *key,
                     struct err *e)
{
    return wire_get_int(&q->n, r, key, -1, INT64_MAX, e);
}

static int set_logprobs(struct asked *q, const struct wire_rec *r,
                        const char *key, struct err *e)
{
    int64_t n = q->logprobs;

    if (wire_get_int(&n, r, key, -1, ASKED_MAX_LOGPROBS, e) < 0)
        return -1;
    q->logprobs = (int)n;
    return 0;
}

static int set_ignore_eos(struct asked *q, const struct wire_rec *r,
                          const char *key, struct err *e)
{
    return wire_get_bool(&q->ignore_eos, r, key, e);
}

/* What others read.  That llm-prefill tells of the model is known here. */
static int pass(struct asked *q, const struct wire_rec *r, const char *key,
                struct err *e)
{
    (void)q;
    (void)r;
    (void)key;
    (void)e;
    return 0;
}

static const struct {
    const char *key;
    int (*set)(struct asked *, const struct wire_rec *, const char *,
               struct err *);
} keys[] = {
    {"t", pass},
    {"s", pass},
    {"id", pass},
    {"eog", pass},
    {"suppress", pass},
    {"sampling", pass},
    {"count", set_count},
    {"n", set_count},
    {"stop", set_stop},
    {"logprobs", set_logprobs},
    {"ignore-eos", set_ignore_eos},
};

/* null is what many callers write for an option that they leave alone. */
static bool is_null(const struct wire_rec *r, const char *key, size_t n)
{
    char name[64];
    struct buf text = {0};
    bool null;

    snprintf(name, sizeof name, "%.*s", n < 63 ? (int)n : 63, key);
    null = wire_get_json(&text, r, name, NULL) > 0 && text.n == 4 &&
           !memcmp(text.p, "null", 4);
    buf_free(&text);
    return null;
}

static int set_key(struct asked *q, const struct wire_rec *r, const char *key,
                   size_t n, struct err *e)
{
    int got;

    if (is_null(r, key, n))
        return 0;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].key) == n && !memcmp(keys[i].key, key, n))
            return keys[i].set(q, r, keys[i].key, e) < 0 ? -1 : 0;
    got = sampling_set(&q->sampling, r, key, n, e);
    if (!got)
        return err_set(e, ERR_UNSUPPORTED, "option '%.*s' is not known",
                       n < 64 ? (int)n : 64, key);
    return got < 0 ? -1 : 0;
}

int asked_set(struct asked *q, const struct wire_rec *r, struct err *e)
{
    const char *key;
    bool model = false;
    size_t n;

    for (size_t i = 0; (key = wire_key(r, i, &n)); i++) {
        if (set_key(q, r, key, n, e))
            return -1;
        model |= n == 3 && !memcmp(key, "eog", 3);
    }
    return model;
}
