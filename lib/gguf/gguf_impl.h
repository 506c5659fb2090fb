/* SPDX-License-Identifier: MIT
 * gguf_impl.h - what the reader's files share. */
#ifndef LLM_GGUF_GGUF_IMPL_H
#define LLM_GGUF_GGUF_IMPL_H

#include "gguf/gguf.h"

/* A shard: its file, and its keys in file order and by name. */
struct shard {
    struct gguf_shard pub;
    struct map map;
    bool mapped; /* MAP is ours to close */
    char *path;
    struct gguf_val *key;
    const struct gguf_val **by_name;
};

struct gguf {
    char *path;
    struct shard *shard;
    int nshard;
    struct gguf_tensor *tensor;
    const struct gguf_tensor **by_name;
    size_t ntensor;
    bool view; /* what shards hold is another's */
};

/* For "%.*s": a name from a file, no more of it than a line should hold. */
#define GGUF_NAME(s) ((s).n > 80 ? 80 : (int)(s).n), (s).p

/* Parse S's mapped file, check all of it, and append its tensors to G's, as
 * those of shard number I. */
int gguf_read_shard(struct gguf *g, struct shard *s, int i, struct err *e);

/* Set T's size from its type and dimensions, or say why it can have none. */
int gguf_size_tensor(struct gguf_tensor *t, struct err *e);

/* Order G's tensors by name; none may stand twice. */
int gguf_index_tensors(struct gguf *g, struct err *e);

/* Order names as bytes. */
int gguf_str_cmp(struct gguf_str a, struct gguf_str b);

const struct gguf_val *gguf_shard_key(const struct shard *s, const char *name);

#endif
