/* SPDX-License-Identifier: MIT */
#include "quantize/imatrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

struct entry {
    char *name;
    float *w;
    uint64_t columns, rows;
};

struct imatrix {
    char *path;
    struct entry *entry;
    size_t n;
};

void imatrix_close(struct imatrix *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++) {
        free(m->entry[i].name);
        free(m->entry[i].w);
    }
    free(m->entry);
    free(m->path);
    free(m);
}

size_t imatrix_count(const struct imatrix *m)
{
    return m->n;
}

/* A new entry at the end, with room for its weights; NULL without memory. */
static struct entry *add(struct imatrix *m, const char *name, size_t n,
                         uint64_t columns, uint64_t rows)
{
    struct entry *all = realloc(m->entry, (m->n + 1) * sizeof *all), *e;

    if (!all)
        return NULL;
    m->entry = all;
    e = &all[m->n];
    *e = (struct entry){.columns = columns, .rows = rows};
    e->name = strndup(name, n);
    e->w = calloc((size_t)(columns * rows) + 1, sizeof *e->w);
    if (!e->name || !e->w) {
        free(e->name);
        free(e->w);
        return NULL;
    }
    m->n++;
    return e;
}

static int check(const struct entry *t, struct err *e)
{
    for (uint64_t i = 0; i < t->columns * t->rows; i++)
        if (!(t->w[i] >= 0 && t->w[i] <= 3e38f))
            return err_set(e, ERR_FORMAT,
                           "'%.80s': element %llu is no sum of squares",
                           t->name, (unsigned long long)i);
    return 0;
}

/* ---- GGUF ---- */

static bool ends_with(struct gguf_str s, const char *end, size_t *n)
{
    size_t len = strlen(end);

    if (s.n <= len || memcmp(s.p + s.n - len, end, len))
        return false;
    *n = s.n - len;
    return true;
}

static const struct gguf_tensor *counts_of(const struct gguf *g,
                                           struct gguf_str sums, size_t n)
{
    char *name = malloc(n + sizeof ".counts");
    const struct gguf_tensor *t;

    if (!name)
        return NULL;
    memcpy(name, sums.p, n);
    memcpy(name + n, ".counts", sizeof ".counts");
    t = gguf_tensor(g, name);
    free(name);
    return t;
}

static int add_sums(struct imatrix *m, const struct gguf *g,
                    const struct gguf_tensor *t, size_t n, struct err *e)
{
    const struct gguf_tensor *counts = counts_of(g, t->name, n);
    uint64_t columns = t->ne[0], rows = t->ne[1] * t->ne[2] * t->ne[3];
    struct entry *to;

    if (t->type != GGUF_T_F32 || !counts || counts->type != GGUF_T_F32 ||
        counts->bytes != rows * sizeof(float))
        return err_set(e, ERR_FORMAT, "'%.*s' has no counts that go with it",
                       t->name.n < 80 ? (int)t->name.n : 80, t->name.p);
    to = add(m, t->name.p, n, columns, rows);
    if (!to)
        return err_nomem(e);
    for (uint64_t r = 0; r < rows; r++) {
        float count = rd_f32(counts->p + r * 4);

        /* An expert that was never asked: all the same. */
        for (uint64_t i = 0; i < columns; i++)
            to->w[r * columns + i] =
                count > 0 ? rd_f32(t->p + (r * columns + i) * 4) / count : 1;
    }
    return check(to, e);
}

static int read_gguf(struct imatrix *m, const char *path, struct err *e)
{
    struct gguf *g;
    int rc = 0;

    if (gguf_open(&g, path, e))
        return -1;
    for (size_t i = 0; i < gguf_ntensor(g) && !rc; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        size_t n;

        if (ends_with(t->name, ".in_sum2", &n))
            rc = add_sums(m, g, t, n, e);
    }
    gguf_close(g);
    return rc ? err_prefix(e, "%s", path) : 0;
}

/* ---- the binary form ---- */

struct bytes {
    const unsigned char *p, *end;
};

static bool number(int32_t *v, struct bytes *b)
{
    if (b->end - b->p < 4)
        return false;
    *v = (int32_t)rd_u32(b->p);
    b->p += 4;
    return true;
}

static int read_entry(struct imatrix *m, struct bytes *b, struct err *e)
{
    int32_t len, calls, n;
    const char *name;
    struct entry *to;

    if (!number(&len, b) || len < 1 || len > b->end - b->p)
        return err_set(e, ERR_FORMAT, "not an importance matrix");
    name = (const char *)b->p;
    b->p += len;
    if (!number(&calls, b) || !number(&n, b) || n < 1 ||
        n > (b->end - b->p) / 4)
        return err_set(e, ERR_FORMAT, "entry %zu is cut short", m->n);
    to = add(m, name, (size_t)len, (uint64_t)n, 1);
    if (!to)
        return err_nomem(e);
    for (int32_t i = 0; i < n; i++, b->p += 4)
        to->w[i] = rd_f32(b->p) / (calls > 0 ? (float)calls : 1);
    return check(to, e);
}

static int read_binary(struct imatrix *m, const struct map *map, struct err *e)
{
    struct bytes b = {map->p, map->p + map->n};
    int32_t n;

    if (!number(&n, &b) || n < 1)
        return err_set(e, ERR_FORMAT, "not an importance matrix");
    for (int32_t i = 0; i < n; i++)
        if (read_entry(m, &b, e))
            return -1;
    return 0; /* a number and a text may follow */
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int imatrix_open(struct imatrix **out, const char *path, struct err *e)
{
    struct imatrix *m = calloc(1, sizeof *m);
    struct map map = {0};
    int rc;

    *out = NULL;
    if (!m || !(m->path = strdup(path))) {
        imatrix_close(m);
        return err_nomem(e);
    }
    rc = map_open(&map, path, e);
    if (!rc && map.n >= 4 && !memcmp(map.p, "GGUF", 4))
        rc = read_gguf(m, path, e);
    else if (!rc && read_binary(m, &map, e))
        rc = err_prefix(e, "%s", path);
    map_close(&map);
    if (!rc && !m->n)
        rc = err_set(e, ERR_FORMAT, "%s: not an importance matrix", path);
    if (rc) {
        imatrix_close(m);
        return -1;
    }
    qsort(m->entry, m->n, sizeof *m->entry, by_name);
    *out = m;
    return 0;
}

int imatrix_of(const float **w, const struct imatrix *m,
               const struct gguf_tensor *t, struct err *e)
{
    struct entry key = {0};
    const struct entry *k;

    *w = NULL;
    if (!m)
        return 0;
    key.name = strndup(t->name.p, t->name.n);
    if (!key.name)
        return err_nomem(e);
    k = bsearch(&key, m->entry, m->n, sizeof *m->entry, by_name);
    free(key.name);
    if (!k)
        return 0;
    if (k->columns * k->rows != t->ne[0] * t->ne[2] * t->ne[3])
        return err_set(
            e, ERR_FORMAT,
            "%s: '%.80s' has %llu values, and the tensor %llu columns", m->path,
            k->name, (unsigned long long)(k->columns * k->rows),
            (unsigned long long)(t->ne[0] * t->ne[2] * t->ne[3]));
    *w = k->w;
    return 0;
}
