/* SPDX-License-Identifier: MIT
 * schema_ref.c - the addresses of subschemas: $id, $anchor, $ref.
 *
 * References stay within the schema: nothing is fetched.
 */
#include <string.h>

#include "grammar/schema.h"

/* ---- addresses (RFC 3986, 5.2) ---- */

/* Up to the end of "scheme:", or 0. */
static size_t scheme(const char *u)
{
    size_t n = strcspn(u, ":/?#");

    return n && u[n] == ':' ? n + 1 : 0;
}

/* Up to the end of "//authority". */
static size_t authority(const char *u)
{
    size_t n = scheme(u);

    return strncmp(u + n, "//", 2) ? n : n + 2 + strcspn(u + n + 2, "/?#");
}

/* The path P[N] without "." and "..", behind OUT[FROM]. */
static void put_path(struct buf *out, const char *p, size_t n)
{
    size_t from = out->n;

    for (size_t i = 0; i < n;) {
        size_t len = p[i] == '/';
        bool up, here;

        while (i + len < n && p[i + len] != '/')
            len++;
        up = len == 3 && !memcmp(p + i, "/..", 3);
        here = len == 2 && !memcmp(p + i, "/.", 2);
        if (up)
            while (out->n > from && out->p[--out->n] != '/')
                ;
        if (!up && !here)
            buf_put(out, p + i, len);
        else if (i + len == n)
            buf_putc(out, '/');
        i += len;
    }
}

const char *schema_ref_join(struct schema *s, const char *base, const char *ref)
{
    struct buf out = {0};
    size_t host = authority(base), path = host + strcspn(base + host, "?#"),
           n = strcspn(ref, "?#"), dir = path;
    const char *p;

    if (scheme(ref)) {
        buf_puts(&out, ref);
    } else if (!strncmp(ref, "//", 2)) {
        buf_put(&out, base, scheme(base));
        buf_puts(&out, ref);
    } else if (!n) {
        buf_put(&out, base, strcspn(base, *ref == '?' ? "?#" : "#"));
        buf_puts(&out, ref);
    } else {
        struct buf whole = {0};

        while (*ref != '/' && dir > host && base[dir - 1] != '/')
            dir--;
        if (*ref != '/')
            buf_put(&whole, base + host, dir - host);
        if (*ref != '/' && dir == host && host > scheme(base))
            buf_putc(&whole, '/');
        buf_put(&whole, ref, n);
        buf_put(&out, base, host);
        put_path(&out, (const char *)whole.p, whole.n);
        out.bad |= whole.bad;
        buf_free(&whole);
        buf_puts(&out, ref + n);
    }
    p = out.bad ? NULL : arena_copy(&s->mem, buf_str(&out), out.n + 1);
    buf_free(&out);
    if (!p)
        err_nomem(s->e);
    return p;
}

/* The number of a text; PUT: a new one where there is none. */
static uint32_t text_id(struct schema *s, const char *p, size_t n, bool put)
{
    struct buf w = {0};
    uint32_t id;

    buf_put(&w, p, n);
    for (buf_putc(&w, 1); w.n % 4;)
        buf_putc(&w, 0);
    if (w.bad)
        id = INTERN_NONE;
    else if (put)
        id = intern_put(&s->uri, (uint32_t *)(void *)w.p, w.n / 4, NULL);
    else
        id = intern_find(&s->uri, (uint32_t *)(void *)w.p, w.n / 4);
    buf_free(&w);
    return id;
}

/* NODE is what URI[N] names; the first one stays. */
static int name(struct schema *s, const char *uri, size_t n, uint32_t node)
{
    uint32_t id = text_id(s, uri, n, true);

    if (id == INTERN_NONE)
        return err_nomem(s->e);
    if (id == s->under.n / sizeof node)
        buf_put(&s->under, &node, sizeof node);
    return buf_ok(&s->under, s->e);
}

static int anchor(struct schema *s, uint32_t node, const char *key)
{
    const json_t *v = json_object_get(schema_node(s, node)->json, key);
    const char *base, *uri;
    struct buf b = {0};

    if (!v)
        return 0;
    if (!json_is_string(v))
        return schema_fail(s, node, key, ERR_FORMAT, "not a string");
    base = schema_node(s, schema_node(s, node)->base)->uri;
    buf_printf(&b, "%s#%s", base, json_string_value(v));
    uri = arena_copy(&s->mem, buf_str(&b), b.n + 1);
    buf_free(&b);
    return uri ? name(s, uri, strlen(uri), node) : err_nomem(s->e);
}

static int own_names(struct schema *s, uint32_t node)
{
    const struct schema_node *n = schema_node(s, node);
    const json_t *v = json_object_get(n->json, "$id");
    const char *uri;

    if (node == 1 && name(s, "", 0, 1))
        return -1;
    if (v) {
        if (!json_is_string(v) || !*json_string_value(v))
            return schema_fail(s, node, "$id", ERR_FORMAT, "not an address");
        uri = schema_ref_join(s, schema_node(s, n->base)->uri,
                              json_string_value(v));
        if (!uri)
            return -1;
        if (uri[strcspn(uri, "#")] && uri[strcspn(uri, "#") + 1])
            return schema_fail(s, node, "$id", ERR_UNSUPPORTED,
                               "an address with a fragment");
        schema_node(s, node)->base = node;
        schema_node(s, node)->uri = uri;
        if (name(s, uri, strcspn(uri, "#"), node))
            return -1;
    }
    return anchor(s, node, "$anchor") || anchor(s, node, "$dynamicAnchor") ? -1
                                                                           : 0;
}

