/* SPDX-License-Identifier: MIT
 * gguf.h - the GGUF container, mapped read-only.
 *
 * Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3.
 * gguf_open() walks the header once and checks every length, count, type,
 * offset and size against the file, so that whatever a getter returns lies
 * inside the map and may be read without further checks.  All strings are
 * views: N bytes of any value, not terminated; they live until gguf_close().
 */
#ifndef LLM_GGUF_GGUF_H
#define LLM_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/num.h"

/* Value types, by their number in the file. */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STR,
    GGUF_ARR,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_NTYPE
};

struct gguf_str {
    const char *p;
    size_t n;
};

/* One metadata value.  Scalar: P is its bytes (a string: its length prefix).
 * Array: ELEM and N say what follows at P, element after element; nested
 * arrays keep their own type and count prefixes. */
struct gguf_val {
    struct gguf_str key;
    enum gguf_type type;
    enum gguf_type elem; /* of an array */
    uint64_t n;          /* elements of an array; 1 for a scalar */
    const unsigned char *p;
    size_t bytes; /* at P */
};

/* ggml's tensor types: one line each.
 * X(name, id, elements per block, bytes per block) */
#define GGUF_TENSOR_TYPES(X)                                                   \
    X(F32, 0, 1, 4)                                                            \
    X(F16, 1, 1, 2)                                                            \
    X(Q4_0, 2, 32, 18)

enum { GGUF_MAX_DIMS = 4 };

struct gguf_tensor {
    struct gguf_str name;
    int ndim;
    uint64_t ne[GGUF_MAX_DIMS]; /* elements, fastest dimension first; 1 beyond
                                   ndim */
    uint32_t type;              /* ggml type id; always a known one */
    const unsigned char *p;     /* BYTES bytes of the shard's map */
    uint64_t bytes;
    uint64_t offset; /* as in the file: from the start of the data section */
    int shard;
};

struct gguf;

/* Open PATH, or every shard of a split file when PATH is any one of them.
 * On success *out owns the mappings until gguf_close().  Fails with ERR_IO,
 * ERR_FORMAT or ERR_UNSUPPORTED (big-endian, version, type id), and a text
 * that starts with the path. */
int gguf_open(struct gguf **out, const char *path, struct err *e);
void gguf_close(struct gguf *g);

const char *gguf_path(const struct gguf *g);

/* Keys in file order (the first shard's), and one by name: NULL if absent. */
size_t gguf_nkey(const struct gguf *g);
const struct gguf_val *gguf_key_at(const struct gguf *g, size_t i);
const struct gguf_val *gguf_key(const struct gguf *g, const char *name);

/* Typed look-up: 1 found, 0 absent (*out untouched), -1 of another type or
 * out of range (ERR_FORMAT naming the key).  get_int takes any integer type
 * or bool, get_float any float or integer. */
int gguf_get_str(struct gguf_str *out, const struct gguf *g, const char *key,
                 struct err *e);
int gguf_get_int(int64_t *out, const struct gguf *g, const char *key,
                 int64_t min, int64_t max, struct err *e);
int gguf_get_bool(bool *out, const struct gguf *g, const char *key,
                  struct err *e);
int gguf_get_float(double *out, const struct gguf *g, const char *key,
                   struct err *e);
/* An array whose element type is ELEM (strict) and whose count is in
 * MIN..MAX; same results. */
int gguf_get_arr(const struct gguf_val **out, const struct gguf *g,
                 const char *key, enum gguf_type elem, uint64_t min,
                 uint64_t max, struct err *e);

/* Tensors in file order, shard after shard, and one by name. */
size_t gguf_ntensor(const struct gguf *g);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i);
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);

/* Walk an array of strings: *p starts at val->p and moves past one string. */
static inline struct gguf_str gguf_str_next(const unsigned char **p)
{
    struct gguf_str s = {(const char *)*p + 8, (size_t)rd_u64(*p)};

    *p += 8 + s.n;
    return s;
}

/* Identity of the model (DESIGN section 3): XXH3-128 over metadata, tensor
 * table and 4 KiB of every tensor, as 32 hex digits and a NUL; and over the
 * tokenizer.* values alone, whatever the file they stand in. */
void gguf_model_id(char hex[33], const struct gguf *g);
void gguf_vocab_id(char hex[33], const struct gguf *g);

#endif
