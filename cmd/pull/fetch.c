/* SPDX-License-Identifier: MIT */
#include "cmd/pull/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/common/cache.h"
#include "cmd/common/cli.h"
#include "cmd/pull/bar.h"
#include "cmd/pull/http.h"
#include "cmd/pull/hub.h"
#include "cmd/pull/part.h"
#include "cmd/pull/pull.h"
#include "cmd/pull/pypi.h"
#include "cmd/pull/store.h"
#include "gguf/gguf.h"

/* Where a model goes, and what is known of it. */
struct dest {
    const struct name *name;
    char *dir;       /* its folder in the cache */
    const char *out; /* -o, or NULL */
    char sha256[65];
    int64_t size; /* -1: not known */
    char *path;   /* the result */
};

/* The final name of a file that is called LOCAL where it comes from. */
static char *place(const struct dest *d, const char *local)
{
    const struct catalog *c = d->name->cat;

    if (d->out) {
        char *out = strdup(d->out);

        if (!out)
            die(&(struct err){ERR_NOMEM, "out of memory"});
        return out;
    }
    return path_join(d->dir, c && c->file ? c->file : local);
}

/* Publish P, which came from URL by way of SOURCE. */
static int publish(struct part *p, const struct dest *d, const char *source,
                   const char *url, bool shard, struct err *e)
{
    json_t *j =
        json_pack("{ss ss ss ss sI}", "name", d->name->text, "source", source,
                  "url", url, "sha256", p->sha256, "size", (json_int_t)p->n);
    char *text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
    int rc = !text && !d->out ? err_nomem(e)
                              : part_publish(p, shard, d->out ? NULL : text, e);

    free(text);
    json_decref(j);
    return rc;
}

/* One file over HTTP.  *PATH is where it ended up. */
static int get_file(char **path, const struct dest *d, const char *source,
                    const char *url, const char *local, const char *sha256,
                    int64_t size, bool shard, struct err *e)
{
    struct part p;
    int rc = -1;

    *path = place(d, local);
    trace("  %s", url);
    if (!part_open(&p, *path, url, sha256, size, e)) {
        p.name = d->name->text;
        if (!http_file(&p, url, e))
            rc = publish(&p, d, source, url, shard, e);
    }
    part_close(&p);
    return rc;
}

/* Now that all shards are there they must fit each other; if they don't, none
 * stays under its final name. */
static int check_shards(const struct dest *d, const struct hub_file *f,
                        int count, struct err *e)
{
    struct gguf *g;

    if (!gguf_open(&g, d->path, e)) {
        gguf_close(g);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        char *path = place(d, f[i].local);
        struct buf json = {0};

        buf_printf(&json, "%s.json", path);
        unlink(path);
        unlink(buf_str(&json));
        buf_free(&json);
        free(path);
    }
    return -1;
}

/* The COUNT files of a model; D's hash and size are those of a single one. */
static int get_files(struct dest *d, const char *source, struct hub_file *f,
                     int count, struct err *e)
{
    bool split = count > 1;

    if (split && (d->out || *d->sha256))
        return err_set(e, ERR_USAGE, "split over %d files: %s", count,
                       d->out ? "-o names one" : "no one SHA-256 fits");
    for (int i = 0; i < count; i++) {
        const char *sha = *d->sha256 ? d->sha256 : f[i].sha256;
        int64_t size = d->size >= 0 ? d->size : f[i].size;
        char *path, got[65];
        int rc;

        if (*d->sha256 && *f[i].sha256 && strcmp(d->sha256, f[i].sha256))
            return err_set(e, ERR_FORMAT, "the hub has SHA-256 %s, not %s",
                           f[i].sha256, d->sha256);
        path = place(d, f[i].local);
        if (split && !pull_set.force && *sha && !access(path, F_OK) &&
            store_sha256(got, path) && !strcmp(got, sha)) {
            /* A shard of this very model that an earlier run finished. */
            rc = 0;
        } else {
            free(path);
            rc = get_file(&path, d, source, f[i].url, f[i].local, sha, size,
                          split, e);
        }
        if (!rc && !i)
            d->path = path;
        else
            free(path);
        if (rc)
            return split ? err_prefix(e, "%s", f[i].local) : -1;
    }
    return split ? check_shards(d, f, count, e) : 0;
}

static int from_hub(struct dest *d, const struct name *src, struct err *e)
{
    struct hub_file *f;
    int count, rc;

    if (hub_find(&f, &count, src, e))
        return -1;
    rc = get_files(d, src->text, f, count, e);
    hub_free(f, count);
    return rc;
}

