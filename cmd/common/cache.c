/* SPDX-License-Identifier: MIT */
#include "cmd/common/cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/common/catalog.h"
#include "cmd/common/cli.h"

char *path_join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *p = malloc(n);

    if (!p)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    snprintf(p, n, "%s/%s", a, b);
    return p;
}

char *cache_models(struct err *e)
{
    static const char *const from[][2] = {{"LLM_CACHE", "models"},
                                          {"XDG_CACHE_HOME", "llmutils/models"},
                                          {"HOME", ".cache/llmutils/models"}};

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        const char *v = getenv(from[i][0]);

        /* XDG says to ignore a relative one. */
        if (v && *v && (i != 1 || *v == '/'))
            return path_join(v, from[i][1]);
    }
    err_set(e, ERR_USAGE,
            "no cache: none of LLM_CACHE, XDG_CACHE_HOME and "
            "HOME is set");
    return NULL;
}

/* Five digits at P as a number, or -1. */
static int five(const char *p)
{
    int v = 0;

    for (int i = 0; i < 5; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        v = v * 10 + (p[i] - '0');
    }
    return v;
}

bool shard_name(const char *name, int *n, int *count, int *stem)
{
    enum { TAIL = sizeof "-00001-of-00003.gguf" - 1 };
    size_t len = strlen(name);
    const char *p;

    if (len <= TAIL)
        return false;
    p = name + len - TAIL;
    *n = five(p + 1);
    *count = five(p + 10);
    *stem = (int)(len - TAIL);
    return *p == '-' && !memcmp(p + 6, "-of-", 4) && !strcmp(p + 15, ".gguf") &&
           *n >= 1 && *count >= *n;
}

static bool is_file(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISREG(st.st_mode);
}

bool cache_whole(const char *path)
{
    int n, count, stem;
    char tail[32], *sib;
    bool all = true;

    if (!is_file(path))
        return false;
    if (!shard_name(path, &n, &count, &stem))
        return true;
    for (int i = 1; all && i <= count; i++) {
        size_t len = (size_t)stem + sizeof tail;

        if (!(sib = malloc(len)))
            die(&(struct err){ERR_NOMEM, "out of memory"});
        snprintf(tail, sizeof tail, "-%05d-of-%05d.gguf", i, count);
        snprintf(sib, len, "%.*s%s", stem, path, tail);
        all = is_file(sib);
        free(sib);
    }
    return all;
}

char *cache_in(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *de;
    char *best = NULL;

    while (d && (de = readdir(d))) {
        size_t n = strlen(de->d_name);
        int shard, count, stem;
        char *path;

        if (n < 6 || de->d_name[0] == '.' ||
            strcmp(de->d_name + n - 5, ".gguf"))
            continue;
        if (shard_name(de->d_name, &shard, &count, &stem) && shard != 1)
            continue;
        path = path_join(dir, de->d_name);
        if (cache_whole(path) && (!best || strcmp(path, best) < 0)) {
            free(best);
            best = path;
        } else {
            free(path);
        }
    }
    if (d)
        closedir(d);
    return best;
}

char *cache_find(const char *name)
{
    char *models, *dir, *path;

    if (!catalog_find(name) || !(models = cache_models(NULL)))
        return NULL;
    dir = path_join(models, name);
    path = cache_in(dir);
    free(dir);
    free(models);
    return path;
}
