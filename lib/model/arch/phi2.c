/* SPDX-License-Identifier: MIT
 * Phi 1, 1.5 and 2: attention and network stand beside each other on the same
 * norm, all with biases; a part of each head is turned. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < b->p.nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);
        block_mlp(b, l, KERN_GELU, BE_N);
    }
    block_head(b, true);
}

const struct arch arch_phi2 = {"phi2", ARCH_LAYERNORM, build};
