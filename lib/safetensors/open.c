/* SPDX-License-Identifier: MIT
 *
 * Files and folders, and an index of several files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "safetensors/safetensors_impl.h"

/* A folder has the first of these that is there. */
static const char *const names[] = {"model.safetensors.index.json",
                                    "model.safetensors",
                                    "adapter_model.safetensors"};

/* NAME in the folder of PATH (FOLDER: PATH itself), in the arena. */
static char *beside(struct safetensors *s, const char *path, bool folder,
                    const char *name, struct err *e)
{
    const char *slash = strrchr(path, '/');
    size_t n = folder  ? strlen(path)
               : slash ? (size_t)(slash - path) + 1
                       : 0,
           len = strlen(name);
    char *out = arena_alloc(&s->mem, n + len + 2);

    if (!out) {
        err_nomem(e);
        return NULL;
    }
    memcpy(out, path, n);
    if (folder && n && path[n - 1] != '/')
        out[n++] = '/';
    memcpy(out + n, name, len + 1);
    return out;
}

/* The tensors of the file PATH, which the arena has. */
static int open_file(struct safetensors *s, const char *path, struct err *e)
{
    struct map *m = buf_add(&s->maps, sizeof *m);

    if (!m)
        return err_nomem(e);
    *m = (struct map){0};
    if (map_open(m, path, e))
        return -1;
    return safetensors_read(s, path, m->p, m->n, e);
}

/* ---- an index ---- */

/* Is this the name of a file in the same folder? */
static bool plain_name(const char *s)
{
    return *s && !strchr(s, '/') && strcmp(s, ".") && strcmp(s, "..");
}

/* Each shard that the index names, once. */
static int open_shards(struct safetensors *s, const char *path,
                       const json_t *where, struct err *e)
{
    json_t *seen = json_object(), *v;
    const char *name;
    int rc = seen ? 0 : err_nomem(e);

    json_object_foreach((json_t *)(uintptr_t)where, name, v)
    {
        const char *file = json_string_value(v), *full;

        if (rc || !file || json_object_get(seen, file))
            continue;
        if (json_object_size(seen) >= SAFETENSORS_MAX_SHARDS)
            rc = err_set(e, ERR_UNSUPPORTED, "%s: names more than %d files",
                         path, SAFETENSORS_MAX_SHARDS);
        else if (json_object_set_new(seen, file, json_true()))
            rc = err_nomem(e);
        else {
            full = beside(s, path, false, file, e);
            rc = full ? open_file(s, full, e) : -1;
        }
    }
    json_decref(seen);
    return rc;
}

