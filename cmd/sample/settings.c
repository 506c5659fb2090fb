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
    to->eos = (struct ids){0};
    return sampling_copy(&to->w.sampling, &from->w.sampling, e) ||
                   copy_ids(&to->eos, &from->eos, e)
               ? -1
               : 0;
}

void settings_fini(struct settings *s)
{
    sampling_fini(&s->w.sampling);
    free(s->eos.p);
    s->eos = (struct ids){0};
}

/* An array of ids in place of those in TO. */
static int set_ids(struct ids *to, const struct wire_rec *r, const char *key,
                   struct err *e)
{
    json_t *a = wanted_json(r, key, e);
    size_t n = json_array_size(a);
    uint32_t *p = malloc((n + 1) * sizeof *p);
    int rc = a ? 0 : -1;

    if (!rc && !p)
        rc = err_nomem(e);
    if (!rc && !json_is_array(a))
        rc = err_set(e, ERR_FORMAT, "key '%s' is not an array of ids", key);
    for (size_t i = 0; !rc && i < n; i++) {
        const json_t *v = json_array_get(a, i);
        json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0 || id > UINT32_MAX)
            rc = err_set(e, ERR_FORMAT, "key '%s' is not an array of ids", key);
        p[i] = (uint32_t)id;
    }
    json_decref(a);
    if (rc) {
        free(p);
        return -1;
    }
    free(to->p);
    *to = (struct ids){p, n};
    return 0;
}

static int set_eog(void *arg, const struct wire_rec *r, const char *key,
                   struct err *e)
{
    struct settings *s = arg;
    struct ids unused = {0};
    int rc = set_ids(s->own_eos ? &unused : &s->eos, r, key, e);

    free(unused.p);
    return rc;
}

static int set_sampling(void *arg, const struct wire_rec *r, const char *key,
                        struct err *e)
{
    struct settings *s = arg;

    (void)key;
    return sampling_set_model(&s->w.sampling, r, e);
}

static int refuse(void *arg, const struct wire_rec *r, const char *key,
                  struct err *e)
{
    (void)arg;
    (void)r;
    return err_set(e, ERR_UNSUPPORTED,
                   "option '%s' needs text, and there are only ids", key);
}

int settings_set(struct settings *s, const struct wire_rec *r, struct err *e)
{
    static const struct wanted_key keys[] = {{"eog", set_eog},
                                             {"sampling", set_sampling},
                                             {"stop", refuse},
                                             {"ban-string", refuse},
                                             {"ban-regex", refuse},
                                             {"grammar", refuse},
                                             {"json", refuse},
                                             {"schema", refuse},
                                             {"regex", refuse},
                                             {"trigger", refuse},
                                             {0}};

    return wanted_set(&s->w, r, keys, s, e);
}
