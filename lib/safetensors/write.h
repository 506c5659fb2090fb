/* SPDX-License-Identifier: MIT
 * write.h - the front of a safetensors file.
 *
 *     struct safetensors_out o = {0};
 *     struct buf head = {0};
 *
 *     safetensors_put(&o, "model.norm.weight", SAFETENSORS_F32, 1, shape);
 *     if (safetensors_head(&head, &o, &e))
 *         ...
 *     write HEAD (base/newfile.h), then every tensor's bytes, in order and
 *     without gaps: o.data from before each safetensors_put() is where that
 *     tensor's bytes go, from the end of HEAD on
 *     safetensors_fini(&o);
 *
 * The head's length is a multiple of 8, and there is no padding between
 * tensors: those of the largest elements first keeps all of them aligned.
 * Out of memory, names that come twice and sizes that cannot be are remembered
 * and reported by safetensors_head(). */
#ifndef LLM_SAFETENSORS_WRITE_H
#define LLM_SAFETENSORS_WRITE_H

#include "base/buf.h"
#include "safetensors/safetensors.h"

struct json_t;

struct safetensors_out {
    struct json_t *json;
    uint64_t data; /* bytes of tensor data so far */
    struct err e;
};

void safetensors_fini(struct safetensors_out *o);

/* Append a tensor, slowest dimension first; its size in bytes, 0 too when it
 * cannot be. */
uint64_t safetensors_put(struct safetensors_out *o, const char *name,
                         enum safetensors_dtype dtype, int ndim,
                         const uint64_t *shape);

/* Everything before the data, appended to TO, with the metadata that loaders
 * ask for: {"format":"pt"}. */
int safetensors_head(struct buf *to, struct safetensors_out *o, struct err *e);

#endif