static int from_url(struct dest *d, const struct name *src, struct err *e)
{
    struct hub_file f = {.url = src->text, .size = -1};
    int n, count, stem, rc;

    if (shard_name(src->base, &n, &count, &stem) && count > 1)
        return err_set(e, ERR_UNSUPPORTED,
                       "one shard of %d: a split model needs an hf: name",
                       count);
    if (!(f.local = name_local(src->base)))
        return err_set(e, ERR_USAGE, "not a safe file name: %s", src->base);
    rc = get_files(d, src->text, &f, 1, e);
    free(f.local);
    return rc;
}

/* All of the stream IN into P. */
static int drain(struct part *p, int in, struct err *e)
{
    size_t cap = 1 << 20;
    unsigned char *b = malloc(cap);
    ssize_t k = 0;
    int rc = b ? 0 : err_nomem(e);

    bar_start(p->what, 0, p->total);
    while (!rc && (k = read(in, b, cap)) != 0) {
        if (pull_stop || (k < 0 && errno != EINTR))
            rc = err_set(e, ERR_IO, "%s",
                         pull_stop ? "interrupted" : strerror(errno));
        else if (k > 0)
            rc = part_write(p, b, (size_t)k, e);
    }
    bar_end();
    free(b);
    return rc;
}

/* The GGUF in the wheels of DIR. */
static int unpack(struct dest *d, const struct name *src, const char *dir,
                  struct err *e)
{
    struct pypi in;
    struct part p = {.fd = -1};
    struct err closing = {0};
    char *local = NULL;
    int rc = -1;

    if (pypi_open(&in, dir, e))
        return -1;
    if (!(local = name_local(in.name)))
        err_set(e, ERR_FORMAT, "not a safe file name: %s", in.name);
    else if (d->size >= 0 && d->size != in.size)
        err_set(e, ERR_FORMAT, "the wheels hold %lld bytes, not %lld",
                (long long)in.size, (long long)d->size);
    else {
        d->path = place(d, local);
        if (!part_open(&p, d->path, NULL, d->sha256, in.size, e) &&
            !part_restart(&p, e) && !drain(&p, in.fd, e))
            rc = 0;
    }
    if (pypi_close(&in, &closing) && !rc)
        rc = err_set(e, closing.code, "%s", closing.msg);
    if (rc || part_check(&p, e) || publish(&p, d, src->text, "", false, e)) {
        /* Unpacking again costs less than keeping count of a part. */
        if (p.fd >= 0)
            part_restart(&p, NULL);
        free(d->path);
        d->path = NULL;
        rc = -1;
    }
    part_close(&p);
    free(local);
    return rc;
}

static int from_pypi(struct dest *d, const struct name *src, struct err *e)
{
    struct buf dir = {0};
    int rc;

    if (d->out)
        buf_printf(&dir, "%s.pip", d->out);
    else
        buf_printf(&dir, "%s/.pip", d->dir);
    if (buf_ok(&dir, e))
        return -1;
    rc = pypi_wheels(buf_str(&dir), src->reqs, e);
    if (!rc) {
        rc = unpack(d, src, buf_str(&dir), e);
        pypi_clean(buf_str(&dir));
    } else {
        rmdir(buf_str(&dir)); /* wheels that are whole are worth keeping */
    }
    buf_free(&dir);
    return rc;
}

static int from_source(struct dest *d, const char *source, struct err *e)
{
    struct name src;
    int rc = name_parse(&src, source, e);

    if (rc)
        return rc;
    free(d->path); /* a source before this one may have got that far */
    d->path = NULL;
    trace("trying %s", source);
    rc = src.kind == NAME_HF    ? from_hub(d, &src, e)
         : src.kind == NAME_URL ? from_url(d, &src, e)
                                : from_pypi(d, &src, e);
    name_free(&src);
    return rc;
}

/* Each source of a catalogue name in turn.  The worst failure is the one that
 * counts; all are said, for the last one tried is seldom the one to mend. */
static int from_catalog(struct dest *d, struct err *e)
{
    const struct catalog *c = d->name->cat;
    struct err why[CATALOG_SOURCES] = {{0}};
    int n = 0;

    for (; n < CATALOG_SOURCES && c->source[n] && !pull_stop; n++) {
        if (!from_source(d, c->source[n], why + n))
            return 0;
        trace("%s: %s", c->source[n], why[n].msg);
    }
    if (n == 1 || pull_stop)
        return err_set(e, why[0].code, "%s", why[0].msg);
    for (int i = 0; i < n; i++) {
        if (!pull_set.verbose)
            warn("%s: %s: %s", c->name, c->source[i], why[i].msg);
        if (why[i].code > why[0].code)
            why[0].code = why[i].code;
    }
    return err_set(e, why[0].code, "none of its %d sources worked", n);
}

