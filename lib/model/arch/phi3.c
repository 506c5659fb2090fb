/* SPDX-License-Identifier: MIT
 * Phi 3, 3.5 and 4: one tensor for Q, K and V, and one for gate and up. */
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
        block_glu_fused(b, l, KERN_SILU);
    }
    block_head(b, false);
}

const struct arch arch_phi3 = {"phi3", 0, build};
