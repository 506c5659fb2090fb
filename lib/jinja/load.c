/* SPDX-License-Identifier: MIT
 * load.c - JSON as values.
 */
#include <jansson.h>

#include "jinja/jinja_impl.h"

/* A role that the template's author has foreseen: its word may stand in a
 * control token. */
static bool known_role(const struct ctx *c, const char *key, const json_t *v)
{
    const char *s = json_string_value(v);

    if (!s || strcmp(key, "role") || !c->vars->roles)
        return false;
    for (const char *const *r = c->vars->roles; *r; r++)
        if (!strcmp(s, *r))
            return true;
    return false;
}

static struct val load_string(struct ctx *c, const json_t *j, bool data)
{
    return str_new(c, json_string_value(j), json_string_length(j), data);
}

static struct val load_object(struct ctx *c, const json_t *j, bool data)
{
    struct val d = dict_new(c, data);
    json_t *o = (json_t *)(uintptr_t)j;

    for (void *i = json_object_iter(o); i && !failed(c);
         i = json_object_iter_next(o, i)) {
        const char *key = json_object_iter_key(i);
        json_t *v = json_object_iter_value(i);

        dict_put(c, d.d, str_new(c, key, json_object_iter_key_len(i), data),
                 load_json(c, v, data && !known_role(c, key, v)));
    }
    return d;
}

struct val load_json(struct ctx *c, const struct json_t *j, bool data)
{
    struct val v = VAL_NONE;

    if (!ctx_enter(c) || !ctx_step(c, 1))
        return v;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        v = load_object(c, j, data);
        break;
    case JSON_ARRAY:
        v = list_new(c, V_LIST, json_array_size(j), data);
        for (size_t i = 0; i < json_array_size(j) && !failed(c); i++)
            list_add(c, &v, load_json(c, json_array_get(j, i), data));
        break;
    case JSON_STRING:
        v = load_string(c, j, data);
        break;
    case JSON_INTEGER:
        v = val_int(json_integer_value(j));
        break;
    case JSON_REAL:
        v = val_float(json_real_value(j));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        v = val_bool(json_is_true(j));
        break;
    default:
        break;
    }
    v.data = data;
    ctx_leave(c);
    return v;
}
