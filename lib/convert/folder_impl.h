/* SPDX-License-Identifier: MIT
 * folder_impl.h - a GGUF while it is understood as a folder. */
#ifndef LLM_CONVERT_FOLDER_IMPL_H
#define LLM_CONVERT_FOLDER_IMPL_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "convert/folder.h"
#include "quantize/quantize.h"

struct folder {
    const struct gguf *g;
    struct folder_want want;
    const struct convert_model *m;
    struct quantize q;
    int64_t size[128];  /* by letter */
    bool *key, *tensor; /* of G: used */
    uint32_t main;      /* the type of most matrices */
    const char *prefix; /* of the body's names */
    size_t nprefix;
    struct buf tensors; /* struct folder_tensor */
    struct buf files;   /* struct folder_file */
    uint64_t bytes;
    json_t *config;
    bool nomem; /* while CONFIG was made */
    struct arena mem;
};

static inline int64_t folder_size(const struct folder *f, char letter)
{
    return f->size[(unsigned char)letter & 127];
}

/* "<architecture>.NAME"; NULL: not there.  It is then used. */
const struct gguf_val *folder_key(struct folder *f, const char *name);
/* 1 found, 0 absent, -1 of another type or out of range. */
int folder_int(int64_t *v, struct folder *f, const char *name, struct err *e);
int folder_num(double *v, struct folder *f, const char *name, struct err *e);
/* A tensor by name, which is then used. */
const struct gguf_tensor *folder_find(struct folder *f, const char *name);

/* A member of config.json; V may be NULL, when memory ran out. */
void folder_set(struct folder *f, const char *name, json_t *v);
/* The number that stands in config.json for a float of the GGUF. */
double folder_shortest(double v);

/* config.json: rope, windows, then all. */
int folder_rope(struct folder *f, struct err *e);
int folder_windows(struct folder *f, struct err *e);
int folder_values(struct folder *f, struct err *e);

#endif
