/* SPDX-License-Identifier: MIT */
#include "gguf/write_file.h"

#include <stdlib.h>

#include "base/newfile.h"

struct gguf_file {
    struct newfile *file;
    uint64_t data; /* where the data starts */
};

int gguf_file_open(struct gguf_file **out, const char *path, struct err *e)
{
    struct gguf_file *f = calloc(1, sizeof *f);

    *out = NULL;
    if (!f)
        return err_nomem(e);
    if (newfile_open(&f->file, path, e)) {
        free(f);
        return -1;
    }
    *out = f;
    return 0;
}

const char *gguf_file_temporary(const struct gguf_file *f)
{
    return newfile_temporary(f->file);
}

int gguf_file_head(struct gguf_file *f, const struct gguf_out *o, struct err *e)
{
    struct buf head = {0};
    int rc = gguf_out_head(&head, o, e);

    if (!rc)
        rc = newfile_put(f->file, 0, head.p, head.n, e);
    f->data = head.n;
    /* Neither is above INT64_MAX. */
    if (!rc)
        rc = newfile_size(f->file, f->data + o->data, e);
    buf_free(&head);
    return rc;
}

int gguf_file_put(struct gguf_file *f, uint64_t at, const void *p, size_t n,
                  struct err *e)
{
    return newfile_put(f->file, f->data + at, p, n, e);
}

int gguf_file_copy(struct gguf_file *f, uint64_t at, int fd, const char *name,
                   uint64_t from, uint64_t n, struct err *e)
{
    return newfile_copy(f->file, f->data + at, fd, name, from, n, e);
}

int gguf_file_sync(struct gguf_file *f, struct err *e)
{
    return newfile_sync(f->file, e);
}

int gguf_file_close(struct gguf_file *f, struct err *e)
{
    if (newfile_close(f->file, e))
        return -1;
    free(f);
    return 0;
}

void gguf_file_abandon(struct gguf_file *f)
{
    if (!f)
        return;
    newfile_abandon(f->file);
    free(f);
}
