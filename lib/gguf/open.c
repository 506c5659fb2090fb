/* SPDX-License-Identifier: MIT
 *
 * A model as one file or as shards: "x-00001-of-00003.gguf" and its siblings.
 * A shard says split.no (from 0), split.count and split.tensors.count (of the
 * whole model); the first alone must have the other metadata.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf_impl.h"

int gguf_str_cmp(struct gguf_str a, struct gguf_str b)
{
    int r = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return r ? r : (a.n > b.n) - (a.n < b.n);
}

static void close_shard(struct shard *s)
{
    if (s->mapped)
        map_close(&s->map);
    free(s->path);
    free(s->key);
    free(s->by_name);
    *s = (struct shard){0};
}

void gguf_close(struct gguf *g)
{
    if (!g)
        return;
    for (int i = 0; !g->view && i < g->nshard; i++)
        close_shard(&g->shard[i]);
    free(g->shard);
    free(g->tensor);
    free(g->by_name);
    free(g->path);
    free(g);
}

/* The next shard, zeroed.  Those before it may move. */
static struct shard *add_shard(struct gguf *g, const char *path, struct err *e)
{
    struct shard *s;

    s = realloc(g->shard, ((size_t)g->nshard + 1) * sizeof *s);
    if (!s) {
        err_nomem(e);
        return NULL;
    }
    g->shard = s;
    s += g->nshard;
    *s = (struct shard){0};
    if (!(s->path = strdup(path))) {
        err_nomem(e);
        return NULL;
    }
    g->nshard++;
    return s;
}

static int add_file(struct gguf *g, const char *path, struct err *e)
{
    struct shard *s = add_shard(g, path, e);

    if (!s || map_open(&s->map, path, e))
        return -1;
    s->mapped = true;
    if (gguf_read_shard(g, s, g->nshard - 1, e))
        return err_prefix(e, "%s", path);
    return 0;
}

/* An integer of the split.* family: 1, 0 when absent, -1 when unusable. */
static int split_int(int64_t *out, const struct shard *s, const char *key,
                     struct err *e)
{
    const struct gguf_val *v = gguf_shard_key(s, key);

    if (!v)
        return 0;
    if (v->type == GGUF_BOOL || !gguf_val_int(out, v) || *out < 0)
        return err_set(e, ERR_FORMAT, "key '%s': is not a count", key);
    return 1;
}

/* The same of a key that a shard must have: 0 or -1. */
static int need_split_int(int64_t *out, const struct shard *s, const char *key,
                          struct err *e)
{
    int r = split_int(out, s, key, e);

    if (!r)
        return err_set(e, ERR_FORMAT, "key '%s' is missing in this shard", key);
    return r < 0 ? -1 : 0;
}

/* Does S say that it is shard NO of COUNT, of a model of G's architecture? */
static int check_shard(const struct gguf *g, const struct shard *s, int64_t no,
                       int64_t count, struct err *e)
{
    const struct gguf_val *first, *arch;
    int64_t n, c;

    if (need_split_int(&n, s, "split.no", e) ||
        need_split_int(&c, s, "split.count", e))
        return -1;
    if (n != no)
        return err_set(e, ERR_FORMAT,
                       "key 'split.no': is %lld, must be %lld in this shard",
                       (long long)n, (long long)no);
    if (c != count)
        return err_set(e, ERR_FORMAT,
                       "key 'split.count': is %lld, other shards say %lld",
                       (long long)c, (long long)count);
    arch = gguf_shard_key(s, "general.architecture");
    first = gguf_shard_key(&g->shard[0], "general.architecture");
    if (arch &&
        (!first || arch->type != first->type || arch->bytes != first->bytes ||
         memcmp(arch->p, first->p, arch->bytes)))
        return err_set(e, ERR_FORMAT,
                       "key 'general.architecture': differs "
                       "from the first shard's");
    return 0;
}

/* Every shard names the same total, and it is right. */
static int check_total(const struct gguf *g, struct err *e)
{
    for (int i = 0; i < g->nshard; i++) {
        const struct shard *s = &g->shard[i];
        int64_t total;
        int r = split_int(&total, s, "split.tensors.count", e);

        if (r > 0 && (uint64_t)total != g->ntensor)
            err_set(e, ERR_FORMAT,
                    "key 'split.tensors.count': is %lld, but %zu tensors are "
                    "there",
                    (long long)total, g->ntensor);
        if (r < 0 || (r > 0 && (uint64_t)total != g->ntensor))
            return err_prefix(e, "%s", s->path);
    }
    return 0;
}

static int cmp_tensor(const void *a, const void *b)
{
    const struct gguf_tensor *const *x = a, *const *y = b;

    return gguf_str_cmp((*x)->name, (*y)->name);
}

int gguf_index_tensors(struct gguf *g, struct err *e)
{
    g->by_name = malloc((g->ntensor + 1) * sizeof *g->by_name);
    if (!g->by_name)
        return err_nomem(e);
    for (size_t i = 0; i < g->ntensor; i++)
        g->by_name[i] = &g->tensor[i];
    qsort(g->by_name, g->ntensor, sizeof *g->by_name, cmp_tensor);
    for (size_t i = 1; i < g->ntensor; i++)
        if (!cmp_tensor(&g->by_name[i - 1], &g->by_name[i])) {
            err_set(e, ERR_FORMAT, "tensor '%.*s' stands twice",
                    GGUF_NAME(g->by_name[i]->name));
            return err_prefix(e, "%s", g->path);
        }
    return 0;
}

