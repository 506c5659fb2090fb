/* SPDX-License-Identifier: MIT
 * config.h - what the metadata says about the model, as plain numbers.
 *
 * For people and for planning memory, over every architecture alike; the
 * model code reads and checks its own hyperparameters.  A key that is absent
 * leaves 0. */
#ifndef LLM_GGUF_CONFIG_H
#define LLM_GGUF_CONFIG_H

#include "gguf/gguf.h"

enum { GGUF_MAX_LAYERS = 4096 };

struct gguf_layer {
    int64_t heads, kv_heads;
    int64_t k_len, v_len; /* per KV head; v_len 0 when V is a part of K */
    int64_t window;       /* positions kept; 0 for all */
    bool kv;              /* keeps K and V of its own */
    bool state;           /* recurrent: keeps a state of one size */
};

struct gguf_config {
    struct gguf_str arch, name, size_label;
    uint64_t params, bytes; /* of all tensors */
    int64_t layers, context, embedding, ff_min, ff_max;
    int64_t tokens, rows; /* named tokens; rows of the embedding */
    int64_t experts, experts_used, experts_shared;
    int64_t lora_rank; /* of K and V: MLA */
    int64_t window;
    int64_t rope_dims;
    double rope_base, rope_factor;
    struct gguf_str rope_scaling;
    bool causal;
    int64_t state_bytes; /* of each recurrent layer, for one sequence */
    struct gguf_layer *layer;
};

/* Fill *C from G; ERR_FORMAT when a key is there but cannot be right (*C then
 * holds what was read before).  gguf_config_fini() in both cases. */
int gguf_config_init(struct gguf_config *c, const struct gguf *g,
                     struct err *e);
void gguf_config_fini(struct gguf_config *c);

/* Bytes that K, V and recurrent state of one sequence of CONTEXT positions
 * take, with K and V in types KT and VT; false when that overflows. */
bool gguf_kv_bytes(uint64_t *kv, uint64_t *state, const struct gguf_config *c,
                   int64_t context, const struct gguf_type_info *kt,
                   const struct gguf_type_info *vt);

#endif
