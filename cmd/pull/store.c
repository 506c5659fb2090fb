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
#include "base/utf8.h"
#include "cmd/common/cache.h"
#include "cmd/common/cli.h"
#include "cmd/pull/part.h"
#include "cmd/pull/pypi.h"

/* What PATH.json says, or PATH.part.json by the SUFFIX ".part". */
static json_t *record(const char *path, const char *suffix)
{
    struct buf b = {0};
    json_t *j;

    buf_printf(&b, "%s%s.json", path, suffix);
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
    json_t *j = record(path, "");
    bool ok = name_sha256(out, text(j, "sha256"));

    json_decref(j);
    return ok;
}

/* Was the file BASE in DIR, or its start, pulled by exactly N's name? */
static bool asked_as(const char *dir, const char *base, const struct name *n)
{
    char *path = path_join(dir, base);
    json_t *whole = record(path, ""), *begun = record(path, ".part");
    bool same = !strcmp(text(whole, "name"), n->text) ||
                !strcmp(text(begun, "name"), n->text);

    json_decref(whole);
    json_decref(begun);
    free(path);
    return same;
}

/* Are A and B files of one model: the same, or shards of the same? */
static bool same_model(const char *a, const char *b)
{
    int n, count, count2, stem, stem2;

    return !strcmp(a, b) ||
           (shard_name(a, &n, &count, &stem) &&
            shard_name(b, &n, &count2, &stem2) && count == count2 &&
            stem == stem2 && !strncmp(a, b, (size_t)stem));
}

/* Does BASE, a file of the repository's folder DIR, stand for N?  Where N
 * leaves the choice to the hub, only what the hub would surely choose does. */
static bool stands_for(const char *dir, const char *base, const struct name *n)
{
    char *remote = name_remote(base);
    bool same = remote && n->file && same_model(remote, n->file);

    if (remote && !n->file)
        same = name_quant(remote, n->quant ? n->quant : "Q4_K_M") ||
               asked_as(dir, base, n);
    free(remote);
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

/* A model in the cache.  NAME is one that gguf-pull takes, or PATH. */
struct item {
    char *name, *path, *dir, *base;
};
struct items {
    struct item *v;
    size_t n;
};

static char *must(char *p)
{
    if (!p)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    return p;
}

/* S as a terminal may be shown it, and without backslashes of its own; a WORD
 * has no space either. */
static char *shown(const char *s, bool word)
{
    struct buf b = {0};
    size_t len;
    uint32_t cp;

    for (size_t n = strlen(s); n; s += len, n -= len) {
        len = utf8_get((const unsigned char *)s, n, &cp);
        if (cp == UTF8_BAD || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) ||
            cp == '\\' || (word && cp == ' '))
            for (size_t i = 0; i < len; i++)
                buf_printf(&b, "\\x%02x", (unsigned char)s[i]);
        else
            buf_put(&b, s, len);
    }
    buf_putc(&b, 0);
    return must(b.bad ? NULL : (char *)b.p);
}

/* Is TEXT a name for the file BASE in the folder DIR, which is REL in the
 * cache? */
static bool names(const char *text, const char *dir, const char *rel,
                  const char *base)
{
    struct name n;
    bool ok;

    if (name_parse(&n, text, NULL))
        return false;
    ok =
        !strcmp(n.dir, rel) && (n.kind != NAME_HF || stands_for(dir, base, &n));
    name_free(&n);
    return ok;
}

/* What to call the file BASE in DIR, which is REL in the cache: as what it was
 * asked for if its record says so, else by its place, else by PATH. */
static char *call(const char *dir, const char *rel, const char *base,
                  const char *path)
{
    char *remote = name_remote(base);
    json_t *j = record(path, "");
    struct buf at = {0};
    const char *best = path;
    char *name;

    if (!strncmp(rel, "hf/", 3))
        buf_printf(&at, "hf:%s/%s", rel + 3, remote ? remote : "");
    else if (!strncmp(rel, "pypi/", 5))
        buf_printf(&at, "pypi:%s", rel + 5);
    else
        buf_puts(&at, rel);
    if (names(text(j, "name"), dir, rel, base))
        best = text(j, "name");
    else if (names(buf_str(&at), dir, rel, base))
        best = buf_str(&at);
    name = must(strdup(best));
    json_decref(j);
    buf_free(&at);
    free(remote);
    return name;
}

/* Append the models in models/REL and below to LIST. */
static void gather(struct items *list, const char *models, const char *rel,
                   int depth)
{
    char *dir = *rel ? path_join(models, rel) : must(strdup(models));
    DIR *d = opendir(dir);
    int n, count, stem;
    struct dirent *de;
    struct stat st;

    while (d && (de = readdir(d))) {
        const char *base = de->d_name;
        char *path, *sub;

        if (*base == '.')
            continue;
        path = path_join(dir, base);
        sub = *rel ? path_join(rel, base) : must(strdup(base));
        if (depth < 3 && !stat(path, &st) && S_ISDIR(st.st_mode)) {
            gather(list, models, sub, depth + 1);
        } else if (name_gguf(base) && cache_whole(path) &&
                   (!shard_name(base, &n, &count, &stem) || n == 1)) {
            struct item *v = realloc(list->v, (list->n + 1) * sizeof *v);

            must((char *)v);
            list->v = v;
            v[list->n++] =
                (struct item){call(dir, rel, base, path), must(strdup(path)),
                              must(strdup(dir)), must(strdup(base))};
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
    const struct item *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : strcmp(x->path, y->path);
}

/* All models, sorted. */
static int items_get(struct items *list, const char *models, struct err *e)
{
    DIR *d = opendir(models);

    *list = (struct items){0};
    if (!d)
        return errno == ENOENT
                   ? 0
                   : err_set(e, ERR_IO, "%s: %s", models, strerror(errno));
    closedir(d);
    gather(list, models, "", 0);
    if (list->n)
        qsort(list->v, list->n, sizeof *list->v, by_name);
    return 0;
}

static void items_free(struct items *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->v[i].name);
        free(list->v[i].path);
        free(list->v[i].dir);
        free(list->v[i].base);
    }
    free(list->v);
}

