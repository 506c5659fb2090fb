/* SPDX-License-Identifier: MIT
 * tools.c - which types the parameters of tools have, as far as formats need it
 * that write values without quotes. */
#include "chat/chat_impl.h"

enum {
    STRING = 1,
    NUMBER = 2,
    INTEGER = 4,
    BOOLEAN = 8,
    OBJECTS = 16,
    ARRAYS = 32,
    NULLS = 64,
    DEPTH = 8, /* of schemas within each other that are looked at */
};

static unsigned by_word(const json_t *word)
{
    static const char *const words[] = {
        "string", "number", "integer", "boolean", "object", "array", "null"};
    const char *s = json_string_value(word);

    for (unsigned i = 0; s && i < sizeof words / sizeof *words; i++)
        if (!strcmp(s, words[i]))
            return 1u << i;
    return 0;
}

static unsigned by_value(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_STRING:
        return STRING;
    case JSON_INTEGER:
        return INTEGER;
    case JSON_REAL:
        return NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOLEAN;
    case JSON_OBJECT:
        return OBJECTS;
    case JSON_ARRAY:
        return ARRAYS;
    default:
        return NULLS;
    }
}

static unsigned by_schema(const json_t *s, int depth)
{
    static const char *const unions[] = {"anyOf", "oneOf"};
    const json_t *type = json_object_get(s, "type"), *v;
    unsigned types = by_word(type), part;
    size_t i;

    json_array_foreach(type, i, v) types |= by_word(v);
    json_array_foreach(json_object_get(s, "enum"), i, v) types |=
        type ? 0 : by_value(v);
    v = json_object_get(s, "const");
    if (v && !type)
        types |= by_value(v);
    for (int k = 0; k < 2 && !types && depth < DEPTH; k++)
        json_array_foreach(json_object_get(s, unions[k]), i, v)
        {
            part = by_schema(v, depth + 1);
            if (!part)
                return 0; /* anything */
            types |= part;
        }
    if (types && json_is_true(json_object_get(s, "nullable")))
        types |= NULLS;
    return types;
}

/* A tool, or its function alone. */
static const json_t *function(const json_t *tool)
{
    const json_t *f = json_object_get(tool, "function");

    return json_is_object(f) ? f : tool;
}

static bool is(const json_t *s, const struct buf *b)
{
    return json_is_string(s) && json_string_length(s) == b->n &&
           !memcmp(json_string_value(s), b->p, b->n);
}

unsigned tools_types(const json_t *tools, const struct buf *name,
                     const struct buf *key)
{
    const json_t *tool, *params, *properties;
    size_t i;

    if (!name->n || !key->n)
        return 0;
    json_array_foreach(tools, i, tool)
    {
        const json_t *f = function(tool);

        if (!is(json_object_get(f, "name"), name))
            continue;
        params = json_object_get(f, "parameters");
        if (!params)
            params = json_object_get(f, "input_schema");
        properties = json_object_get(params, "properties");
        return by_schema(
            json_object_getn(properties, (const char *)key->p, key->n), 0);
    }
    return 0;
}

bool tools_say_text(unsigned types)
{
    return types == STRING;
}

bool tools_say_json(unsigned types, const void *p, size_t n)
{
    const char *s = p;
    unsigned is_type = 0;

    if (!n || types == STRING || !scan_all(s, n))
        return false;
    /* Where nobody said what it is, white space tells text. */
    if (!types)
        return !scan_space((unsigned char)s[0]) &&
               !scan_space((unsigned char)s[n - 1]);
    if (!(types & STRING))
        return true;
    while (scan_space((unsigned char)*s))
        s++, n--;
    if (*s == '{')
        is_type = OBJECTS;
    else if (*s == '[')
        is_type = ARRAYS;
    else if (*s == 't' || *s == 'f')
        is_type = BOOLEAN;
    else if (*s == 'n')
        is_type = NULLS;
    else if (*s != '"')
        is_type = memchr(s, '.', n) || memchr(s, 'e', n) || memchr(s, 'E', n)
                      ? NUMBER
                      : NUMBER | INTEGER;
    return is_type & types;
}

int chat_check_tools(const json_t *tools, struct err *e)
{
    const json_t *tool;
    size_t i;

    if (!json_is_array(tools))
        return err_set(e, ERR_FORMAT, "tools are not an array");
    json_array_foreach(tools, i, tool) if (
        !json_is_string(json_object_get(
            function(tool), "name"))) return err_set(e, ERR_FORMAT,
                                                     "tool %zu has no name", i);
    return 0;
}
