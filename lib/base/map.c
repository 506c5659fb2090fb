/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* madvise */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What errno says of PATH; no address space is no memory. */
static int failed(const char *path, struct err *e)
{
    if (errno == ENOMEM) {
        err_nomem(e);
        return err_prefix(e, "%s", path);
    }
    return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
}

int map_fd(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);

    /* Somebody has a lease, which only regular files have: wait for its end. */
    if (fd < 0 && errno == EAGAIN)
        do
            fd = open(path, flags | O_CLOEXEC);
        while (fd < 0 && errno == EINTR);
    return fd;
}

int map_open(struct map *m, const char *path, struct err *e)
{
    struct stat st;
    void *p = NULL;
    int fd = map_fd(path, O_RDONLY);

    *m = (struct map){0};
    if (fd < 0)
        return failed(path, e);
    if (fstat(fd, &st)) {
        failed(path, e);
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(e, ERR_IO, "%s: %s", path,
                S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file");
        goto fail;
    }
    if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            failed(path, e);
            goto fail;
        }
    }
    close(fd);
    m->p = p;
    m->n = (size_t)st.st_size;
    m->dev = (uint64_t)st.st_dev;
    m->ino = (uint64_t)st.st_ino;
    m->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return 0;
fail:
    close(fd);
    return -1;
}

void map_close(struct map *m)
{
    if (m->p)
        munmap((void *)(uintptr_t)m->p, m->n);
    *m = (struct map){0};
}

void map_forget(const struct map *m, const unsigned char *p, size_t n)
{
#ifdef MADV_DONTNEED
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p,
              to = from + n;

    (void)m;
    from = (from + page - 1) & ~(page - 1);
    to &= ~(page - 1);
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
#else
    (void)m, (void)p, (void)n;
#endif
}
