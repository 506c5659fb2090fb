/* SPDX-License-Identifier: MIT
 * settings.c - what is asked for a sequence: the options, and its own "set"
 * records over them. */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sample/sample.h"

static int copy_ids(struct ids *to, const struct ids *from, struct err *e)
{
    *to = (struct ids){0};
    if (!from->n)
        return 0;
    to->p = malloc(from->n * sizeof *to->p);
    if (!to->p)
        return err_nomem(e);
    memcpy(to->p, from->p, from->n * sizeof *to->p);
    to->n = from->n;
    return 0;
}

int settings_copy(struct settings *to, const struct settings *from,
                  struct err *e)
{
    *to = *from;
    to->eos = to->never = (struct ids){0};
    return sampling_copy(&to->sampling, &from->sampling, e) ||
                   copy_ids(&to->eos, &from->eos, e) ||
                   copy_ids(&to->never, &from->never, e)
               ? -1
               : 0;
}

void settings_fini(struct settings *s)
{
    sampling_fini(&s->sampling);
    free(s->eos.p);
    free(s->never.p);
    s->eos = s->never = (struct ids){0};
}

/* An array of ids in place of those in TO (NULL: only look). */
static int set_ids(struct ids *to, const struct wire_rec *r, const char *key,
                   struct err *e)
{
    struct buf text = {0};
    json_t *a = NULL;
    uint32_t *p = NULL;
    size_t n = 0;
    int rc = wire_get_json(&text, r, key, e) < 0 ? -1 : 0;

    if (!rc) {
        a = json_loadb((const char *)text.p, text.n,
                       JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        n = json_array_size(a);
        p = malloc((n + 1) * sizeof *p);
        if (!p)
            rc = err_nomem(e);
        else if (!json_is_array(a) && !json_is_null(a))
            rc = err_set(e, ERR_FORMAT, "key '%s' is not an array of ids", key);
    }
    for (size_t i = 0; !rc && i < n; i++) {
        const json_t *v = json_array_get(a, i);
        json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0 || id > UINT32_MAX)
            rc = err_set(e, ERR_FORMAT, "key '%s' is not an array of ids", key);
        p[i] = (uint32_t)id;
    }
    if (!rc && to && json_is_array(a)) {
        free(to->p);
        *to = (struct ids){p, n};
        p = NULL;
    }
    free(p);
    json_decref(a);
    buf_free(&text);
    return rc;
}

static int set_count(struct settings *s, const struct wire_rec *r,
                     const char *key, struct err *e)
{
    return wire_get_int(&s->count, r, key, -1, INT64_MAX, e) < 0 ? -1 : 0;
}

static int set_logprobs(struct settings *s, const struct wire_rec *r,
                        const char *key, struct err *e)
{
    int64_t n = s->logprobs;

    if (wire_get_int(&n, r, key, -1, MAX_LOGPROBS, e) < 0)
        return -1;
    s->logprobs = (int)n;
    return 0;
}

static int set_ignore_eos(struct settings *s, const struct wire_rec *r,
                          const char *key, struct err *e)
{
    return wire_get_bool(&s->ignore_eos, r, key, e) < 0 ? -1 : 0;
}

static int set_eog(struct settings *s, const struct wire_rec *r,
                   const char *key, struct err *e)
{
    return set_ids(s->own_eos ? NULL : &s->eos, r, key, e);
}

static int set_suppress(struct settings *s, const struct wire_rec *r,
                        const char *key, struct err *e)
{
    return set_ids(&s->never, r, key, e);
}

static int set_sampling(struct settings *s, const struct wire_rec *r,
                        const char *key, struct err *e)
{
    (void)key;
    return sampling_set_model(&s->sampling, r, e);
}

static int set_stop(struct settings *s, const struct wire_rec *r,
                    const char *key, struct err *e)
{
    (void)s;
    (void)r;
    return err_set(e, ERR_UNSUPPORTED,
                   "option '%s' needs text, and there are only ids", key);
}

static int pass(struct settings *s, const struct wire_rec *r, const char *key,
                struct err *e)
{
    (void)s;
    (void)r;
    (void)key;
    (void)e;
    return 0;
}

static const struct {
    const char *key;
    int (*set)(struct settings *, const struct wire_rec *, const char *,
               struct err *);
} keys[] = {
    {"t", pass},
    {"s", pass},
    {"id", pass},
    {"count", set_count},
    {"n", set_count},
    {"logprobs", set_logprobs},
    {"ignore-eos", set_ignore_eos},
    {"stop", set_stop},
    {"eog", set_eog},
    {"suppress", set_suppress},
    {"sampling", set_sampling},
};

static int set_key(struct settings *s, const struct wire_rec *r,
                   const char *key, size_t n, struct err *e)
{
    int got;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].key) == n && !memcmp(keys[i].key, key, n))
            return keys[i].set(s, r, keys[i].key, e);
    got = sampling_set(&s->sampling, r, key, n, e);
    if (!got)
        return err_set(e, ERR_UNSUPPORTED, "option '%.*s' is not known",
                       n < 64 ? (int)n : 64, key);
    return got < 0 ? -1 : 0;
}

int settings_set(struct settings *s, const struct wire_rec *r, struct err *e)
{
    const char *key;
    size_t n;

    for (size_t i = 0; (key = wire_key(r, i, &n)); i++)
        if (set_key(s, r, key, n, e))
            return -1;
    return 0;
}