/* The subschemas in a keyword. */
static int children(struct schema *s, uint32_t node, const char *word,
                    json_t *value, enum schema_shape shape)
{
    struct schema_at at = {.word = word, .node = node};
    const char *key;
    json_t *v;
    size_t i;

    if (shape == SHAPE_ONE ||
        (shape == SHAPE_ONE_LIST && !json_is_array(value)))
        return schema_child(s, &at, value, NULL, SCHEMA_SELF) == LIT_BAD ? -1
                                                                         : 0;
    if (shape == SHAPE_LIST || shape == SHAPE_ONE_LIST) {
        if (!json_is_array(value))
            return schema_fail(s, node, word, ERR_FORMAT, "not an array");
        json_array_foreach(value, i, v) if (schema_child(s, &at, v, NULL, i) ==
                                            LIT_BAD) return -1;
    } else {
        if (!json_is_object(value))
            return schema_fail(s, node, word, ERR_FORMAT, "not an object");
        json_object_foreach(value, key, v)
        {
            if (shape == SHAPE_NAMES && json_is_array(v))
                continue;
            if (schema_child(s, &at, v, key, 0) == LIT_BAD)
                return -1;
        }
    }
    return 0;
}

int schema_ref_names(struct schema *s, uint32_t from)
{
    for (uint32_t i = from; i < s->node_at.n; i++) {
        json_t *json = schema_node(s, i)->json, *v;
        const char *key;

        if (schema_node(s, i)->value)
            continue;
        /* The parent's base was not known before. */
        if (i > 1)
            schema_node(s, i)->base =
                schema_node(s, schema_node(s, i)->parent)->base;
        if (own_names(s, i))
            return -1;
        json_object_foreach(json, key, v)
        {
            const struct schema_keyword *k = schema_keyword(key);

            if (k && k->shape && children(s, i, k->name, v, k->shape))
                return -1;
        }
    }
    return 0;
}

/* ---- references ---- */

enum { MAX_AT = 1 << 24 };

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *unescape(struct schema *s, const char *p)
{
    char *out = schema_alloc(s, strlen(p) + 1, 1);
    size_t n = 0;

    for (; out && *p; p++) {
        if (*p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
            out[n++] = (char)(hex(p[1]) * 16 + hex(p[2]));
            p += 2;
        } else {
            out[n++] = *p;
        }
    }
    return out;
}

/* The value that JSON pointer P (after its "/") leads to. */
static json_t *follow(struct schema *s, json_t *json, const char *p)
{
    for (bool more = true; json && more;) {
        size_t len = strcspn(p, "/"), n = 0, at = 0;
        char *key = schema_alloc(s, len + 1, 1);

        if (!key)
            return NULL;
        for (size_t i = 0; i < len; i++) {
            char c = p[i];

            if (c == '~' && i + 1 < len)
                c = p[++i] == '1' ? '/' : '~';
            key[n++] = c;
        }
        more = p[len] == '/';
        p += len + more;
        if (json_is_array(json)) {
            for (size_t i = 0; i < n; i++)
                at = key[i] >= '0' && key[i] <= '9' && at < MAX_AT
                         ? at * 10 + (size_t)(key[i] - '0')
                         : MAX_AT;
            json = n ? json_array_get(json, at) : NULL;
        } else {
            json = json_object_get(json, key);
        }
    }
    return json;
}

static uint32_t by_pointer(struct schema *s, uint32_t node, uint32_t base,
                           const char *ref, const char *p)
{
    uint32_t from = s->node_at.n, lit;
    json_t *json = follow(s, schema_node(s, base)->json, p);

    if (!json) {
        schema_fail(s, node, "$ref", ERR_FORMAT, "nothing is at '%.100s'", ref);
        return LIT_BAD;
    }
    lit = schema_lit(s, json, base, p, NULL, SCHEMA_SELF, false);
    if (lit != LIT_BAD && s->node_at.n > from && schema_ref_names(s, from))
        return LIT_BAD;
    return lit;
}

uint32_t schema_ref(struct schema *s, uint32_t node, const char *ref)
{
    const char *uri, *frag;
    uint32_t id, to;
    size_t n;

    uri = schema_ref_join(s, schema_node(s, schema_node(s, node)->base)->uri,
                          ref);
    if (!uri)
        return LIT_BAD;
    n = strcspn(uri, "#");
    frag = unescape(s, uri[n] ? uri + n + 1 : "");
    if (!frag)
        return LIT_BAD;
    if (*frag && *frag != '/') {
        struct buf b = {0};

        buf_printf(&b, "%.*s#%s", (int)n, uri, frag);
        id = b.bad ? INTERN_NONE : text_id(s, (const char *)b.p, b.n, false);
        buf_free(&b);
    } else {
        id = text_id(s, uri, n, false);
    }
    if (id == INTERN_NONE) {
        schema_fail(s, node, "$ref", ERR_UNSUPPORTED,
                    "'%.100s' is not in this schema", ref);
        return LIT_BAD;
    }
    memcpy(&to, s->under.p + (size_t)id * sizeof to, sizeof to);
    return *frag == '/' ? by_pointer(s, node, to, ref, frag + 1) : to << 1;
}
