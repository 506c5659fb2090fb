/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_SETLEASE, realpath */
#include "gguf/patch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/num.h"

enum { SECTOR = 512, MAGIC = 8, HEAD = MAGIC + 8 * 3, HASH = 16 };

static const char magic[] = "GGUFSET1";

/* A change: N bytes from AT on of the file that NAME is. */
struct patch {
    const char *path; /* as messages have it */
    char *name;       /* links followed */
    char *journal;
    int fd;
    uint64_t size; /* of the file */
    uint64_t at;
    size_t n;
    const unsigned char *old, *new;
};

static int failed(const char *path, struct err *e)
{
    return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
}

static int patch_open(struct patch *p, const char *path, int flags,
                      struct err *e)
{
    struct stat st;
    size_t n;

    *p = (struct patch){.path = path, .fd = -1};
    if (!(p->name = realpath(path, NULL)))
        return failed(path, e);
    n = strlen(p->name) + sizeof ".gguf-set";
    if (!(p->journal = malloc(n)))
        return err_nomem(e);
    snprintf(p->journal, n, "%s.gguf-set", p->name);
    p->fd = map_fd(p->name, flags);
    if (p->fd < 0 || fstat(p->fd, &st))
        return failed(path, e);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "%s: not a regular file", path);
    p->size = (uint64_t)st.st_size;
    return 0;
}

static void patch_close(struct patch *p)
{
    if (p->fd >= 0)
        close(p->fd);
    free(p->name);
    free(p->journal);
}

