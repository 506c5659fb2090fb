/* SPDX-License-Identifier: MIT */
#include "cmd/pull/part.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/pull/bar.h"
#include "cmd/pull/pull.h"
#include "gguf/gguf.h"

static int io_error(struct err *e, const char *path)
{
    return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
}

static char *suffixed(const char *path, const char *suffix)
{
    size_t n = strlen(path) + strlen(suffix) + 1;
    char *p = malloc(n);

    if (p)
        snprintf(p, n, "%s%s", path, suffix);
    return p;
}

static int hash_reset(struct part *p, struct err *e)
{
    if (!p->md && !(p->md = EVP_MD_CTX_new()))
        return err_nomem(e);
    if (!EVP_DigestInit_ex(p->md, EVP_sha256(), NULL))
        return err_set(e, ERR_UNSUPPORTED, "libcrypto has no SHA-256");
    return 0;
}

static void hash_hex(char out[65], EVP_MD_CTX *md)
{
    unsigned char b[EVP_MAX_MD_SIZE];

    EVP_DigestFinal_ex(md, b, NULL);
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", b[i]);
}

/* Feed MD with all of FD; the count of bytes, or -1. */
static int64_t hash_fd(EVP_MD_CTX *md, int fd, const char *path, struct err *e)
{
    size_t cap = 1 << 20;
    unsigned char *b = malloc(cap);
    int64_t n = 0;
    ssize_t got;

    if (!b)
        return err_nomem(e);
    while ((got = read(fd, b, cap)) != 0) {
        if (pull_stop || (got < 0 && errno != EINTR)) {
            n = pull_stop ? err_set(e, ERR_IO, "interrupted")
                          : io_error(e, path);
            break;
        }
        if (got < 0)
            continue;
        EVP_DigestUpdate(md, b, (size_t)got);
        n += got;
    }
    free(b);
    return n;
}

int sha256_file(char out[65], const char *path, struct err *e)
{
    struct part p = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -1;

    if (fd < 0)
        return io_error(e, path);
    if (!hash_reset(&p, e) && hash_fd(p.md, fd, path, e) >= 0) {
        hash_hex(out, p.md);
        rc = 0;
    }
    EVP_MD_CTX_free(p.md);
    close(fd);
    return rc;
}

int make_dirs(const char *dir, struct err *e)
{
    char *p = suffixed(dir, "");
    int rc = 0;

    if (!p)
        return err_nomem(e);
    for (char *s = p; !rc && (s = strchr(s + 1, '/'));) {
        *s = 0;
        if (mkdir(p, 0777) && errno != EEXIST)
            rc = io_error(e, p);
        *s = '/';
    }
    if (!rc && mkdir(p, 0777) && errno != EEXIST)
        rc = io_error(e, p);
    free(p);
    return rc;
}

int write_file(const char *path, const char *text, struct err *e)
{
    char *tmp = suffixed(path, ".new");
    FILE *f;
    int rc = 0, bad;

    if (!tmp)
        return err_nomem(e);
    f = fopen(tmp, "we");
    bad = !f || fputs(text, f) < 0;
    if (f)
        bad |= fclose(f) != 0;
    if (bad || rename(tmp, path)) {
        rc = io_error(e, tmp);
        unlink(tmp);
    }
    free(tmp);
    return rc;
}

/* Is what FILE.part.json says of FILE.part the start of what is wanted? */
static bool same_file(struct part *p, const char *url)
{
    json_t *j = json_load_file(p->rec, JSON_REJECT_DUPLICATES, NULL);
    const char *from = json_string_value(json_object_get(j, "url")),
               *sha = json_string_value(json_object_get(j, "sha256")),
               *etag = json_string_value(json_object_get(j, "etag"));
    int64_t size = json_integer_value(json_object_get(j, "size"));
    bool same, by_url = from && url && !strcmp(from, url) && etag && *etag;

    same = sha && *p->sha256 ? !strcmp(sha, p->sha256) : !*p->sha256 && by_url;
    if (size > 0 && p->total >= 0 && size != p->total)
        same = false;
    if (same && p->total < 0 && size > 0)
        p->total = size;
    if (same && by_url)
        snprintf(p->etag, sizeof p->etag, "%s", etag);
    json_decref(j);
    return same;
}

int part_restart(struct part *p, struct err *e)
{
    p->n = 0;
    p->total = p->want;
    p->etag[0] = 0;
    p->resumed = false;
    if (ftruncate(p->fd, 0) || lseek(p->fd, 0, SEEK_SET) < 0)
        return io_error(e, p->tmp);
    return hash_reset(p, e);
}

int part_open(struct part *p, const char *path, const char *url,
              const char *sha256, int64_t total, struct err *e)
{
    const char *slash = strrchr(path, '/');
    struct stat st;

    *p = (struct part){.fd = -1, .total = total, .want = total};
    snprintf(p->sha256, sizeof p->sha256, "%s", sha256);
    p->path = suffixed(path, "");
    p->tmp = suffixed(path, ".part");
    p->rec = suffixed(path, ".part.json");
    if (!p->path || !p->tmp || !p->rec)
        return err_nomem(e);
    p->what = slash ? p->path + (slash - path) + 1 : p->path;
    p->fd = open(p->tmp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (p->fd < 0 || fstat(p->fd, &st))
        return io_error(e, p->tmp);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "%s: not a regular file", p->tmp);
    if (!st.st_size || !same_file(p, url) ||
        (p->total >= 0 && st.st_size > p->total))
        return part_restart(p, e);
    if (hash_reset(p, e) || (p->n = hash_fd(p->md, p->fd, p->tmp, e)) < 0)
        return -1;
    p->resumed = true;
    return 0;
}

