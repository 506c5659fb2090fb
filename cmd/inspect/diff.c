/* SPDX-License-Identifier: MIT
 *
 * Two models, by name: an order, a split or an alignment that differs is no
 * difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/inspect.h"

/* "key NAME: " or the start of a JSON line. */
static void head(const struct view *w, const char *kind, struct gguf_str name,
                 const char *what)
{
    if (w->json) {
        printf("{\"%s\":", kind);
        put_string(name);
        printf(",\"change\":\"%s\"", what);
    } else {
        printf("%s ", kind);
        put_text(name, true);
        fputs(": ", stdout);
    }
}

static void only(const struct view *w, const char *kind, struct gguf_str name,
                 const struct gguf *in, bool added)
{
    const char *path = gguf_path(in);

    head(w, kind, name, added ? "added" : "removed");
    if (w->json) {
        puts("}");
    } else {
        fputs("only in ", stdout);
        put_text((struct gguf_str){path, strlen(path)}, true);
        putchar('\n');
    }
}

static const struct gguf_val *key_named(const struct gguf *g,
                                        struct gguf_str name)
{
    char *s = malloc(name.n + 1);
    const struct gguf_val *v;

    if (!s)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    memcpy(s, name.p, name.n);
    s[name.n] = 0;
    v = gguf_key(g, s);
    free(s);
    return v;
}

static const struct gguf_tensor *tensor_named(const struct gguf *g,
                                              struct gguf_str name)
{
    char s[80];

    snprintf(s, sizeof s, "%.*s", (int)name.n, name.p);
    return gguf_tensor(g, s);
}

static void put_side(const struct gguf_val *v, const struct view *w)
{
    if (w->json) {
        put_json_value(v);
        return;
    }
    put_type(v);
    putchar(' ');
    put_value(v, w->all);
}

/* The first element in which two arrays of one type differ, shown alone. */
static struct gguf_val elem(const struct gguf_val *v, uint64_t i)
{
    struct gguf_val one = {.key = v->key, .type = v->elem, .n = 1, .p = v->p};

    if (v->elem != GGUF_STR)
        one.p += i * gguf_val_size(v->elem);
    else
        while (i--)
            gguf_str_next(&one.p);
    one.bytes = v->elem == GGUF_STR ? 8 + (size_t)rd_u64(one.p)
                                    : gguf_val_size(v->elem);
    return one;
}

static bool same_bytes(const struct gguf_val *a, const struct gguf_val *b)
{
    return a->bytes == b->bytes && !memcmp(a->p, b->p, a->bytes);
}

/* Walk both arrays in step; how many elements differ, and where first. */
static uint64_t count_changes(uint64_t *first, const struct gguf_val *a,
                              const struct gguf_val *b)
{
    const unsigned char *p = a->p, *q = b->p;
    size_t size = gguf_val_size(a->elem);
    uint64_t changes = 0;

    for (uint64_t i = 0; i < a->n; i++) {
        bool same;

        if (a->elem == GGUF_STR) {
            struct gguf_str s = gguf_str_next(&p), t = gguf_str_next(&q);

            same = s.n == t.n && !memcmp(s.p, t.p, s.n);
        } else {
            same = !memcmp(p + i * size, q + i * size, size);
        }
        if (!same && !changes++)
            *first = i;
    }
    return changes;
}

static void put_array_change(const struct gguf_val *a, const struct gguf_val *b,
                             const struct view *w)
{
    uint64_t first = 0, n = count_changes(&first, a, b);
    struct gguf_val x = elem(a, first), y = elem(b, first);

    if (w->json)
        printf(",\"differ\":%llu,\"first\":%llu", (unsigned long long)n,
               (unsigned long long)first);
    else
        printf(
            "%llu of %llu elements differ, first %llu: ", (unsigned long long)n,
            (unsigned long long)a->n, (unsigned long long)first);
    fputs(w->json ? ",\"a\":" : "", stdout);
    put_side(&x, w);
    fputs(w->json ? ",\"b\":" : " -> ", stdout);
    put_side(&y, w);
    puts(w->json ? "}" : "");
}

