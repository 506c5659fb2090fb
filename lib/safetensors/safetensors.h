/* SPDX-License-Identifier: MIT
 * safetensors.h - tensors as Hugging Face keeps them, mapped read-only.
 *
 * Format: github.com/huggingface/safetensors: 8 bytes, little-endian, the
 * length of a JSON object; the object, name to dtype, shape and data_offsets
 * (from its end on); the data.  Several files are one model when
 * model.safetensors.index.json says which tensor is where.
 *
 *     struct safetensors *s;
 *     const struct safetensors_tensor *t;
 *
 *     if (safetensors_open(&s, "dir-or-file", &e))
 *         ...
 *     t = safetensors_find(s, "model.norm.weight");
 *     safetensors_close(s);
 *
 * safetensors_open() checks everything: offsets that overlap, leave holes or
 * the file, sizes that are not those of shape and dtype, names that come twice,
 * shards that are missing, and that the index and the shards name the same
 * tensors.  What a getter returns may be read as it is. */
#ifndef LLM_SAFETENSORS_SAFETENSORS_H
#define LLM_SAFETENSORS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* X(name in the file, bytes of an element) */
#define SAFETENSORS_DTYPES(X)                                                  \
    X(BOOL, 1)                                                                 \
    X(U8, 1)                                                                   \
    X(I8, 1)                                                                   \
    X(F8_E4M3, 1)                                                              \
    X(F8_E5M2, 1)                                                              \
    X(U16, 2)                                                                  \
    X(I16, 2)                                                                  \
    X(F16, 2)                                                                  \
    X(BF16, 2)                                                                 \
    X(U32, 4)                                                                  \
    X(I32, 4)                                                                  \
    X(F32, 4)                                                                  \
    X(U64, 8)                                                                  \
    X(I64, 8)                                                                  \
    X(F64, 8)

enum safetensors_dtype {
#define SAFETENSORS_ENUM(name, bytes) SAFETENSORS_##name,
    SAFETENSORS_DTYPES(SAFETENSORS_ENUM)
#undef SAFETENSORS_ENUM
        SAFETENSORS_NDTYPE
};

/* What the reader refuses although the format allows it (ERR_UNSUPPORTED). */
enum {
    SAFETENSORS_MAX_DIMS = 8,
    SAFETENSORS_MAX_TENSORS = 1 << 20,
    SAFETENSORS_MAX_SHARDS = 4096
};
/* A header may be as long as the format's own reader allows. */
enum { SAFETENSORS_MAX_HEADER = 100000000 };

struct safetensors_tensor {
    const char *name;
    enum safetensors_dtype dtype;
    int ndim;                             /* 0: one element */
    uint64_t shape[SAFETENSORS_MAX_DIMS]; /* slowest dimension first */
    uint64_t n;                           /* elements */
    const unsigned char *p;               /* BYTES, little-endian, unaligned */
    uint64_t bytes;
    const char *path; /* the file that it is in: one pointer for each file */
    uint64_t offset;  /* of P in it */
};

struct safetensors;

/* PATH: a file, an index (its name ends in .json), or a folder with one of
 * model.safetensors.index.json, model.safetensors, adapter_model.safetensors
 * (in this order).  Shards lie beside their index.  ERR_IO, ERR_FORMAT or
 * ERR_UNSUPPORTED (a dtype that is not above), and a text that starts with the
 * file's path. */
int safetensors_open(struct safetensors **out, const char *path, struct err *e);
/* The same over a file in memory; NAME stands for its path.  The bytes are the
 * caller's and must outlive *OUT. */
int safetensors_open_memory(struct safetensors **out, const char *name,
                            const void *p, size_t n, struct err *e);
void safetensors_close(struct safetensors *s);

/* Tensors by name, in the order of their names. */
size_t safetensors_n(const struct safetensors *s);
const struct safetensors_tensor *safetensors_at(const struct safetensors *s,
                                                size_t i);
const struct safetensors_tensor *safetensors_find(const struct safetensors *s,
                                                  const char *name);

const char *safetensors_dtype_name(enum safetensors_dtype d);
size_t safetensors_dtype_size(enum safetensors_dtype d);

/* Pages of T that were read need not stay in memory. */
void safetensors_forget(const struct safetensors_tensor *t);

#endif
