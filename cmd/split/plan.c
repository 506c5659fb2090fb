/* SPDX-License-Identifier: MIT
 *
 * Which tensors go into which file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/split/split.h"

/* The keys of file I of COUNT; of the first these are the model's. */
static void put_keys(struct gguf_out *o, const struct gguf *g, bool merged,
                     size_t i, size_t count)
{
    gguf_out_init(o, gguf_shard_at(g, 0)->alignment);
    for (size_t k = 0; !i && k < gguf_nkey(g); k++)
        if (!gguf_layout_key(gguf_key_at(g, k)->key))
            gguf_put_val(o, gguf_key_at(g, k));
    if (merged)
        return;
    gguf_put_int(o, "split.no", GGUF_U16, (int64_t)i);
    gguf_put_int(o, "split.count", GGUF_U16, (int64_t)count);
    gguf_put_int(o, "split.tensors.count", GGUF_I32, (int64_t)gguf_ntensor(g));
}

void parts_front(struct gguf_out *o, const struct parts *p, size_t i)
{
    put_keys(o, p->g, p->merged, i, p->n);
    for (size_t k = 0; k < p->v[i].n; k++) {
        const struct gguf_tensor *t = gguf_tensor_at(p->g, p->v[i].first + k);

        gguf_put_tensor(o, t->name, t->type, t->ndim, t->ne);
    }
}

void parts_fini(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].path);
    free(p->v);
    *p = (struct parts){0};
}

static struct part *add_part(struct parts *p, size_t first, struct err *e)
{
    struct part *v = realloc(p->v, (p->n + 1) * sizeof *v);

    if (!v) {
        err_nomem(e);
        return NULL;
    }
    p->v = v;
    v += p->n++;
    *v = (struct part){.first = first};
    return v;
}

/* Bytes before the table of a file: the first one's, and any other's. */
static int fronts(uint64_t front[2], const struct gguf *g, struct err *e)
{
    for (size_t i = 0; i < 2; i++) {
        struct gguf_out o;

        put_keys(&o, g, false, i, 2);
        front[i] = 4 + 4 + 8 + 8 + (uint64_t)o.keys.n;
        if (o.keys.bad)
            err_nomem(e);
        gguf_out_fini(&o);
    }
    return e->code ? -1 : 0;
}

/* A file's size: HEAD bytes of keys and table, and DATA, each padded. */
static uint64_t file_size(const struct gguf *g, uint64_t head, uint64_t data)
{
    uint64_t a = gguf_shard_at(g, 0)->alignment - 1;

    return ((head + a) & ~a) + data;
}

static uint64_t padded(const struct gguf *g, uint64_t bytes)
{
    uint64_t a = gguf_shard_at(g, 0)->alignment - 1;

    return (bytes + a) & ~a;
}

static int name_parts(struct parts *p, const char *prefix, struct err *e)
{
    size_t n = strlen(prefix), room;

    if (n > 5 && !strcmp(prefix + n - 5, ".gguf"))
        n -= 5;
    room = n + 32;
    for (size_t i = 0; i < p->n; i++) {
        if (!(p->v[i].path = malloc(room)))
            return err_nomem(e);
        snprintf(p->v[i].path, room, "%.*s-%05zu-of-%05zu.gguf", (int)n, prefix,
                 i + 1, p->n);
        p->bytes += p->v[i].bytes;
    }
    return 0;
}

int parts_split(struct parts *p, const struct gguf *g, const char *prefix,
                uint64_t max_bytes, uint64_t max_tensors, struct err *e)
{
    uint64_t front[2], head, data = 0;
    struct part *v;

    *p = (struct parts){.g = g};
    if (fronts(front, g, e) || !(v = add_part(p, 0, e)))
        return -1;
    head = front[0];
    v->bytes = file_size(g, head, 0);
    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        uint64_t row = 8 + t->name.n + 4 + 8 * (uint64_t)t->ndim + 4 + 8,
                 bytes = padded(g, t->bytes),
                 alone = file_size(g, front[1] + row, bytes);
        bool fits = v->n < max_tensors &&
                    file_size(g, head + row, data + bytes) <= max_bytes;

        /* Keys alone are a file, too, when the first tensor fits into the
         * next. */
        if (!fits && (v->n || (p->n == 1 && alone <= max_bytes))) {
            if (p->n == SPLIT_MAX)
                return err_set(e, ERR_UNSUPPORTED,
                               "%s: it would be more than %d files",
                               gguf_path(g), SPLIT_MAX);
            if (!(v = add_part(p, i, e)))
                return -1;
            head = front[1];
            data = 0;
        }
        v->n++;
        head += row;
        data += bytes;
        v->bytes = file_size(g, head, data);
    }
    return name_parts(p, prefix, e);
}

int parts_merge(struct parts *p, const struct gguf *g, const char *path,
                struct err *e)
{
    struct gguf_out o;
    struct buf head = {0};
    struct part *v;
    int rc;

    *p = (struct parts){.g = g, .merged = true};
    if (!(v = add_part(p, 0, e)))
        return -1;
    v->n = gguf_ntensor(g);
    if (!(v->path = strdup(path)))
        return err_nomem(e);
    parts_front(&o, p, 0);
    rc = gguf_out_head(&head, &o, e);
    v->bytes = p->bytes = head.n + o.data;
    buf_free(&head);
    gguf_out_fini(&o);
    return rc;
}
