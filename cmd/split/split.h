/* SPDX-License-Identifier: MIT
 * split.h - the parts of gguf-split. */
#ifndef LLM_CMD_SPLIT_H
#define LLM_CMD_SPLIT_H

#include "cmd/common/cli.h"
#include "gguf/write.h"

enum { SPLIT_MAX = 9999 };

/* A file to be written: N of the model's tensors, from FIRST on. */
struct part {
    size_t first, n;
    uint64_t bytes; /* of the file */
    char *path;
};

struct parts {
    const struct gguf *g;
    struct part *v;
    size_t n;
    bool merged; /* one file, that is no part of anything */
    uint64_t bytes;
};

/* As few files as can be, in the tensors' order, each of at most MAX_BYTES and
 * MAX_TENSORS; a tensor that is larger than that has a file of its own. */
int parts_split(struct parts *p, const struct gguf *g, const char *prefix,
                uint64_t max_bytes, uint64_t max_tensors, struct err *e);
/* All of G in the file PATH. */
int parts_merge(struct parts *p, const struct gguf *g, const char *path,
                struct err *e);
void parts_fini(struct parts *p);

/* Keys and tensor table of file I. */
void parts_front(struct gguf_out *o, const struct parts *p, size_t i);

/* Write them all.  ERR_IO where one is there already, unless FORCE. */
int parts_write(const struct parts *p, bool force, struct err *e);

#endif
