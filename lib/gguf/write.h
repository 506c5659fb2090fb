/* SPDX-License-Identifier: MIT
 * write.h - the front of a GGUF file: header, keys, tensor table.
 *
 *     struct gguf_out o;
 *     struct buf head = {0};
 *
 *     gguf_out_init(&o, 32);
 *     gguf_put_str(&o, "general.architecture", (struct gguf_str){"llama", 5});
 *     gguf_put_tensor(&o, name, GGUF_T_Q4_K, 2, ne);
 *     if (gguf_out_head(&head, &o, &e))
 *         ...
 *     write HEAD; then every tensor's bytes, in order, each followed by
 *     gguf_out_pad(&o, bytes) zeros
 *     gguf_out_fini(&o);
 *
 * Out of memory, and tensors that cannot be, are remembered and reported by
 * gguf_out_head(). */
#ifndef LLM_GGUF_WRITE_H
#define LLM_GGUF_WRITE_H

#include "base/buf.h"
#include "gguf/gguf.h"

struct gguf_out {
    struct buf keys, tensors; /* as they will stand in the file */
    uint64_t nkey, ntensor;
    uint64_t data; /* bytes of tensor data so far, padded */
    uint32_t alignment;
    struct err e;
};

/* ALIGNMENT: a power of two of at least 8.  32 is the format's default; any
 * other adds the key general.alignment. */
void gguf_out_init(struct gguf_out *o, uint32_t alignment);
void gguf_out_fini(struct gguf_out *o);

/* A key under its own name, as read from another file. */
void gguf_put_val(struct gguf_out *o, const struct gguf_val *v);
void gguf_put_str(struct gguf_out *o, const char *key, struct gguf_str s);
/* TYPE is an integer type or bool, and I in its range. */
void gguf_put_int(struct gguf_out *o, const char *key, enum gguf_type type,
                  int64_t i);
void gguf_put_float(struct gguf_out *o, const char *key, enum gguf_type type,
                    double d);
/* N elements that stand at P as the file has them. */
void gguf_put_arr(struct gguf_out *o, const char *key, enum gguf_type elem,
                  uint64_t n, const void *p, size_t bytes);

/* Append a tensor to the table; its size in bytes, 0 when it cannot be. */
uint64_t gguf_put_tensor(struct gguf_out *o, struct gguf_str name,
                         uint32_t type, int ndim, const uint64_t *ne);

/* Everything before the data, padded, appended to TO. */
int gguf_out_head(struct buf *to, const struct gguf_out *o, struct err *e);

/* Zeros that must follow a tensor of BYTES. */
size_t gguf_out_pad(const struct gguf_out *o, uint64_t bytes);

#endif
