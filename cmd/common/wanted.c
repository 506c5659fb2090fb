/* SPDX-License-Identifier: MIT */
#include "cmd/common/wanted.h"

#include <jansson.h>
#include <string.h>

struct json_t *wanted_json(const struct wire_rec *r, const char *key,
                           struct err *e)
{
    struct buf text = {0};
    json_t *v = NULL;

    if (wire_get_json(&text, r, key, e) >= 0 &&
        !(v = json_loadb((char *)text.p, text.n,
                         JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)))
        err_set(e, ERR_FORMAT, "key '%s' cannot be read", key);
    buf_free(&text);
    return v;
}

static bool is(const char *key, const char *p, size_t n)
{
    return strlen(key) == n && !memcmp(key, p, n);
}

bool wanted_has(const struct wire_rec *r, const char *key)
{
    const char *p;
    size_t n;

    for (size_t i = 0; (p = wire_key(r, i, &n)); i++)
        if (is(key, p, n))
            return true;
    return false;
}

/* null is what many callers write for an option that they leave alone. */
static bool is_null(const struct wire_rec *r, const char *key)
{
    struct buf text = {0};
    bool null = wire_get_json(&text, r, key, NULL) > 0 &&
                is("null", (char *)text.p, text.n);

    buf_free(&text);
    return null;
}

/* One of our own options: 1 taken, 0 none of them, -1. */
static int common(struct wanted *w, const struct wire_rec *r, const char *key,
                  size_t n, struct err *e)
{
    int64_t logprobs = w->logprobs;

    if (is("t", key, n) || is("s", key, n) || is("id", key, n) ||
        is("inside", key, n)) /* for who reads the answer */
        return 1;
    if (is("count", key, n))
        return wire_get_int(&w->count, r, "count", -1, INT64_MAX, e);
    if (is("n", key, n))
        return wire_get_int(&w->count, r, "n", -1, INT64_MAX, e);
    if (is("ignore-eos", key, n))
        return wire_get_bool(&w->ignore_eos, r, "ignore-eos", e);
    if (!is("logprobs", key, n))
        return sampling_set(&w->sampling, r, key, n, e);
    if (wire_get_int(&logprobs, r, "logprobs", -1, WANTED_MAX_LOGPROBS, e) < 0)
        return -1;
    w->logprobs = (int)logprobs;
    return 1;
}

static int set_key(struct wanted *w, const struct wire_rec *r, const char *key,
                   size_t n, const struct wanted_key *own, void *arg,
                   struct err *e)
{
    char name[64] = "";
    int got;

    if (n < sizeof name) {
        memcpy(name, key, n);
        if (is_null(r, name))
            return 0;
    }
    for (; own->key; own++)
        if (is(own->key, key, n))
            return own->set ? own->set(arg, r, own->key, e) : 0;
    got = common(w, r, key, n, e);
    if (!got)
        return err_set(e, ERR_UNSUPPORTED, "option '%.*s' is not known",
                       n < 64 ? (int)n : 64, key);
    return got < 0 ? -1 : 0;
}

int wanted_set(struct wanted *w, const struct wire_rec *r,
               const struct wanted_key *own, void *arg, struct err *e)
{
    const char *key;
    size_t n;

    for (size_t i = 0; (key = wire_key(r, i, &n)); i++)
        if (set_key(w, r, key, n, own, arg, e))
            return -1;
    return 0;
}