/* The index and the shards agree about every tensor. */
static int check_index(const struct safetensors *s, const char *path,
                       const json_t *where, struct err *e)
{
    const char *name;
    json_t *v;

    for (size_t i = 0; i < safetensors_n(s); i++) {
        const struct safetensors_tensor *t = safetensors_at(s, i);
        const char *file = json_string_value(json_object_get(where, t->name));
        const char *slash = strrchr(t->path, '/');

        if (!file || strcmp(file, slash ? slash + 1 : t->path))
            return err_set(e, ERR_FORMAT,
                           "%s: tensor '%.100s' is in %s, and not so in the "
                           "index",
                           path, t->name, t->path);
    }
    json_object_foreach((json_t *)(uintptr_t)where, name, v) if (
        !safetensors_find(
            s, name)) return err_set(e, ERR_FORMAT,
                                     "%s: tensor '%.100s' is not in '%.100s'",
                                     path, name, json_string_value(v));
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void sort(struct safetensors *s)
{
    if (safetensors_n(s))
        qsort(s->t.p, safetensors_n(s), sizeof(struct safetensors_tensor),
              by_name);
}

/* What the index says of tensors: name to file. */
static json_t *weight_map(json_t *index, const char *path, struct err *e)
{
    json_t *where = json_object_get(index, "weight_map"), *v;
    const char *name;

    if (!json_is_object(where)) {
        err_set(e, ERR_FORMAT, "%s: has no 'weight_map'", path);
        return NULL;
    }
    json_object_foreach(where, name, v) if (!json_is_string(v) ||
                                            !plain_name(json_string_value(v)))
    {
        err_set(e, ERR_FORMAT,
                "%s: tensor '%.100s': what it is in is no file's name", path,
                name);
        return NULL;
    }
    return where;
}

static int open_index(struct safetensors *s, const char *path, struct err *e)
{
    struct map m = {0};
    json_t *index = NULL, *where;
    int rc = map_open(&m, path, e);

    if (!rc && m.n > SAFETENSORS_MAX_HEADER)
        rc = err_set(e, ERR_UNSUPPORTED, "%s: is too long", path);
    if (!rc)
        index = safetensors_json(path, m.n ? (const char *)m.p : "", m.n, e);
    map_close(&m);
    where = index ? weight_map(index, path, e) : NULL;
    rc = where ? open_shards(s, path, where, e) : -1;
    if (!rc) {
        sort(s);
        rc = check_index(s, path, where, e);
    }
    json_decref(index);
    return rc;
}

/* ---- the whole ---- */

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The file to open in the folder PATH. */
static char *in_folder(struct safetensors *s, const char *path, struct err *e)
{
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *full = beside(s, path, true, names[i], e);

        if (!full || !lstat(full, &st))
            return full;
        if (errno != ENOENT) {
            err_set(e, ERR_IO, "%s: %s", full, strerror(errno));
            return NULL;
        }
    }
    err_set(e, ERR_IO, "%s: has no %s and no %s", path, names[0], names[1]);
    return NULL;
}

static int open_path(struct safetensors *s, const char *path, struct err *e)
{
    char *full = is_folder(path) ? in_folder(s, path, e)
                                 : arena_copy(&s->mem, path, strlen(path) + 1);

    if (!full)
        return e && e->code ? -1 : err_nomem(e);
    if (ends_in(full, ".json"))
        return open_index(s, full, e);
    return open_file(s, full, e);
}

int safetensors_open(struct safetensors **out, const char *path, struct err *e)
{
    struct safetensors *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return err_nomem(e);
    if (open_path(s, path, e)) {
        safetensors_close(s);
        return -1;
    }
    sort(s);
    *out = s;
    return 0;
}

int safetensors_open_memory(struct safetensors **out, const char *name,
                            const void *p, size_t n, struct err *e)
{
    struct safetensors *s = calloc(1, sizeof *s);
    char *path = s ? arena_copy(&s->mem, name, strlen(name) + 1) : NULL;

    *out = NULL;
    if (!path || safetensors_read(s, path, p, n, e)) {
        if (!path)
            err_nomem(e);
        safetensors_close(s);
        return -1;
    }
    sort(s);
    *out = s;
    return 0;
}

void safetensors_close(struct safetensors *s)
{
    struct map *m;

    if (!s)
        return;
    m = (struct map *)(void *)s->maps.p;
    for (size_t i = 0; i < s->maps.n / sizeof *m; i++)
        map_close(&m[i]);
    buf_free(&s->maps);
    buf_free(&s->t);
    arena_free(&s->mem);
    free(s);
}

size_t safetensors_n(const struct safetensors *s)
{
    return s->t.n / sizeof(struct safetensors_tensor);
}

const struct safetensors_tensor *safetensors_at(const struct safetensors *s,
                                                size_t i)
{
    return (const struct safetensors_tensor *)(const void *)s->t.p + i;
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *s,
                                                  const char *name)
{
    struct safetensors_tensor key = {.name = name};

    if (!safetensors_n(s))
        return NULL;
    return bsearch(&key, s->t.p, safetensors_n(s), sizeof key, by_name);
}

void safetensors_forget(const struct safetensors_tensor *t)
{
    map_forget(NULL, t->p, (size_t)t->bytes);
}
