/* SPDX-License-Identifier: MIT */
#include "cmd/pull/store.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/common/cache.h"
#include "cmd/pull/part.h"
#include "cmd/pull/pypi.h"

static json_t *record(const char *path)
{
    struct buf b = {0};
    json_t *j;

    buf_printf(&b, "%s.json", path);
    j = json_load_file(buf_str(&b), 0, NULL);
    buf_free(&b);
    return j;
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

bool store_sha256(char out[65], const char *path)
{
    json_t *j = record(path);
    bool ok = name_sha256(out, text(j, "sha256"));

    json_decref(j);
    return ok;
}

/* Was the file BASE in DIR pulled by exactly the name that N is? */
static bool asked_as(const char *dir, const char *base, const struct name *n)
{
    char *path = path_join(dir, base);
    json_t *j = record(path);
    bool same = !strcmp(text(j, "name"), n->text);

    json_decref(j);
    free(path);
    return same;
}

/* Does BASE, a file of the repository's folder DIR, stand for N?  Where N
 * leaves the choice to the hub, only what the hub would surely choose does. */
static bool stands_for(const char *dir, const char *base, const struct name *n)
{
    int a, b, stem, stem2;
    char *local;
    bool same;

    if (!n->file)
        return name_quant(base, n->quant ? n->quant : "Q4_K_M") ||
               asked_as(dir, base, n);
    if (!(local = name_local(n->file)))
        return false;
    same =
        !strcmp(local, base) ||
        (shard_name(local, &a, &b, &stem) && shard_name(base, &a, &b, &stem2) &&
         stem == stem2 && !strncmp(local, base, (size_t)stem));
    free(local);
    return same;
}

char *store_find(const char *models, const struct name *n)
{
    char *dir = path_join(models, n->dir), *found = NULL;
    int count = 0, shard, shards, stem;
    struct dirent *de;
    DIR *d;

    if (n->kind != NAME_HF) {
        found = cache_in(dir);
        free(dir);
        return found;
    }
    d = opendir(dir);
    while (d && (de = readdir(d))) {
        const char *base = de->d_name;
        char *path;

        if (*base == '.' || !name_gguf(base) || !stands_for(dir, base, n) ||
            (shard_name(base, &shard, &shards, &stem) && shard != 1))
            continue;
        path = path_join(dir, base);
        if (cache_whole(path) && !count++)
            found = path;
        else
            free(path);
    }
    if (d)
        closedir(d);
    if (count != 1) {
        free(found);
        found = NULL;
    }
    free(dir);
    return found;
}

/* Bytes of the model at PATH, all its shards. */
static json_int_t size_of(const char *path)
{
    int n, count, stem;
    json_int_t sum = 0;
    struct stat st;

    if (!shard_name(path, &n, &count, &stem))
        return stat(path, &st) ? 0 : (json_int_t)st.st_size;
    for (int i = 1; i <= count; i++) {
        struct buf b = {0};

        buf_printf(&b, "%.*s-%05d-of-%05d.gguf", stem, path, i, count);
        if (!stat(buf_str(&b), &st))
            sum += (json_int_t)st.st_size;
        buf_free(&b);
    }
    return sum;
}

/* Append the models in models/REL and below to LIST. */
static void gather(json_t *list, const char *models, const char *rel, int depth)
{
    char *dir = *rel ? path_join(models, rel) : strdup(models);
    DIR *d = dir ? opendir(dir) : NULL;
    int n, count, stem;
    struct dirent *de;
    struct stat st;

    while (d && (de = readdir(d))) {
        const char *base = de->d_name;
        char *path, *sub;

        if (*base == '.')
            continue;
        path = path_join(dir, base);
        sub = *rel ? path_join(rel, base) : strdup(base);
        if (sub && depth < 3 && !stat(path, &st) && S_ISDIR(st.st_mode))
            gather(list, models, sub, depth + 1);
        else if (sub && name_gguf(base) && cache_whole(path) &&
                 (!shard_name(base, &n, &count, &stem) || n == 1)) {
            json_t *j = record(path);
            /* A catalogue name is its folder's; without a record of what it
             * was asked for as, a file is named by its place. */
            const char *name = !strchr(rel, '/')  ? rel
                               : *text(j, "name") ? text(j, "name")
                                                  : sub;

            json_array_append_new(list,
                                  json_pack("{ss sI ss ss ss}", "name", name,
                                            "size", size_of(path), "path", path,
                                            "sha256", text(j, "sha256"),
                                            "source", text(j, "source")));
            json_decref(j);
        }
        free(sub);
        free(path);
    }
    if (d)
        closedir(d);
    free(dir);
}

static int by_name(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    int order = strcmp(text(*x, "name"), text(*y, "name"));

    return order ? order : strcmp(text(*x, "path"), text(*y, "path"));
}

static void print(const json_t *m, bool json, int width)
{
    char *line;

    if (!json) {
        printf("%-*s %9.1f MB  %s\n", width, text(m, "name"),
               (double)json_integer_value(json_object_get(m, "size")) * 1e-6,
               text(m, "path"));
    } else if ((line = json_dumps(m, JSON_COMPACT))) {
        puts(line);
        free(line);
    }
}

int store_list(const char *models, bool json, struct err *e)
{
    json_t *list = json_array();
    size_t n;
    json_t **v;
    int width = 0;

    gather(list, models, "", 0);
    n = json_array_size(list);
    if (!(v = calloc(n + 1, sizeof(json_t *)))) {
        json_decref(list);
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        int len;

        v[i] = json_array_get(list, i);
        len = (int)strlen(text(v[i], "name"));
        if (len > width)
            width = len;
    }
    qsort(v, n, sizeof *v, by_name);
    for (size_t i = 0; i < n; i++)
        print(v[i], json, width);
    free(v);
    json_decref(list);
    return 0;
}

/* The model that the file F belongs to, with the suffixes of records and
 * partial downloads cut off F in place; false when F is none of ours. */
static bool strip(char *f)
{
    static const char *const suffix[] = {".new", ".json", ".part"};

    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(f), k = strlen(suffix[i]);

        if (n > k && !strcmp(f + n - k, suffix[i]))
            f[n - k] = 0;
    }
    return name_gguf(f);
}