static void print_json(const struct item *m)
{
    json_t *rec = record(m->path, ""), *j;
    char *name = NULL, *path = NULL, *line;

    j = json_pack("{ss sI ss ss ss}", "name", m->name, "size", size_of(m->path),
                  "path", m->path, "sha256", text(rec, "sha256"), "source",
                  text(rec, "source"));
    /* JSON has no word for bytes that are not UTF-8. */
    if (!j)
        j = json_pack("{ss sI ss ss ss}", "name", name = shown(m->name, true),
                      "size", size_of(m->path), "path",
                      path = shown(m->path, false), "sha256",
                      text(rec, "sha256"), "source", text(rec, "source"));
    line = must(j ? json_dumps(j, JSON_COMPACT) : NULL);
    puts(line);
    free(line);
    free(name);
    free(path);
    json_decref(j);
    json_decref(rec);
}

static void print_text(const struct item *m, int width)
{
    char *name = shown(m->name, true), *path = shown(m->path, false);

    printf("%-*s %9.1f MB  %s\n", width, name, (double)size_of(m->path) * 1e-6,
           path);
    free(name);
    free(path);
}

int store_list(const char *models, bool json, struct err *e)
{
    struct items list;
    int width = 0;

    if (items_get(&list, models, e))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        int len = (int)strlen(list.v[i].name);

        if (len > width && strcmp(list.v[i].name, list.v[i].path))
            width = len;
    }
    for (size_t i = 0; i < list.n; i++)
        if (json)
            print_json(list.v + i);
        else
            print_text(list.v + i, width);
    items_free(&list);
    return 0;
}

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n > k && !strcmp(s + n - k, suffix);
}

/* The model that the file F belongs to, with the suffixes of records and
 * partial downloads cut off F in place; false when F is none of ours. */
static bool strip(char *f)
{
    static const char *const suffix[] = {".new", ".json", ".part"};

    for (size_t i = 0; i < 3; i++)
        if (ends(f, suffix[i]))
            f[strlen(f) - strlen(suffix[i])] = 0;
    return name_gguf(f);
}

/* Unlink the files of DIR that belong to N, or else to the model BASE; *COUNT
 * counts them.  All are chosen before any goes, and records go last: they
 * say what the other files are. */
static int sweep(const char *dir, const struct name *n, const char *base,
                 int *count, struct err *e)
{
    DIR *d = opendir(dir);
    struct items del = {0};
    struct dirent *de;
    int rc = 0;

    while (d && (de = readdir(d))) {
        char f[sizeof de->d_name];
        struct item *v;

        snprintf(f, sizeof f, "%s", de->d_name);
        if (*f == '.' || !strip(f) ||
            !(!n                   ? same_model(f, base)
              : n->kind == NAME_HF ? stands_for(dir, f, n)
                                   : true))
            continue;
        must((char *)(v = realloc(del.v, (del.n + 1) * sizeof *v)));
        del.v = v;
        v[del.n++] = (struct item){.path = path_join(dir, de->d_name)};
    }
    if (d)
        closedir(d);
    for (int records = 0; records < 2; records++)
        for (size_t i = 0; !rc && i < del.n; i++) {
            if (ends(del.v[i].path, ".gguf.json") != records)
                continue;
            if (unlink(del.v[i].path) && errno != ENOENT)
                rc = err_set(e, ERR_IO, "%s: %s", del.v[i].path,
                             strerror(errno));
            ++*count;
        }
    items_free(&del);
    return rc;
}

/* sweep() the folder AT with its lock held, and remove it if that empties it;
 * an error when nothing was there. */
static int clear(const char *models, const char *at, const struct name *n,
                 const char *base, struct err *e)
{
    char *dir = must(strdup(at)), *lock = path_join(dir, ".lock"),
         *pip = path_join(dir, ".pip");
    int fd, count = 0, rc = -1;
    struct stat st;

    if (stat(dir, &st)) {
        rc = errno == ENOENT
                 ? err_set(e, ERR_IO, "not in the cache")
                 : err_set(e, ERR_IO, "%s: %s", dir, strerror(errno));
    } else if (!lock_take(&fd, lock, NULL, e)) {
        rc = sweep(dir, n, base, &count, e);
        if (n)
            count += pypi_clean(pip);
        lock_drop(fd, lock);
        if (!rc && !count)
            rc = err_set(e, ERR_IO, "not in the cache");
        prune_dirs(dir, strlen(models));
    }
    free(pip);
    free(lock);
    free(dir);
    return rc;
}

int store_remove(const char *models, const struct name *n, struct err *e)
{
    char *dir = path_join(models, n->dir);
    int rc = clear(models, dir, n, NULL, e);

    free(dir);
    return rc;
}

bool store_remove_path(const char *models, const char *path, struct err *e)
{
    const struct item *one = NULL;
    struct items list;

    if (items_get(&list, models, e))
        return true;
    /* The very bytes first; else what the list shows for them. */
    for (int pass = 0; pass < 2 && !one; pass++)
        for (size_t i = 0; i < list.n && !one; i++) {
            char *s = pass ? shown(list.v[i].path, true) : NULL;

            if (!strcmp(pass ? s : list.v[i].path, path))
                one = list.v + i;
            free(s);
        }
    if (one)
        clear(models, one->dir, NULL, one->base, e);
    items_free(&list);
    return one != NULL;
}