static bool diff_key(const struct gguf_val *a, const struct gguf_val *b,
                     const struct view *w)
{
    if (a->type == b->type && a->elem == b->elem && a->n == b->n &&
        same_bytes(a, b))
        return false;
    head(w, "key", a->key, "changed");
    if (a->type == GGUF_ARR && b->type == GGUF_ARR && a->elem == b->elem &&
        a->n == b->n && a->elem != GGUF_ARR) {
        put_array_change(a, b, w);
        return true;
    }
    fputs(w->json ? ",\"a\":" : "", stdout);
    put_side(a, w);
    fputs(w->json ? ",\"b\":" : " -> ", stdout);
    put_side(b, w);
    puts(w->json ? "}" : "");
    return true;
}

static void put_shape(const struct gguf_tensor *t, const struct view *w)
{
    const char *type = gguf_type_info(t->type)->name;

    printf(w->json ? "{\"type\":\"%s\",\"shape\":[" : "%s ", type);
    for (int i = 0; i < t->ndim; i++)
        printf("%s%llu",
               !i        ? ""
               : w->json ? ","
                         : " x ",
               (unsigned long long)t->ne[i]);
    fputs(w->json ? "]}" : "", stdout);
}

static void put_content_change(const struct gguf_tensor *a,
                               const struct gguf_tensor *b,
                               const struct view *w)
{
    size_t size = gguf_type_info(a->type)->bytes;
    uint64_t n = a->bytes / size, first = 0, changes = 0;

    for (uint64_t i = 0; i < n; i++)
        if (memcmp(a->p + i * size, b->p + i * size, size) && !changes++)
            first = i;
    printf(w->json ? ",\"differ\":%llu,\"of\":%llu,\"first\":%llu}\n"
                   : "%llu of %llu blocks differ, first %llu\n",
           (unsigned long long)changes, (unsigned long long)n,
           (unsigned long long)first);
}

static bool diff_tensor(const struct gguf_tensor *a,
                        const struct gguf_tensor *b, const struct view *w)
{
    if (a->type != b->type || memcmp(a->ne, b->ne, sizeof a->ne)) {
        head(w, "tensor", a->name, "shape");
        fputs(w->json ? ",\"a\":" : "", stdout);
        put_shape(a, w);
        fputs(w->json ? ",\"b\":" : " -> ", stdout);
        put_shape(b, w);
        puts(w->json ? "}" : "");
        return true;
    }
    if (!memcmp(a->p, b->p, a->bytes))
        return false;
    head(w, "tensor", a->name, "content");
    put_content_change(a, b, w);
    return true;
}

int show_diff(const struct gguf *a, const struct gguf *b, const struct view *w)
{
    bool differ = false;

    for (size_t i = 0; !w->tensors && i < gguf_nkey(a); i++) {
        const struct gguf_val *v = gguf_key_at(a, i),
                              *other = key_named(b, v->key);

        if (gguf_layout_key(v->key))
            continue;
        if (!other)
            only(w, "key", v->key, a, false);
        differ |= !other || diff_key(v, other, w);
    }
    for (size_t i = 0; !w->tensors && i < gguf_nkey(b); i++) {
        struct gguf_str key = gguf_key_at(b, i)->key;

        if (gguf_layout_key(key) || key_named(a, key))
            continue;
        only(w, "key", key, b, true);
        differ = true;
    }
    for (size_t i = 0; i < gguf_ntensor(a); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(a, i),
                                 *other = tensor_named(b, t->name);

        if (!wanted(w, t->name))
            continue;
        if (!other)
            only(w, "tensor", t->name, a, false);
        differ |= !other || diff_tensor(t, other, w);
    }
    for (size_t i = 0; i < gguf_ntensor(b); i++) {
        struct gguf_str name = gguf_tensor_at(b, i)->name;

        if (!wanted(w, name) || tensor_named(a, name))
            continue;
        only(w, "tensor", name, b, true);
        differ = true;
    }
    return differ;
}