/* Unlink the files of DIR that belong to N; *COUNT counts them. */
static int sweep(const char *dir, const struct name *n, int *count,
                 struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *de;
    int rc = 0;

    while (!rc && d && (de = readdir(d))) {
        char base[sizeof de->d_name], *path;

        snprintf(base, sizeof base, "%s", de->d_name);
        if (*base == '.' || !strip(base) ||
            (n->kind == NAME_HF && !stands_for(dir, base, n)))
            continue;
        path = path_join(dir, de->d_name);
        if (unlink(path))
            rc = err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
        ++*count;
        free(path);
    }
    if (d)
        closedir(d);
    return rc;
}

int store_remove(const char *models, const struct name *n, struct err *e)
{
    char *dir = path_join(models, n->dir), *lock = path_join(dir, ".lock"),
         *pip = path_join(dir, ".pip"), *slash;
    int fd, count = 0, rc;
    struct stat st;

    if (stat(dir, &st) || lock_take(&fd, lock, e)) {
        rc = err_set(e, ERR_IO, "not in the cache");
    } else {
        rc = sweep(dir, n, &count, e);
        count += pypi_clean(pip);
        lock_drop(fd, lock);
        if (!rc && !count)
            rc = err_set(e, ERR_IO, "not in the cache");
        /* Folders go when they have become empty, up to models/. */
        for (size_t top = strlen(models); !rmdir(dir);) {
            if (!(slash = strrchr(dir, '/')) || slash <= dir + top)
                break;
            *slash = 0;
        }
    }
    free(pip);
    free(lock);
    free(dir);
    return rc;
}
