/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The folder has the new name on disk, too; a file system that cannot promise
 * that has done what it can. */
static void sync_folder(const char *name)
{
    const char *slash = strrchr(name, '/');
    char *dir = slash ? strndup(name, slash > name ? (size_t)(slash - name) : 1)
                      : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int newfile_close(struct newfile *f, struct err *e)
{
    int fd = f->fd;

    if (fsync(fd))
        return failed(f, e);
    f->fd = -1;
    if (close(fd) || rename(f->temp, f->name))
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
