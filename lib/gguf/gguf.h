/* SPDX-License-Identifier: MIT
 * gguf.h - the GGUF container, mapped read-only.
 *
 * Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3.
 *
 *     struct gguf *g;
 *     struct err e = {0};
 *     struct gguf_str arch;
 *
 *     if (gguf_open(&g, "m.gguf", &e) ||
 *         gguf_get_str(&arch, g, "general.architecture", &e) <= 0)
 *         ...
 *     gguf_close(g);
 *
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

/* ggml's tensor types: one line each.  The ids left out were removed from the
 * format or never used.  X(name, id, elements per block, bytes per block) */
#define GGUF_TENSOR_TYPES(X)                                                   \
    X(F32, 0, 1, 4)                                                            \
    X(F16, 1, 1, 2)                                                            \
    X(Q4_0, 2, 32, 18)                                                         \
    X(Q4_1, 3, 32, 20)                                                         \
    X(Q5_0, 6, 32, 22)                                                         \
    X(Q5_1, 7, 32, 24)                                                         \
    X(Q8_0, 8, 32, 34)                                                         \
    X(Q8_1, 9, 32, 36)                                                         \
    X(Q2_K, 10, 256, 84)                                                       \
    X(Q3_K, 11, 256, 110)                                                      \
    X(Q4_K, 12, 256, 144)                                                      \
    X(Q5_K, 13, 256, 176)                                                      \
    X(Q6_K, 14, 256, 210)                                                      \
    X(Q8_K, 15, 256, 292)                                                      \
    X(IQ2_XXS, 16, 256, 66)                                                    \
    X(IQ2_XS, 17, 256, 74)                                                     \
    X(IQ3_XXS, 18, 256, 98)                                                    \
    X(IQ1_S, 19, 256, 50)                                                      \
    X(IQ4_NL, 20, 32, 18)                                                      \
    X(IQ3_S, 21, 256, 110)                                                     \
    X(IQ2_S, 22, 256, 82)                                                      \
    X(IQ4_XS, 23, 256, 136)                                                    \
    X(I8, 24, 1, 1)                                                            \
    X(I16, 25, 1, 2)                                                           \
    X(I32, 26, 1, 4)                                                           \
    X(I64, 27, 1, 8)                                                           \
    X(F64, 28, 1, 8)                                                           \
    X(IQ1_M, 29, 256, 56)                                                      \
    X(BF16, 30, 1, 2)                                                          \
    X(TQ1_0, 34, 256, 54)                                                      \
    X(TQ2_0, 35, 256, 66)                                                      \
    X(MXFP4, 39, 32, 17)                                                       \
    X(NVFP4, 40, 64, 36)                                                       \
    X(Q1_0, 41, 128, 18)                                                       \
    X(Q2_0, 42, 64, 18)

/* GGUF_T_Q4_K and so on. */
enum gguf_ttype {
#define GGUF_T(name, id, elems, bytes) GGUF_T_##name = id,
    GGUF_TENSOR_TYPES(GGUF_T)
#undef GGUF_T
};

struct gguf_type_info {
    const char *name; /* "Q4_K" */
    uint32_t id;
    uint32_t elems, bytes; /* per block */
};

/* A type by its id or by its name, in either case; NULL if there is none. */
const struct gguf_type_info *gguf_type_info(uint32_t id);
const struct gguf_type_info *gguf_type_by_name(const char *name);

/* A value type's name ("u32", "str", "arr") and its size (0: str and arr). */
const char *gguf_val_name(enum gguf_type type);
size_t gguf_val_size(enum gguf_type type);

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

/* One file of the model: there is one unless the model is split. */
struct gguf_shard {
    const char *path;
    uint64_t bytes;
    uint32_t version, alignment;
    uint64_t data; /* where the data section starts */
    size_t nkey, ntensor;
    size_t first; /* index of its first tensor */
};

/* What the reader refuses although the format allows it (ERR_UNSUPPORTED). */
enum {
    GGUF_MAX_KEYS = 1 << 16,
    GGUF_MAX_TENSORS = 1 << 20,
    GGUF_MAX_DEPTH = 8
};

/* Open PATH, or every shard of a split file when PATH is any one of them.
 * On success *out owns the mappings until gguf_close().  Fails with ERR_IO,
 * ERR_FORMAT or ERR_UNSUPPORTED (big-endian, version, type id), and a text
 * that starts with the path. */
int gguf_open(struct gguf **out, const char *path, struct err *e);
void gguf_close(struct gguf *g);

/* The same over N files already in memory, in order; NAME stands for the path
 * in messages.  The bytes are the caller's and must outlive *out. */
int gguf_open_memory(struct gguf **out, const char *name,
                     const struct gguf_str *file, int n, struct err *e);

/* G with other tensors in place of N of its own: of the same names and shapes,
 * of type TYPE and with the bytes P, which are the caller's.  They, and G, must
 * outlive *out. */
struct gguf_instead {
    size_t tensor; /* index */
    uint32_t type;
    const unsigned char *p;
};
int gguf_open_view(struct gguf **out, const struct gguf *g,
                   const struct gguf_instead *other, size_t n, struct err *e);

/* The path as it was given to gguf_open(). */
const char *gguf_path(const struct gguf *g);
/* Is G of files, mapped, so that pages that left memory come back?  Bytes given
 * to gguf_open_memory() would not. */
bool gguf_mapped(const struct gguf *g);

int gguf_nshard(const struct gguf *g);
const struct gguf_shard *gguf_shard_at(const struct gguf *g, int i);

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

/* A scalar as an integer (any integer type or bool) or as a number (any float
 * too), and an array's element I likewise (not strings or arrays); false when
 * it is of another type or, for integers, outside int64_t. */
bool gguf_val_int(int64_t *out, const struct gguf_val *v);
bool gguf_val_float(double *out, const struct gguf_val *v);
bool gguf_elem_int(int64_t *out, const struct gguf_val *v, uint64_t i);
bool gguf_elem_float(double *out, const struct gguf_val *v, uint64_t i);

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

/* Identities, as 32 hex digits and a NUL: XXH3-128 of
 * - the model: all metadata, the tensor table and the first 4 KiB of every
 *   tensor, whatever the order, the split, the version and the alignment;
 * - the vocabulary: those tokenizer.ggml.* values that decide which ids a text
 *   becomes and which bytes an id stands for.  Left out are the choices that
 *   conversions of one vocabulary make differently: *_token_id(s) other than
 *   unknown_token_id, the add_{bos,eos,sep}_token switches, suppress_tokens
 *   and chat templates. */
void gguf_model_id(char hex[33], const struct gguf *g);
void gguf_vocab_id(char hex[33], const struct gguf *g);

/* Is KEY about the file and not the model, so that no identity knows it:
 * split.*, general.alignment, GGUF_PADDING? */
bool gguf_layout_key(struct gguf_str key);

/* An array of zeros: room for keys to grow without moving the tensors. */
#define GGUF_PADDING "general.padding"

#endif
