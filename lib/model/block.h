/* SPDX-License-Identifier: MIT
 * block.h - the parts that models are made of: weights bound, operations
 * appended.
 *
 * X is the residual stream and N its norm.  What a block gives is added to X,
 * or, where TO is BE_TMP, left there for a norm of its own. */
#ifndef LLM_MODEL_BLOCK_H
#define LLM_MODEL_BLOCK_H

#include "model/arch.h"

/* X = the token's embedding. */
void block_embed(struct build *b);
/* X += that of the position, one for each that the model was made for; and
 * that of the token's type, if there are any. */
void block_positions(struct build *b);
void block_types(struct build *b);
/* TO = norm(FROM), or, when TO is X, X += norm(FROM).  LAYER below 0: none. */
void block_norm(struct build *b, int layer, const char *name, enum be_slot from,
                enum be_slot to);
/* X = norm(X), where norms stand behind the sums. */
void block_norm_stream(struct build *b, int layer, const char *name);

/* Attention in its steps: Q, K and V of FROM (one matrix for each, or one for
 * all); norms of Q and K, of each head or of all at once; rotation; scores and
 * values, into ATT; the last product. */
void block_qkv(struct build *b, int layer, enum be_slot from);
enum { BLOCK_EACH_HEAD, BLOCK_ALL_HEADS };
void block_qk_norm(struct build *b, int layer, int how);
void block_rope(struct build *b, int layer);
void block_attend(struct build *b, int layer);
void block_attn_out(struct build *b, int layer, enum be_slot to);

/* Feed-forward networks: act(gate) * up, then down; the same with gate and up
 * in one tensor; act(up) of FROM, then down; and experts. */
void block_glu(struct build *b, int layer, enum kern_unary act,
               enum be_slot from, enum be_slot to);
void block_glu_fused(struct build *b, int layer, enum kern_unary act);
void block_mlp(struct build *b, int layer, enum kern_unary act,
               enum be_slot from);
void block_experts(struct build *b, int layer);
/* The expert that is always used, times a gate of its own. */
void block_shared_expert(struct build *b, int layer);

/* The last norm, and logits; the embedding serves when there is no output.
 * When embeddings are wanted, the norm is the result. */
void block_head(struct build *b, bool bias);
/* The result is slot FROM. */
void block_result(struct build *b, enum be_slot from);

#endif
