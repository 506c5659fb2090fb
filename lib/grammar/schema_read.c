/* SPDX-License-Identifier: MIT
 * schema_read.c - a schema's text and its subschemas, each with its place. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "grammar/schema.h"

enum {
    MAX_BYTES = 8 << 20,
    MAX_VALUES = 300000, /* of JSON in a schema */
    MAX_DEPTH = 512,
    MAX_MEMORY = 48 << 20,
    MAX_WORK = 30 << 20,
};

static void pointer_token(struct buf *out, const char *key)
{
    buf_putc(out, '/');
    for (; *key; key++) {
        if (*key == '~' || *key == '/')
            buf_puts(out, *key == '~' ? "~0" : "~1");
        else
            buf_putc(out, *key);
    }
}

int schema_fail(struct schema *s, uint32_t node, const char *keyword,
                enum err_code code, const char *fmt, ...)
{
    struct buf at = {0};
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    schema_pointer(s, node, &at);
    if (keyword)
        pointer_token(&at, keyword);
    err_set(s->e, code, "%.200s: %s", at.n ? buf_str(&at) : "/", why);
    buf_free(&at);
    return -1;
}

int schema_work(struct schema *s, size_t n)
{
    s->work += n;
    if (s->work > MAX_WORK || s->mem.total > MAX_MEMORY)
        return err_set(s->e, ERR_UNSUPPORTED, "too large a schema");
    return 0;
}

void *schema_alloc(struct schema *s, size_t count, size_t size)
{
    void *p = NULL;

    if (!schema_work(s, count)) {
        p = arena_array(&s->mem, count ? count : 1, size);
        if (!p)
            err_nomem(s->e);
    }
    return p;
}

/* ---- text ---- */

/* How many bytes at P[N] are a number; 0 where it is none. */
static size_t number_at(const char *p, size_t n)
{
    size_t i = n && *p == '-', from = i;

    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    if (i == from || (p[from] == '0' && i > from + 1))
        return 0;
    if (i < n && p[i] == '.') {
        for (from = ++i; i < n && p[i] >= '0' && p[i] <= '9';)
            i++;
        if (i == from)
            return 0;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        i += i < n && (p[i] == '+' || p[i] == '-');
        for (from = i; i < n && p[i] >= '0' && p[i] <= '9';)
            i++;
        if (i == from)
            return 0;
    }
    return i;
}

/* Numbers are kept as they are written: what is parsed has their places in a
 * table instead. */
static int take_numbers(struct schema *s, struct buf *out, const char *p,
                        size_t n)
{
    size_t values = 0, depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < n;) {
        size_t len = quoted || !strchr("-0123456789", p[i]) || !p[i]
                         ? 0
                         : number_at(p + i, n - i);

        if (len) {
            struct schema_text t = {p + i, len};

            buf_printf(out, "%zu", s->number.n / sizeof t);
            buf_put(&s->number, &t, sizeof t);
            i += len;
            continue;
        }
        if (quoted && p[i] == '\\' && i + 1 < n)
            buf_putc(out, p[i++]);
        else if (p[i] == '"')
            quoted = !quoted;
        else if (!quoted && (p[i] == '[' || p[i] == '{'))
            depth++;
        else if (!quoted && (p[i] == ']' || p[i] == '}') && depth)
            depth--;
        values += !quoted && strchr(",:[{", p[i]) && p[i];
        if (depth > MAX_DEPTH)
            return err_set(s->e, ERR_UNSUPPORTED, "too deep a schema");
        if (values > MAX_VALUES)
            return err_set(s->e, ERR_UNSUPPORTED, "too large a schema");
        buf_putc(out, p[i++]);
    }
    return buf_ok(out, s->e) || buf_ok(&s->number, s->e) ? -1 : 0;
}

int schema_number(struct schema *s, const json_t *json, struct decimal *out)
{
    struct schema_text t;

    memcpy(&t, s->number.p + (size_t)json_integer_value(json) * sizeof t,
           sizeof t);
    return schema_decimal_read(out, t.p, t.n, s->e);
}

/* ---- subschemas ---- */

struct schema_node *schema_node(const struct schema *s, uint32_t id)
{
    return (struct schema_node *)(void *)s->node.p + id;
}

uint32_t schema_lit(struct schema *s, json_t *json, uint32_t parent,
                    const char *word, const char *key, size_t at, bool value)
{
    uintptr_t p = (uintptr_t)json;
    uint32_t words[3] = {(uint32_t)p, (uint32_t)((uint64_t)p >> 32), value}, id;
    struct schema_node n = {.json = json,
                            .value = value,
                            .parent = parent,
                            .word = word,
                            .key = key,
                            .at = at};
    bool fresh = false;

    if (!value && json_is_boolean(json))
        return json_is_true(json) ? LIT_ANY : LIT_NONE;
    if (!value && !json_is_object(json)) {
        schema_fail(s, parent, word, ERR_FORMAT, "not a schema");
        return LIT_BAD;
    }
    id = intern_put(&s->node_at, words, 3, &fresh);
    if (id == INTERN_NONE) {
        err_nomem(s->e);
        return LIT_BAD;
    }
    if (fresh) {
        if (s->node.n)
            n.base = schema_node(s, parent)->base;
        buf_put(&s->node, &n, sizeof n);
        if (buf_ok(&s->node, s->e))
            return LIT_BAD;
    }
    return id << 1;
}

uint32_t schema_child(struct schema *s, const struct schema_at *at,
                      json_t *json, const char *key, size_t i)
{
    return schema_lit(s, json, at->node, at->word, key, i, false);
}

void schema_pointer(const struct schema *s, uint32_t node, struct buf *out)
{
    uint32_t way[64];
    int n = 0;

    /* The last steps, where there are too many. */
    for (; node > 1 && n < 64; node = schema_node(s, node)->parent)
        way[n++] = node;
    if (node > 1)
        buf_puts(out, "...");
    while (n-- > 0) {
        const struct schema_node *k = schema_node(s, way[n]);

        if (k->word)
            pointer_token(out, k->word);
        if (k->key)
            pointer_token(out, k->key);
        else if (k->at != SCHEMA_SELF)
            buf_printf(out, "/%zu", k->at);
    }
}

int schema_read(struct schema *s, const char *text, size_t n)
{
    struct schema_node none = {.base = 1};
    struct buf plain = {0};
    json_error_t why;
    uint32_t id, none_at[3] = {0};
    int rc;

    if (n > MAX_BYTES)
        return err_set(s->e, ERR_UNSUPPORTED, "too large a schema");
    if (!n)
        return err_set(s->e, ERR_FORMAT, "line 1: nothing is there");
    rc = take_numbers(s, &plain, text, n);
    if (!rc) {
        s->root = json_loadb(
            (const char *)plain.p, plain.n,
            JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
        if (!s->root)
            rc = err_set(s->e, ERR_FORMAT, "line %d: %s", why.line, why.text);
    }
    buf_free(&plain);
    if (rc)
        return -1;
    /* Node 0 is true, node 1 the whole. */
    if (intern_put(&s->node_at, none_at, 3, NULL) == INTERN_NONE)
        return err_nomem(s->e);
    buf_put(&s->node, &none, sizeof none);
    if (buf_ok(&s->node, s->e))
        return -1;
    id = schema_lit(s, s->root, 0, NULL, NULL, SCHEMA_SELF, false);
    if (id == LIT_BAD)
        return -1;
    s->start = id;
    if (id >> 1) {
        schema_node(s, 1)->base = 1;
        schema_node(s, 1)->uri = "";
    }
    return schema_ref_names(s, 1);
}
