/* SPDX-License-Identifier: MIT
 * SmolLM 3: Llama, of whose layers every fourth knows no positions. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    struct params *p = &b->p;

    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
        if (l % 4 == 3)
            p->layer[l].rope = -1;
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_glu(b, l, KERN_SILU, BE_N, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_smollm3 = {"smollm3", ARCH_PAIRS, build};
