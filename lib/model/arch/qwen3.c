/* SPDX-License-Identifier: MIT
 * Qwen 3: each head of Q and K is normed. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < b->p.nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_qk_norm(b, l, BLOCK_EACH_HEAD);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_glu(b, l, KERN_SILU, BE_N, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_qwen3 = {"qwen3", 0, build};