/* The length of PATH's stem: all before "-00001-of-00003.gguf" for shard NO of
 * COUNT; -1 when that is not how it ends. */
static int stem(const char *path, int64_t no, int64_t count)
{
    char tail[64];
    size_t n = strlen(path), k;

    k = (size_t)snprintf(tail, sizeof tail, "-%05lld-of-%05lld.gguf",
                         (long long)no + 1, (long long)count);
    return n > k && n - k < INT32_MAX && !strcmp(path + n - k, tail)
               ? (int)(n - k)
               : -1;
}

/* Forget the shard that told the split, and open all in order. */
static int open_split(struct gguf *g, int64_t count, struct err *e)
{
    int64_t no;
    int n;
    size_t room = strlen(g->path) + 64;
    char *path;

    if (need_split_int(&no, &g->shard[0], "split.no", e))
        return err_prefix(e, "%s", g->path);
    if (no >= count || count > 99999) {
        err_set(e, ERR_FORMAT, "there is no shard %lld of %lld", (long long)no,
                (long long)count);
        return err_prefix(e, "%s", g->path);
    }
    if ((n = stem(g->path, no, count)) < 0) {
        err_set(e, ERR_FORMAT,
                "is a shard, so its name must end in -%05lld-of-%05lld.gguf",
                (long long)no + 1, (long long)count);
        return err_prefix(e, "%s", g->path);
    }
    close_shard(&g->shard[0]);
    g->nshard = 0;
    g->ntensor = 0;
    if (!(path = malloc(room)))
        return err_nomem(e);
    for (int i = 0; i < count; i++) {
        int bad;

        snprintf(path, room, "%.*s-%05d-of-%05lld.gguf", n, g->path, i + 1,
                 (long long)count);
        bad = add_file(g, path, e);
        if (!bad && check_shard(g, &g->shard[i], i, count, e))
            bad = err_prefix(e, "%s", path);
        if (bad) {
            if (i != no)
                err_prefix(e, "%s: shard %d of %lld", g->path, i + 1,
                           (long long)count);
            free(path);
            return -1;
        }
    }
    free(path);
    return 0;
}

static struct gguf *new_gguf(const char *path, struct err *e)
{
    struct gguf *g = calloc(1, sizeof *g);

    if (g && !(g->path = strdup(path))) {
        free(g);
        g = NULL;
    }
    if (!g)
        err_nomem(e);
    return g;
}

static int finish(struct gguf **out, struct gguf *g, int bad, struct err *e)
{
    if (bad || check_total(g, e) || gguf_index_tensors(g, e)) {
        gguf_close(g);
        return -1;
    }
    *out = g;
    return 0;
}

int gguf_open(struct gguf **out, const char *path, struct err *e)
{
    struct gguf *g = new_gguf(path, e);
    int64_t count = 0;
    int bad;

    *out = NULL;
    if (!g)
        return -1;
    bad = add_file(g, path, e);
    if (!bad && split_int(&count, &g->shard[0], "split.count", e) < 0)
        bad = err_prefix(e, "%s", path);
    if (!bad && count > 1)
        bad = open_split(g, count, e);
    return finish(out, g, bad, e);
}

int gguf_open_memory(struct gguf **out, const char *name,
                     const struct gguf_str *file, int n, struct err *e)
{
    struct gguf *g = new_gguf(name, e);
    int64_t count = 0;
    int bad = 0;

    *out = NULL;
    if (!g)
        return -1;
    for (int i = 0; !bad && i < n; i++) {
        struct shard *s = add_shard(g, name, e);

        if (!s) {
            bad = -1;
            break;
        }
        s->map.p = (const unsigned char *)file[i].p;
        s->map.n = file[i].n;
        bad = gguf_read_shard(g, s, i, e);
        if (!bad && split_int(&count, s, "split.count", e) < 0)
            bad = -1;
        if (!bad && (n > 1 || count > 1))
            bad = check_shard(g, &g->shard[i], i, n, e);
        if (bad)
            err_prefix(e, "%s", name);
    }
    return finish(out, g, bad, e);
}

bool gguf_mapped(const struct gguf *g)
{
    return g->shard[0].mapped;
}

const char *gguf_path(const struct gguf *g)
{
    return g->path;
}

int gguf_nshard(const struct gguf *g)
{
    return g->nshard;
}

const struct gguf_shard *gguf_shard_at(const struct gguf *g, int i)
{
    return &g->shard[i].pub;
}

size_t gguf_ntensor(const struct gguf *g)
{
    return g->ntensor;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i)
{
    return &g->tensor[i];
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
    struct gguf_tensor key = {.name = {name, strlen(name)}}, *k = &key;
    const struct gguf_tensor **p =
        bsearch(&k, g->by_name, g->ntensor, sizeof *g->by_name, cmp_tensor);

    return p ? *p : NULL;
}
