/* SPDX-License-Identifier: MIT
 *
 * The files are written under temporary names, all of them, and looked at as
 * one model.  Then they get their names, the first one last: without it no
 * other is read, so what is there while they are renamed, or when that is cut
 * short, does not look whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/newfile.h"
#include "cmd/common/cleanup.h"
#include "cmd/common/progress.h"
#include "cmd/split/split.h"

enum { STEP = 64 << 20 };

struct copy {
    const struct parts *p;
    struct gguf_file **file;
    int fd, shard; /* that is open; -1 */
    uint64_t done;
};

static int check_names(const struct parts *p, bool force, struct err *e)
{
    struct stat st;

    for (size_t i = 0; i < p->n && !force; i++)
        if (!lstat(p->v[i].path, &st))
            return err_set(e, ERR_IO, "%s: %s (--force replaces it)",
                           p->v[i].path, strerror(EEXIST));
    return newfile_room(p->v[0].path, p->bytes, e);
}

static int copy_tensor(struct copy *c, struct gguf_file *f, uint64_t at,
                       const struct gguf_tensor *t, struct err *e)
{
    const struct gguf_shard *s = gguf_shard_at(c->p->g, t->shard);
    uint64_t from = s->data + t->offset, n = t->bytes;

    if (c->shard != t->shard) {
        if (c->fd >= 0)
            close(c->fd);
        c->shard = t->shard;
        c->fd = open(s->path, O_RDONLY | O_CLOEXEC);
        if (c->fd < 0)
            return err_set(e, ERR_IO, "%s: %s", s->path, strerror(errno));
    }
    while (n) {
        uint64_t some = n < STEP ? n : STEP;

        if (gguf_file_copy(f, at, c->fd, s->path, from, some, e))
            return -1;
        at += some;
        from += some;
        n -= some;
        c->done += some;
        progress_part((double)c->done / (double)c->p->bytes);
    }
    return 0;
}

static int write_part(struct copy *c, size_t i, struct err *e)
{
    const struct part *v = &c->p->v[i];
    struct gguf_file *f;
    struct gguf_out o;
    uint64_t at = 0;
    int rc;

    if (cleanup_open(&c->file[i], v->path, e))
        return -1;
    f = c->file[i];
    parts_front(&o, c->p, i);
    rc = gguf_file_head(f, &o, e);
    for (size_t k = 0; !rc && k < v->n; k++) {
        const struct gguf_tensor *t = gguf_tensor_at(c->p->g, v->first + k);

        rc = copy_tensor(c, f, at, t, e);
        at += t->bytes + gguf_out_pad(&o, t->bytes);
    }
    gguf_out_fini(&o);
    return rc ? rc : gguf_file_sync(f, e);
}

/* Together they are the model that they were made of. */
static int check(const struct copy *c, struct err *e)
{
    size_t n = c->p->n;
    struct map *map = calloc(n, sizeof *map);
    struct gguf_str *file = calloc(n, sizeof *file);
    struct gguf *g = NULL;
    char was[33], is[33];
    int rc = map && file ? 0 : err_nomem(e);

    for (size_t i = 0; !rc && i < n; i++) {
        rc = map_open(&map[i], gguf_file_temporary(c->file[i]), e);
        file[i] = (struct gguf_str){(const char *)map[i].p, map[i].n};
    }
    if (!rc)
        rc = gguf_open_memory(&g, c->p->v[0].path, file, (int)n, e);
    if (!rc) {
        gguf_model_id(was, c->p->g);
        gguf_model_id(is, g);
        if (strcmp(was, is))
            rc = err_set(e, ERR_IO, "%s: it changed while it was copied",
                         gguf_path(c->p->g));
    }
    gguf_close(g);
    for (size_t i = 0; map && i < n; i++)
        map_close(&map[i]);
    free(map);
    free(file);
    return rc;
}

static int name_all(struct copy *c, struct err *e)
{
    sigset_t was;
    int rc = 0;

    cleanup_block(&was);
    /* What had these names ends to be whole first. */
    if (c->p->n > 1 && unlink(c->p->v[0].path) && errno != ENOENT)
        rc = err_set(e, ERR_IO, "%s: %s", c->p->v[0].path, strerror(errno));
    for (size_t i = c->p->n; !rc && i-- > 0;) {
        rc = cleanup_close(c->file[i], e);
        if (!rc)
            c->file[i] = NULL;
    }
    cleanup_unblock(&was);
    return rc;
}

int parts_write(const struct parts *p, bool force, struct err *e)
{
    struct copy c = {.p = p, .fd = -1, .shard = -1};
    int rc = check_names(p, force, e);

    if (!rc && !(c.file = calloc(p->n, sizeof *c.file)))
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < p->n; i++)
        rc = write_part(&c, i, e);
    progress_clear();
    if (!rc)
        rc = check(&c, e);
    if (!rc)
        rc = name_all(&c, e);
    for (size_t i = 0; c.file && i < p->n; i++)
        cleanup_abandon(c.file[i]);
    if (c.fd >= 0)
        close(c.fd);
    free(c.file);
    return rc;
}
