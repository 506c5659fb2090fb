/* SPDX-License-Identifier: MIT
 *
 * One request lists a repository with sizes and hashes, and names the commit
 * it stands at.  Files are then asked for by that commit, so that the shards
 * of a model cannot come from two versions of it. */
#include "cmd/pull/hub.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "cmd/common/cache.h"
#include "cmd/pull/http.h"
#include "cmd/pull/pull.h"

static const char *file_name(const json_t *f)
{
    const char *s = json_string_value(json_object_get(f, "rfilename"));

    return s ? s : "";
}

/* A model that can be pulled by quantisation: not the later shards, and not
 * what lies beside models (projectors, importance matrices). */
static bool candidate(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int n, count, stem;

    return name_gguf(path) && strncasecmp(base, "mmproj", 6) &&
           !strstr(base, "imatrix") &&
           (!shard_name(path, &n, &count, &stem) || n == 1);
}

static bool matches(const char *path, const char *quant)
{
    return candidate(path) && (!quant || name_quant(path, quant));
}

/* How many files match QUANT (NULL: any); the last of them in *AT, all of
 * them appended to LIST. */
static size_t match(const json_t *files, const char *quant, size_t *at,
                    struct buf *list)
{
    size_t i, found = 0;
    json_t *f;

    list->n = 0;
    json_array_foreach(files, i, f)
    {
        if (!matches(file_name(f), quant))
            continue;
        buf_printf(list, "%s%s", found++ ? ", " : "", file_name(f));
        *at = i;
    }
    return found;
}

/* The index of the file that N stands for, into *AT. */
static int pick(size_t *at, const json_t *files, const struct name *n,
                struct err *e)
{
    struct buf list = {0};
    size_t found, i;
    json_t *f;
    int rc = 0;

    if (n->file) {
        json_array_foreach(files, i, f)
        {
            *at = i;
            if (!strcmp(file_name(f), n->file))
                return 0;
        }
        return err_set(e, ERR_IO, "the repository has no file %s", n->file);
    }
    found = match(files, n->quant, at, &list);
    /* With nothing said: the only one, else the usual one. */
    if (found > 1 && !n->quant && match(files, "Q4_K_M", at, &list) == 1)
        found = 1;
    else if (found > 1 && !n->quant)
        match(files, NULL, at, &list);
    if (!found && !match(files, NULL, at, &list))
        rc = err_set(e, ERR_IO, "the repository has no GGUF file");
    else if (!found)
        rc = err_set(e, ERR_IO, "no file is %s; there are: %s", n->quant,
                     buf_str(&list));
    else if (found > 1)
        rc = err_set(e, ERR_USAGE, "which one? %s", buf_str(&list));
    buf_free(&list);
    return rc;
}

static int fill(struct hub_file *h, const json_t *f, const char *commit,
                const struct name *n, struct err *e)
{
    const json_t *lfs = json_object_get(f, "lfs"),
                 *size = json_object_get(f, "size");
    const char *sha = json_string_value(json_object_get(lfs, "sha256"));
    char *path = http_escape(file_name(f));
    struct buf url = {0};

    if (!sha)
        sha = json_string_value(json_object_get(lfs, "oid"));
    if (sha && !name_sha256(h->sha256, sha))
        h->sha256[0] = 0;
    h->size = json_is_integer(size) && json_integer_value(size) > 0
                  ? json_integer_value(size)
                  : -1;
    buf_printf(&url, "%s/%s/resolve/%s/%s", http_hub(), n->repo, commit,
               path ? path : "");
    url.bad |= !path;
    free(path);
    buf_putc(&url, 0);
    h->url = (char *)url.p;
    if (buf_ok(&url, e))
        return -1;
    if (!(h->local = name_local(file_name(f))))
        return err_set(e, ERR_FORMAT, "not a safe file name: %s", file_name(f));
    return 0;
}

static const json_t *by_name(const json_t *files, const char *name)
{
    size_t i;
    json_t *f;

    json_array_foreach(files, i, f)
    {
        if (!strcmp(file_name(f), name))
            return f;
    }
    return NULL;
}

static int collect(struct hub_file **out, int *count, const json_t *files,
                   size_t at, const char *commit, const struct name *n,
                   struct err *e)
{
    const char *first = file_name(json_array_get(files, at));
    int shard, shards = 1, stem = 0;
    struct hub_file *h;
    bool split = shard_name(first, &shard, &shards, &stem);

    if (!split)
        shards = 1;
    if (!(h = calloc((size_t)shards, sizeof *h)))
        return err_nomem(e);
    *out = h;
    *count = shards;
    for (int i = 0; i < shards; i++) {
        const json_t *f = json_array_get(files, at);
        struct buf name = {0};

        buf_puts(&name, first);
        if (split) {
            name.n = name.bad ? 0 : (size_t)stem;
            buf_printf(&name, "-%05d-of-%05d.gguf", i + 1, shards);
            f = by_name(files, buf_str(&name));
        }
        if (!f)
            err_set(e, ERR_FORMAT, "the repository lacks %s", buf_str(&name));
        buf_free(&name);
        if (!f || fill(h + i, f, commit, n, e))
            return -1;
    }
    return 0;
}

static bool is_commit(const char *s)
{
    return s && strlen(s) == 40 && strspn(s, "0123456789abcdef") == 40;
}

int hub_find(struct hub_file **out, int *count, const struct name *n,
             struct err *e)
{
    struct buf url = {0}, text = {0};
    json_t *j = NULL, *files;
    const char *commit;
    size_t at = 0;
    int rc = -1;

    *out = NULL;
    *count = 0;
    buf_printf(&url, "%s/api/models/%s/revision/main?blobs=true", http_hub(),
               n->repo);
    if (buf_ok(&url, e) || http_text(&text, buf_str(&url), e))
        goto out;
    j = json_loadb((const char *)text.p, text.n, 0, NULL);
    files = json_object_get(j, "siblings");
    commit = json_string_value(json_object_get(j, "sha"));
    if (!json_is_array(files))
        err_set(e, ERR_FORMAT, "the hub's answer is not a list of files");
    else if (!pick(&at, files, n, e))
        rc = collect(out, count, files, at, is_commit(commit) ? commit : "main",
                     n, e);
out:
    if (rc)
        hub_free(*out, *count);
    json_decref(j);
    buf_free(&url);
    buf_free(&text);
    return rc;
}

void hub_free(struct hub_file *f, int count)
{
    for (int i = 0; f && i < count; i++) {
        free(f[i].url);
        free(f[i].local);
    }
    free(f);
}
