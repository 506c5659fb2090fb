/* SPDX-License-Identifier: MIT
 * StarCoder 2: norms with mean and bias, a network without a gate, biases
 * everywhere. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    params_windows(b, 0, 0);
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < b->p.nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_mlp(b, l, KERN_GELU, BE_N);
    }
    block_head(b, false);
}

const struct arch arch_starcoder2 = {"starcoder2", ARCH_LAYERNORM, build};