int part_note(struct part *p, const char *url, struct err *e)
{
    json_t *j = json_pack("{ss ss ss ss sI}", "name", p->name ? p->name : "",
                          "url", url, "sha256", p->sha256, "etag", p->etag,
                          "size", (json_int_t)(p->total < 0 ? 0 : p->total));
    char *text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
    int rc = text ? write_file(p->rec, text, e) : err_nomem(e);

    free(text);
    json_decref(j);
    return rc;
}

/* Refusing at the fourth byte saves fetching gigabytes of something else. */
static int check_magic(const struct part *p, const unsigned char *b, size_t n,
                       struct err *e)
{
    for (size_t i = 0; p->n + (int64_t)i < 4 && i < n; i++)
        if (b[i] != (unsigned char)"GGUF"[p->n + (int64_t)i])
            return err_set(e, ERR_FORMAT, "what was sent is not a GGUF file");
    return 0;
}

int part_write(struct part *p, const void *data, size_t n, struct err *e)
{
    const unsigned char *b = data;

    if (p->total >= 0 && (int64_t)n > p->total - p->n)
        return err_set(e, ERR_FORMAT, "more than the %lld bytes announced",
                       (long long)p->total);
    if (p->n < 4 && check_magic(p, b, n, e))
        return -1;
    while (n) {
        ssize_t k = write(p->fd, b, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return io_error(e, p->tmp);
        EVP_DigestUpdate(p->md, b, (size_t)k);
        p->n += k;
        b += k;
        n -= (size_t)k;
    }
    bar_at(p->n);
    return 0;
}

int part_check(struct part *p, struct err *e)
{
    char got[65];

    if (p->total >= 0 && p->n != p->total)
        return err_set(e, ERR_FORMAT, "%lld bytes came of %lld",
                       (long long)p->n, (long long)p->total);
    hash_hex(got, p->md);
    if (*p->sha256 && strcmp(got, p->sha256)) {
        part_restart(p, NULL);
        return err_set(e, ERR_FORMAT, "SHA-256 is %s, not %s", got, p->sha256);
    }
    snprintf(p->sha256, sizeof p->sha256, "%s", got);
    return 0;
}

/* The rename is only as lasting as the folder it is written in. */
static void sync_folder(const char *path)
{
    char *dir = suffixed(path, ""), *slash = dir ? strrchr(dir, '/') : NULL;
    int fd;

    if (slash)
        slash[slash == dir] = 0;
    fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int part_publish(struct part *p, bool shard, const char *record, struct err *e)
{
    struct gguf *g = NULL;
    char *json = suffixed(p->path, ".json");
    int rc = -1;

    if (!json)
        return err_nomem(e);
    if (p->n < 4)
        err_set(e, ERR_FORMAT, "what was sent is not a GGUF file");
    else if (!shard && gguf_open(&g, p->tmp, e))
        part_restart(p, NULL);
    else if (fsync(p->fd))
        io_error(e, p->tmp);
    else if (record && write_file(json, record, e))
        err_prefix(e, "%s", json);
    else if (rename(p->tmp, p->path))
        io_error(e, p->path);
    else
        rc = 0;
    if (!rc) {
        sync_folder(p->path);
        unlink(p->rec);
        close(p->fd);
        p->fd = -1;
    }
    if (g)
        gguf_close(g);
    free(json);
    return rc;
}

void part_close(struct part *p)
{
    if (p->fd >= 0) {
        if (!p->n) {
            unlink(p->tmp);
            unlink(p->rec);
        }
        close(p->fd);
    }
    EVP_MD_CTX_free(p->md);
    free(p->path);
    free(p->tmp);
    free(p->rec);
    *p = (struct part){.fd = -1};
}

void prune_dirs(char *dir, size_t top)
{
    for (char *slash; strlen(dir) > top && !rmdir(dir); *slash = 0)
        if (!(slash = strrchr(dir, '/')))
            break;
}

int lock_take(int *fd, const char *path, const char *dir, struct err *e)
{
    const struct timespec tick = {.tv_nsec = 50000000};
    struct stat a, b;
    bool told = false;

    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (*fd < 0 && errno == ENOENT && dir) {
            /* Its last holder may have removed the folder, too. */
            if (make_dirs(dir, e))
                return -1;
            continue;
        }
        if (*fd < 0)
            return io_error(e, path);
        /* Asking now and then has no gap into which a signal could fall. */
        while (flock(*fd, LOCK_EX | LOCK_NB)) {
            if (pull_stop || (errno != EWOULDBLOCK && errno != EINTR)) {
                if (pull_stop)
                    err_set(e, ERR_IO, "interrupted");
                else
                    io_error(e, path);
                close(*fd);
                return -1;
            }
            if (!told)
                note("waiting for another gguf-pull of the same model");
            told = true;
            nanosleep(&tick, NULL);
        }
        /* Its holder may have removed it between our open and our lock. */
        if (!fstat(*fd, &a) && !stat(path, &b) && a.st_ino == b.st_ino &&
            a.st_dev == b.st_dev)
            return 0;
        close(*fd);
    }
}

void lock_drop(int fd, const char *path)
{
    unlink(path);
    close(fd);
}
