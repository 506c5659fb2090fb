/* SPDX-License-Identifier: MIT
 *
 * The keys are written: where they stand, or into a file of their own. */
#define _GNU_SOURCE /* flock, realpath */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/newfile.h"
#include "cmd/common/cleanup.h"
#include "cmd/common/progress.h"
#include "cmd/set/set.h"
#include "gguf/patch.h"

enum { STEP = 64 << 20 };

/* Which bytes of the model's first file go where, shown on the way. */
static int copy(struct gguf_file *f, uint64_t at, int fd, const char *name,
                uint64_t from, uint64_t n, uint64_t all, struct err *e)
{
    while (n) {
        uint64_t some = n < STEP ? n : STEP;

        if (gguf_file_copy(f, at, fd, name, from, some, e))
            return -1;
        at += some;
        from += some;
        n -= some;
        progress_part((double)at / (double)all);
    }
    return 0;
}

static int copy_data(struct gguf_file *f, const struct gguf *g,
                     const struct layout *p, struct err *e)
{
    const struct gguf_shard *s = gguf_shard_at(g, 0);
    uint64_t at = 0;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", s->path, strerror(errno));
    if (p->alignment == s->alignment)
        rc = copy(f, 0, fd, s->path, s->data, p->out.data, p->out.data, e);
    else
        for (size_t i = 0; !rc && i < s->ntensor; i++) {
            const struct gguf_tensor *t = gguf_tensor_at(g, s->first + i);

            rc = copy(f, at, fd, s->path, s->data + t->offset, t->bytes,
                      p->out.data, e);
            at += t->bytes + gguf_out_pad(&p->out, t->bytes);
        }
    close(fd);
    progress_clear();
    return rc;
}

/* ---- the copy is looked at before it takes its name ---- */

static bool same(const unsigned char *a, const unsigned char *b, uint64_t n)
{
    size_t some = n < 4096 ? (size_t)n : 4096;

    return !memcmp(a, b, some) && !memcmp(a + n - some, b + n - some, some);
}

static int check_tensors(const struct gguf *g, const struct gguf *copied,
                         struct err *e)
{
    size_t n = gguf_ntensor(g);

    for (size_t i = 0; i < n && i < gguf_ntensor(copied); i++) {
        const struct gguf_tensor *a = gguf_tensor_at(g, i),
                                 *b = gguf_tensor_at(copied, i);

        if (a->bytes != b->bytes || !same(a->p, b->p, a->bytes))
            return err_set(e, ERR_IO, "%s: it changed while it was copied",
                           gguf_path(g));
    }
    return 0;
}

static int check_copy(const struct gguf *g, const char *copied, struct err *e)
{
    int n = gguf_nshard(g), rc = 0;
    struct map *map = calloc((size_t)n, sizeof *map);
    struct gguf_str *file = calloc((size_t)n, sizeof *file);
    struct gguf *now = NULL;

    if (!map || !file)
        rc = err_nomem(e);
    for (int i = 0; !rc && i < n; i++) {
        rc = map_open(&map[i], i ? gguf_shard_at(g, i)->path : copied, e);
        file[i] = (struct gguf_str){(const char *)map[i].p, map[i].n};
    }
    if (!rc)
        rc = gguf_open_memory(&now, copied, file, n, e);
    if (!rc)
        rc = check_tensors(g, now, e);
    gguf_close(now);
    for (int i = 0; map && i < n; i++)
        map_close(&map[i]);
    free(map);
    free(file);
    return rc;
}

/* The file's first byte: the first key's length and name follow 24 bytes. */
static const unsigned char *front(const struct gguf *g)
{
    return (const unsigned char *)gguf_key_at(g, 0)->key.p - 8 - 24;
}

/* Does the model's file still begin with the N bytes that were read? */
static int unchanged(const char *path, const unsigned char *old, size_t n,
                     struct err *e)
{
    struct map now;
    int rc = map_open(&now, path, e);

    if (!rc && (now.n < n || memcmp(now.p, old, n)))
        rc = err_set(e, ERR_IO, "%s: somebody else has changed it", path);
    map_close(&now);
    return rc;
}

/* F takes the model's place.  Of several programs that want to, one after the
 * other looks and does so: they lock the folder. */
static int replace(struct gguf_file *f, const struct gguf *g, struct err *e)
{
    const struct gguf_shard *s = gguf_shard_at(g, 0);
    char *path = realpath(s->path, NULL), *slash;
    int fd, rc;

    if (!path)
        return err_set(e, ERR_IO, "%s: %s", s->path, strerror(errno));
    slash = strrchr(path, '/');
    slash[slash == path] = 0;
    rc = gguf_file_sync(f, e);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        flock(fd, LOCK_EX); /* where there are locks */
    rc = rc || unchanged(s->path, front(g), (size_t)s->data, e) ||
                 cleanup_close(f, e)
             ? -1
             : 0;
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

static int write_anew(const struct layout *p, const struct gguf *g,
                      const char *output, struct err *e)
{
    struct gguf_file *f = NULL;
    const char *to = output ? output : gguf_shard_at(g, 0)->path;

    if (newfile_room(to, p->size, e) || cleanup_open(&f, to, e))
        return -1;
    if (gguf_file_head(f, &p->out, e) || copy_data(f, g, p, e) ||
        check_copy(g, gguf_file_temporary(f), e) ||
        (output ? cleanup_close(f, e) : replace(f, g, e))) {
        cleanup_abandon(f);
        return -1;
    }
    return 0;
}

/* ---- in place ---- */

/* 1 when somebody has the file open. */
static int write_here(const char *path, unsigned char *old,
                      const struct buf *head, struct err *e)
{
    sigset_t was;
    int rc;

    /* Readers know the version that the file says; the layout is the same. */
    memcpy(head->p, old, 8);
    cleanup_block(&was);
    rc = gguf_patch(path, old, head->p, head->n, e);
    cleanup_unblock(&was);
    return rc;
}

int layout_apply(bool *in_place, const struct layout *p, struct gguf **g,
                 const char *output, struct err *e)
{
    char *path = strdup(gguf_path(*g)),
         *first = strdup(gguf_shard_at(*g, 0)->path);
    struct buf head = {0}, old = {0};
    int rc = path && first ? 0 : err_nomem(e);

    *in_place = false;
    if (!rc && p->in_place) {
        rc = gguf_out_head(&head, &p->here, e);
        buf_put(&old, front(*g), head.n);
        if (!rc)
            rc = buf_ok(&old, e);
        gguf_close(*g);
        *g = NULL;
        if (!rc) {
            rc = write_here(first, old.p, &head, e);
            *in_place = rc == 0;
            rc = rc < 0 ? rc : 0;
        }
        if (!rc && !*in_place)
            rc = gguf_open(g, path, e) || unchanged(first, old.p, old.n, e) ? -1
                                                                            : 0;
    }
    if (!rc && !*in_place)
        rc = write_anew(p, *g, output, e);
    buf_free(&head);
    buf_free(&old);
    free(path);
    free(first);
    return rc;
}
