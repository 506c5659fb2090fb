/* SPDX-License-Identifier: MIT
 * sampling_list.c - options that are lists: biases, ids that are not drawn,
 * texts that DRY does not look beyond. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/sampling_impl.h"

/* ---- biases ---- */

static int add_bias(struct sampling *s, long long id, double add, struct err *e)
{
    struct sample_bias *p;

    if (id < 0 || id > UINT32_MAX || !(add < INFINITY))
        return err_set(
            e, ERR_USAGE,
            "option 'logit-bias': wants an id and a number, or -inf");
    if (s->o.nbias == INT_MAX)
        return err_nomem(e);
    p = realloc(s->bias, ((size_t)s->o.nbias + 1) * sizeof *p);
    if (!p)
        return err_nomem(e);
    p[s->o.nbias++] = (struct sample_bias){(uint32_t)id, (float)add};
    s->o.bias = s->bias = p;
    return 0;
}

int sampling_bias_word(struct sampling *s, const char *word, struct err *e)
{
    char *end;
    long long id = strtoll(word, &end, 10);
    double add = NAN;

    if (end != word && *end == '=' && end[1]) {
        const char *number = end + 1;

        add = strtod(number, &end);
        if (*end || end == number)
            add = NAN;
    } else {
        id = -1;
    }
    if (add_bias(s, id, add, e))
        return e && e->code == ERR_USAGE ? err_prefix(e, "'%s'", word) : -1;
    return 0;
}

static bool json_add(double *add, const json_t *v)
{
    const char *s = json_string_value(v);

    *add = json_is_false(v) || (s && !strcmp(s, "-Infinity"))
               ? -INFINITY
               : json_number_value(v);
    return json_is_number(v) || *add == -INFINITY;
}

int sampling_bias_json(struct sampling *s, json_t *o, struct err *e)
{
    const char *key;
    json_t *v;
    size_t i;
    double add;

    json_object_foreach(o, key, v)
    {
        char *end;
        long long id = strtoll(key, &end, 10);

        if (add_bias(s, *end || end == key ? -1 : id,
                     json_add(&add, v) ? add : NAN, e))
            return -1;
    }
    json_array_foreach(o, i, v)
    {
        const json_t *id = json_array_get(v, 0);

        if (json_is_string(v)
                ? sampling_bias_word(s, json_string_value(v), e)
                : add_bias(s,
                           json_is_integer(id) && json_array_size(v) == 2
                               ? json_integer_value(id)
                               : -1,
                           json_add(&add, json_array_get(v, 1)) ? add : NAN, e))
            return -1;
    }
    if (!json_is_object(o) && !json_is_array(o))
        return add_bias(s, -1, 0, e);
    return 0;
}

/* ---- ids that are not drawn ---- */

/* Room for N more. */
static int more_never(struct sampling *s, size_t n, struct err *e)
{
    size_t all = (size_t)s->o.nnever + n;
    uint32_t *p = all <= INT_MAX / sizeof *p
                      ? realloc(s->never, (all + 1) * sizeof *p)
                      : NULL;

    if (!p)
        return err_nomem(e);
    s->o.never = s->never = p;
    return 0;
}

int sampling_never_word(struct sampling *s, const char *word, struct err *e)
{
    const char *p = word;
    char *end;

    for (;; p = end + 1) {
        unsigned long long id;

        errno = 0;
        id = strtoull(p, &end, 10);
        if (*p < '0' || *p > '9' || errno || id > UINT32_MAX ||
            (*end && *end != ','))
            return err_set(e, ERR_USAGE,
                           "option 'suppress': '%s' is not a list of ids",
                           word);
        if (more_never(s, 1, e))
            return -1;
        s->never[s->o.nnever++] = (uint32_t)id;
        if (!*end)
            return 0;
    }
}

int sampling_never_json(struct sampling *s, json_t *o, struct err *e)
{
    json_t *v;
    size_t i;

    if (!json_is_array(o))
        return err_set(e, ERR_USAGE, "key 'suppress' is not an array of ids");
    if (more_never(s, json_array_size(o), e))
        return -1;
    json_array_foreach(o, i, v)
    {
        json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0 || id > UINT32_MAX)
            return err_set(e, ERR_USAGE,
                           "key 'suppress' is not an array of ids");
        s->never[s->o.nnever++] = (uint32_t)id;
    }
    return 0;
}

/* ---- breakers ---- */

int sampling_breaker(struct sampling *s, const char *p, size_t n, struct err *e)
{
    if (n == 4 && !memcmp(p, "none", n)) {
        s->o.nbreakers = 0;
        return 0;
    }
    return sample_add_breaker(&s->o, p, n, e);
}

int sampling_breakers_json(struct sampling *s, json_t *o, struct err *e)
{
    size_t n = json_is_array(o) ? json_array_size(o) : 1;

    s->o.nbreakers = 0;
    for (size_t i = 0; i < n; i++) {
        json_t *v = json_is_array(o) ? json_array_get(o, i) : o;

        if (!json_is_string(v))
            return err_set(e, ERR_USAGE,
                           "option 'dry-sequence-breaker': "
                           "wants strings");
        if (sampling_breaker(s, json_string_value(v), json_string_length(v), e))
            return -1;
    }
    return 0;
}
