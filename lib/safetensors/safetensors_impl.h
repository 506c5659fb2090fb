/* SPDX-License-Identifier: MIT
 * safetensors_impl.h - what the reader's files share. */
#ifndef LLM_SAFETENSORS_SAFETENSORS_IMPL_H
#define LLM_SAFETENSORS_SAFETENSORS_IMPL_H

#include <jansson.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "safetensors/safetensors.h"

struct safetensors {
    struct arena mem; /* names and paths */
    struct buf t;     /* struct safetensors_tensor */
    struct buf maps;  /* struct map */
};

struct safetensors_file {
    const char *path;
    const unsigned char *start, *data; /* the latter NDATA bytes */
    size_t ndata;
};

/* P[N] as a JSON object. */
json_t *safetensors_json(const char *path, const void *p, size_t n,
                         struct err *e);
/* Append the tensors of the file P[N]; PATH must live as long as S. */
int safetensors_read(struct safetensors *s, const char *path,
                     const unsigned char *p, size_t n, struct err *e);

#endif
