/* SPDX-License-Identifier: MIT
 * OLMo 2 and 3: norms stand behind blocks, not before them, and Q and K are
 * normed whole.  In OLMo 3 three of four layers see a window, without the
 * scaling of rope. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    params_windows(b, 4, 0);
    rope_read(b, 10000, 0, false);

    block_embed(b);
    for (int l = 0; l < b->p.nlayer; l++) {
        block_qkv(b, l, BE_X);
        block_qk_norm(b, l, BLOCK_ALL_HEADS);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_TMP);
        block_norm(b, l, "post_attention_norm", BE_TMP, BE_X);

        block_glu(b, l, KERN_SILU, BE_X, BE_TMP);
        block_norm(b, l, "post_ffw_norm", BE_TMP, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_olmo2 = {"olmo2", 0, build};
