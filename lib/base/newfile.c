/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* copy_file_range, realpath */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/num.h"

struct newfile {
    char *path;        /* as messages have it */
    char *name, *temp; /* what it will be, links followed, and what it is */
    int fd;
};

static int failed(const struct newfile *f, struct err *e)
{
    return err_set(e, ERR_IO, "%s: %s", f->path, strerror(errno));
}

static void file_free(struct newfile *f)
{
    free(f->path);
    free(f->name);
    free(f->temp);
    free(f);
}

int newfile_open(struct newfile **out, const char *path, struct err *e)
{
    struct newfile *f = calloc(1, sizeof *f);
    mode_t mask = umask(0);
    struct stat st = {0};
    size_t n;

    umask(mask);
    *out = NULL;
    if (!f)
        return err_nomem(e);
    f->path = strdup(path);
    f->name = realpath(path, NULL);
    if (!f->name)
        f->name = strdup(path);
    n = f->name ? strlen(f->name) + 8 : 0;
    f->temp = n ? malloc(n) : NULL;
    if (!f->path || !f->temp) {
        file_free(f);
        return err_nomem(e);
    }
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
        file_free(f);
        return err_set(e, ERR_IO, "%s: not a regular file", path);
    }
    snprintf(f->temp, n, "%s.XXXXXX", f->name);
    f->fd = mkstemp(f->temp);
    if (f->fd < 0) {
        failed(f, e);
        file_free(f);
        return -1;
    }
    fchmod(f->fd, st.st_mode ? st.st_mode & 07777 : 0666 & ~mask);
    *out = f;
    return 0;
}

const char *newfile_temporary(const struct newfile *f)
{
    return f->temp;
}

int newfile_size(struct newfile *f, uint64_t size, struct err *e)
{
    if (size > INT64_MAX)
        return err_set(e, ERR_UNSUPPORTED, "%s: it would be too large",
                       f->path);
    return ftruncate(f->fd, (off_t)size) ? failed(f, e) : 0;
}

int newfile_put(struct newfile *f, uint64_t at, const void *from, size_t n,
                struct err *e)
{
    const char *p = from;

    while (n) {
        size_t some = n < 1 << 30 ? n : 1 << 30;
        ssize_t got = pwrite(f->fd, p, some, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(f, e);
        p += got;
        at += (size_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* Can copy_file_range() not do it here, so that read and write must? */
static bool cannot_copy(int why)
{
    return why == EXDEV || why == EINVAL || why == ENOSYS || why == EPERM ||
           why == EOPNOTSUPP || why == EBADF;
}

static int copy_by_hand(struct newfile *f, uint64_t at, int fd,
                        const char *name, uint64_t from, uint64_t n,
                        struct err *e)
{
    enum { SOME = 1 << 20 };
    char *p = malloc(SOME);
    int rc = p ? 0 : err_nomem(e);

    while (!rc && n) {
        ssize_t got = pread(fd, p, n < SOME ? (size_t)n : SOME, (off_t)from);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = err_set(e, ERR_IO, "%s: %s", name,
                         got ? strerror(errno) : "it has become shorter");
            break;
        }
        rc = newfile_put(f, at, p, (size_t)got, e);
        at += (uint64_t)got;
        from += (uint64_t)got;
        n -= (uint64_t)got;
    }
    free(p);
    return rc;
}

int newfile_copy(struct newfile *f, uint64_t at, int fd, const char *name,
                 uint64_t from, uint64_t n, struct err *e)
{
    off_t in = (off_t)from, out = (off_t)at;

    while (n) {
        ssize_t got = copy_file_range(fd, &in, f->fd, &out,
                                      n < 1 << 30 ? (size_t)n : 1 << 30, 0);

        if (got < 0 && errno == EINTR)
            continue;
        /* Some file systems answer 0 for what they will not copy. */
        if (got == 0 || (got < 0 && cannot_copy(errno)))
            return copy_by_hand(f, (uint64_t)out, fd, name, (uint64_t)in, n, e);
        if (got < 0)
            return failed(f, e);
        n -= (uint64_t)got;
    }
    return 0;
}

/* The folder that NAME is in, malloc'ed. */
static char *folder_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? strndup(name, slash > name ? (size_t)(slash - name) : 1)
                 : strdup(".");
}

int newfile_room(const char *path, uint64_t bytes, struct err *e)
{
    char *real = realpath(path, NULL), *dir = folder_of(real ? real : path);
    struct statvfs v;
    uint64_t room;
    int rc = 0;

    if (!dir)
        rc = err_nomem(e);
    else if (!statvfs(dir, &v) && mul_ok(v.f_bavail, v.f_frsize, &room) &&
             room < bytes)
        rc = err_set(e, ERR_IO, "%s: %s: %llu bytes are needed, %llu are free",
                     path, strerror(ENOSPC), (unsigned long long)bytes,
                     (unsigned long long)room);
    free(real);
    free(dir);
    return rc;
}

/* The folder has the new name on disk, too; a file system that cannot promise
 * that has done what it can. */
static void sync_folder(const char *name)
{
    char *dir = folder_of(name);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int newfile_sync(struct newfile *f, struct err *e)
{
    int fd = f->fd;

    if (fd < 0)
        return 0;
    if (fsync(fd))
        return failed(f, e);
    f->fd = -1;
    return close(fd) ? failed(f, e) : 0;
}

int newfile_close(struct newfile *f, struct err *e)
{
    if (newfile_sync(f, e))
        return -1;
    if (rename(f->temp, f->name))
        return failed(f, e);
    sync_folder(f->name);
    file_free(f);
    return 0;
}

void newfile_abandon(struct newfile *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    unlink(f->temp);
    file_free(f);
}
