/* SPDX-License-Identifier: MIT
 * asked.c - what is asked for a sequence: the options, and its own "set"
 * records over them. */
#include <jansson.h>
#include <stdlib.h>

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
    if (sampling_copy(&q->w.sampling, &common->w.sampling, e) ||
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
    sampling_fini(&q->w.sampling);
    stop_free(&q->stop);
    free(q);
}

/* "stop": a string, or an array of strings, in place of the common ones. */
static int set_stop(void *arg, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    struct asked *q = arg;
    json_t *v = wanted_json(r, key, e), *item;
    size_t n = json_is_array(v) ? json_array_size(v) : v ? 1 : 0;
    int rc = v ? 0 : -1;

    stop_free(&q->stop);
    for (size_t i = 0; !rc && i < n; i++) {
        item = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(item))
            rc = err_set(e, ERR_FORMAT, "key '%s' is no text", key);
        else
            rc = stop_add(&q->stop, json_string_value(item),
                          json_string_length(item), e);
    }
    json_decref(v);
    return rc;
}

int asked_set(struct asked *q, const struct wire_rec *r, struct err *e)
{
    /* What llm-prefill tells of the model is known here. */
    static const struct wanted_key keys[] = {{"eog", NULL},
                                             {"sampling", NULL},
                                             {"stop", set_stop},
                                             {0}};

    return wanted_set(&q->w, r, keys, q, e) ? -1 : wanted_has(r, "eog");
}
