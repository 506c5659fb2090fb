/* SPDX-License-Identifier: MIT
 * wanted.h - what is wanted of a sequence: the common options, and its own
 * "set" records over them. */
#ifndef LLM_CMD_WANTED_H
#define LLM_CMD_WANTED_H

#include "cmd/common/sampling.h"

enum { WANTED_MAX_LOGPROBS = 1024 };

struct wanted {
    struct sampling sampling;
    int64_t count; /* tokens; -1: no limit */
    int logprobs;  /* -1: none; N: of the token, and of N others */
    bool ignore_eos;
};

/* A key that a program reads besides; SET NULL: one that it passes over. */
struct wanted_key {
    const char *key;
    int (*set)(void *arg, const struct wire_rec *r, const char *key,
               struct err *e);
};

/* Take a "set" record; OWN ends at an entry without a key, and gets ARG.  A
 * null leaves an option as it is.  ERR_UNSUPPORTED names an option that is not
 * known. */
int wanted_set(struct wanted *w, const struct wire_rec *r,
               const struct wanted_key *own, void *arg, struct err *e);
/* Has the record this key? */
bool wanted_has(const struct wire_rec *r, const char *key);
/* A key's value, jansson's, the caller's; NULL with ERR_FORMAT or ERR_NOMEM. */
struct json_t *wanted_json(const struct wire_rec *r, const char *key,
                           struct err *e);

#endif