static int write_at(int fd, const char *name, uint64_t at, const void *from,
                    size_t n, struct err *e)
{
    const char *p = from;

    while (n) {
        ssize_t got = pwrite(fd, p, n < 1 << 30 ? n : 1 << 30, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(name, e);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return fsync(fd) ? failed(name, e) : 0;
}

/* N bytes of FD from AT on; short reads are errors. */
static int read_at(int fd, const char *name, uint64_t at, void *to, size_t n,
                   struct err *e)
{
    char *p = to;

    while (n) {
        ssize_t got = pread(fd, p, n < 1 << 30 ? n : 1 << 30, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(name, e);
        if (!got)
            return err_set(e, ERR_IO, "%s: it has become shorter", name);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* That a name came or went is on disk, too. */
static void sync_folder(const char *name)
{
    const char *slash = strrchr(name, '/');
    char *dir = strndup(name, slash > name ? (size_t)(slash - name) : 1);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

/* ---- FILE.gguf-set: magic, size of the file, AT, N, both bytes, a hash ----
 */

static void journal_hash(unsigned char hash[HASH], const void *p, size_t n)
{
    XXH128_canonical_t c;

    XXH128_canonicalFromHash(&c, XXH3_128bits(p, n));
    memcpy(hash, c.digest, HASH);
}

static int journal_put(const struct patch *p, struct err *e)
{
    size_t room = strlen(p->journal) + 8, n = HEAD + 2 * p->n;
    char *temp = malloc(room);
    unsigned char *b = malloc(n + HASH);
    int fd = -1, rc = temp && b ? 0 : err_nomem(e);

    if (!rc) {
        memcpy(b, magic, MAGIC);
        wr_u64(b + MAGIC, p->size);
        wr_u64(b + MAGIC + 8, p->at);
        wr_u64(b + MAGIC + 16, p->n);
        memcpy(b + HEAD, p->old, p->n);
        memcpy(b + HEAD + p->n, p->new, p->n);
        journal_hash(b + n, b, n);
        snprintf(temp, room, "%s.XXXXXX", p->journal);
        if ((fd = mkstemp(temp)) < 0)
            rc = failed(p->journal, e);
    }
    if (!rc)
        rc = write_at(fd, p->journal, 0, b, n + HASH, e);
    if (!rc && rename(temp, p->journal))
        rc = failed(p->journal, e);
    if (fd >= 0) {
        close(fd);
        if (rc)
            unlink(temp);
    }
    if (!rc)
        sync_folder(p->journal);
    free(temp);
    free(b);
    return rc;
}

static void journal_remove(const struct patch *p)
{
    unlink(p->journal);
    sync_folder(p->journal);
}

/* Who may write into a folder may not thereby write into the files of others:
 * the journal must be the user's or of the file's owner. */
static bool journal_owned(const struct patch *p, const struct stat *st)
{
    struct stat file;

    return S_ISREG(st->st_mode) && !fstat(p->fd, &file) &&
           (st->st_uid == geteuid() || st->st_uid == file.st_uid);
}

static int journal_bad(const struct patch *p, struct err *e)
{
    return err_set(e, ERR_FORMAT,
                   "%s: its %s is of another file, or damaged: remove that",
                   p->path, strrchr(p->journal, '/') + 1);
}

static int journal_parse(struct patch *p, const unsigned char *b, size_t n,
                         struct err *e)
{
    unsigned char hash[HASH];
    uint64_t size, at, len, end, both;

    if (n < HEAD + HASH || memcmp(b, magic, MAGIC))
        return journal_bad(p, e);
    journal_hash(hash, b, n - HASH);
    size = rd_u64(b + MAGIC);
    at = rd_u64(b + MAGIC + 8);
    len = rd_u64(b + MAGIC + 16);
    if (memcmp(hash, b + n - HASH, HASH) || size != p->size || at < 4 ||
        !add_ok(at, len, &end) || end > size || !mul_ok(len, 2, &both) ||
        both != n - HEAD - HASH)
        return journal_bad(p, e);
    p->at = at;
    p->n = (size_t)len;
    p->old = b + HEAD;
    p->new = p->old + len;
    return 0;
}

/* Its bytes in *BYTES; 1, or 0 when there is none. */
static int journal_get(struct patch *p, unsigned char **bytes, struct err *e)
{
    int fd = open(p->journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int rc = 0;

    *bytes = NULL;
    if (fd < 0)
        return errno == ENOENT ? 0 : failed(p->journal, e);
    if (fstat(fd, &st))
        rc = failed(p->journal, e);
    else if (!journal_owned(p, &st) || st.st_size > 1 << 30)
        rc = journal_bad(p, e);
    else if (!(*bytes = malloc((size_t)st.st_size + 1)))
        rc = err_nomem(e);
    else
        rc = read_at(fd, p->journal, 0, *bytes, (size_t)st.st_size, e);
    if (!rc)
        rc = journal_parse(p, *bytes, (size_t)st.st_size, e);
    close(fd);
    return rc ? -1 : 1;
}

/* ---- changing ---- */

/* Nobody has the file open, and who opens it waits until P is closed: 0; 1 when
 * somebody has.  A file system without leases lets it pass. */
static int lease(const struct patch *p)
{
#ifdef F_SETLEASE
    /* The signal that somebody waits must be a harmless one. */
    if (fcntl(p->fd, F_SETSIG, SIGURG))
        return 0;
    return fcntl(p->fd, F_SETLEASE, F_WRLCK) && errno == EAGAIN;
#else
    (void)p;
    return 0;
#endif
}

static int set_magic(const struct patch *p, const char *word, struct err *e)
{
    return write_at(p->fd, p->path, 0, word, 4, e);
}

static int write_old(const struct patch *p, struct err *e)
{
    return write_at(p->fd, p->path, p->at, p->old, p->n, e) ||
                   set_magic(p, "GGUF", e)
               ? -1
               : 0;
}

/* What differs. */
static void narrow(struct patch *p, const unsigned char *old,
                   const unsigned char *new_bytes, size_t n)
{
    size_t from = 4;

    while (from < n && old[from] == new_bytes[from])
        from++;
    while (n > from && old[n - 1] == new_bytes[n - 1])
        n--;
    p->at = from;
    p->n = n - from;
    p->old = old + from;
    p->new = new_bytes + from;
}

static int change(const struct patch *p, struct err *e)
{
    if (!p->n)
        return 0;
    if (p->at / SECTOR == (p->at + p->n - 1) / SECTOR)
        return write_at(p->fd, p->path, p->at, p->new, p->n, e);
    if (journal_put(p, e))
        return -1;
    if (set_magic(p, GGUF_PATCHING, e) ||
        write_at(p->fd, p->path, p->at, p->new, p->n, e) ||
        set_magic(p, "GGUF", e)) {
        /* Where even that fails, the journal stays. */
        if (!write_old(p, NULL))
            journal_remove(p);
        return -1;
    }
    journal_remove(p);
    return 0;
}

/* Does the file still begin with OLD? */
static int unchanged(const struct patch *p, const unsigned char *old, size_t n,
                     struct err *e)
{
    unsigned char *now = malloc(n ? n : 1);
    int rc = now ? read_at(p->fd, p->path, 0, now, n, e) : err_nomem(e);

    if (!rc && memcmp(now, old, n))
        rc = err_set(e, ERR_IO, "%s: somebody else has changed it", p->path);
    free(now);
    return rc;
}

int gguf_patch(const char *path, const void *old, const void *new_bytes,
               size_t n, struct err *e)
{
    struct patch p;
    int rc;

    assert(n >= 4 && !memcmp(old, "GGUF", 4) && !memcmp(new_bytes, "GGUF", 4));
    rc = patch_open(&p, path, O_RDWR, e);
    if (!rc)
        rc = lease(&p);
    if (!rc)
        rc = unchanged(&p, old, n, e);
    if (!rc) {
        narrow(&p, old, new_bytes, n);
        rc = change(&p, e);
    }
    patch_close(&p);
    return rc;
}

/* Each byte is an old or a new one, as a change that was cut short leaves them:
 * whatever else the file holds is not ours to write over. */
static bool ours(const struct patch *p, const unsigned char *now)
{
    for (size_t i = 0; i < p->n; i++)
        if (now[i] != p->old[i] && now[i] != p->new[i])
            return false;
    return true;
}

static int undo(const struct patch *p, struct err *e)
{
    unsigned char word[4], *now = malloc(p->n + 1);
    bool marked;
    int rc = now ? 0 : err_nomem(e);

    if (!rc)
        rc = read_at(p->fd, p->path, 0, word, 4, e);
    if (!rc)
        rc = read_at(p->fd, p->path, p->at, now, p->n, e);
    if (!rc) {
        marked = !memcmp(word, GGUF_PATCHING, 4);
        if ((!marked && memcmp(word, "GGUF", 4)) || !ours(p, now))
            rc = journal_bad(p, e);
        /* Not begun, or done. */
        else if (marked ||
                 (memcmp(now, p->old, p->n) && memcmp(now, p->new, p->n)))
            rc = write_old(p, e) ? -1 : 1;
    }
    if (rc >= 0)
        journal_remove(p);
    free(now);
    return rc;
}

int gguf_patch_undo(const char *path, struct err *e)
{
    struct patch p;
    unsigned char *bytes = NULL;
    int rc = patch_open(&p, path, O_RDONLY, e);

    if (!rc)
        rc = journal_get(&p, &bytes, e);
    if (rc > 0) {
        close(p.fd);
        p.fd = open(p.name, O_RDWR | O_CLOEXEC);
        rc = p.fd < 0 ? failed(path, e) : undo(&p, e);
    }
    patch_close(&p);
    free(bytes);
    return rc;
}