/* Copy the model at FROM to D's place outside of the cache. */
static int copy(struct dest *d, const char *from, struct err *e)
{
    struct part p;
    int fd = open(from, O_RDONLY | O_CLOEXEC), rc = -1;

    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", from, strerror(errno));
    d->path = place(d, "");
    if (!part_open(&p, d->path, NULL, d->sha256, -1, e) &&
        !part_restart(&p, e) && !drain(&p, fd, e) && !part_check(&p, e))
        rc = part_publish(&p, false, NULL, e);
    part_close(&p);
    close(fd);
    return rc;
}

/* The model is at FROM in the cache: bring it to where it is wanted, having
 * checked it when D knows a hash that FROM is not on record with.  FROM is
 * D's from here on. */
static int from_cache(struct dest *d, char *from, bool rehash, struct err *e)
{
    char got[65] = "";
    int n, count, stem, rc = 0;

    if (*d->sha256 &&
        (rehash || !store_sha256(got, from) || strcmp(got, d->sha256)))
        rc = sha256_file(got, from, e);
    if (!rc && *d->sha256 && strcmp(got, d->sha256)) {
        rc = err_set(e, ERR_FORMAT, "%s: SHA-256 is %s, not %s", from, got,
                     d->sha256);
    }
    if (!d->out) {
        d->path = from;
        return rc;
    }
    if (!rc && shard_name(from, &n, &count, &stem) && count > 1)
        rc = err_set(e, ERR_USAGE, "split over %d files: -o names one", count);
    if (!rc)
        rc = copy(d, from, e);
    free(from);
    return rc;
}

/* With the lock held: another process may have brought it meanwhile. */
static int locked(struct dest *d, const char *models, struct err *e)
{
    char *from = pull_set.force ? NULL : store_find(models, d->name);

    if (from)
        return from_cache(d, from, false, e);
    if (pull_set.offline)
        return err_set(e, ERR_IO, "not in the cache, and --offline is set");
    return d->name->cat ? from_catalog(d, e) : from_source(d, d->name->text, e);
}

/* What -o names is replaced by a rename: that must hit nothing but a file. */
static int check_out(const char *out, struct err *e)
{
    struct stat st;

    if (out && !stat(out, &st) && !S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "%s: not a regular file", out);
    return 0;
}

/* What is known of N's file before it is asked for. */
static int expect(struct dest *d, const char *sha256, struct err *e)
{
    const struct catalog *c = d->name->cat;
    const char *known = c && c->sha256 ? c->sha256 : d->name->sha256;

    d->size = c && c->size ? c->size : -1;
    if (sha256 && *known && strcmp(sha256, known))
        return err_set(e, ERR_FORMAT, "its SHA-256 is to be %s, not %s", known,
                       sha256);
    snprintf(d->sha256, sizeof d->sha256, "%s", sha256 ? sha256 : known);
    return 0;
}

int fetch(char **path, const struct name *n, const char *models,
          const char *out, const char *sha256, struct err *e)
{
    struct dest d = {.name = n, .out = out};
    char *from, *lock;
    struct buf name = {0};
    int fd, rc = -1;

    if (check_out(out, e) || expect(&d, sha256, e))
        return -1;
    /* What is there needs no lock, so no one to wait for. */
    if (!pull_set.force && !out && (from = store_find(models, n))) {
        rc = from_cache(&d, from, sha256 != NULL, e);
        *path = d.path;
        return rc;
    }
    if (pull_set.offline && !out)
        return err_set(e, ERR_IO, "not in the cache, and --offline is set");
    d.dir = path_join(models, n->dir);
    buf_printf(&name, "%s%s", out ? out : d.dir, out ? ".lock" : "/.lock");
    lock = strdup(buf_str(&name));
    if (!lock || buf_ok(&name, e))
        err_nomem(e);
    else if (!lock_take(&fd, lock, out ? NULL : d.dir, e)) {
        rc = locked(&d, models, e);
        lock_drop(fd, lock);
    }
    if (rc)
        prune_dirs(d.dir, strlen(models));
    *path = d.path;
    buf_free(&name);
    free(lock);
    free(d.dir);
    return rc;
}
