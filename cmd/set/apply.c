/* SPDX-License-Identifier: MIT
 *
 * The keys are written: where they stand, or into a file of their own. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

static int write_anew(const struct layout *p, const struct gguf *g,
                      const char *output, struct err *e)
{
    struct gguf_file *f = NULL;

    if (newfile_room(output, p->size, e) || cleanup_open(&f, output, e))
        return -1;
    if (gguf_file_head(f, &p->out, e) || copy_data(f, g, p, e) ||
        check_copy(g, gguf_file_temporary(f), e) || cleanup_close(f, e)) {
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
        buf_put(&old, (const unsigned char *)gguf_key_at(*g, 0)->key.p - 8 - 24,
                head.n);
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
            rc = gguf_open(g, path, e);
    }
    if (!rc && !*in_place)
        rc = write_anew(p, *g, output ? output : first, e);
    buf_free(&head);
    buf_free(&old);
    free(path);
    free(first);
    return rc;
}
