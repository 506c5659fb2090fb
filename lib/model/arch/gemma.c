/* SPDX-License-Identifier: MIT
 * Gemma: embeddings grow by sqrt(dim), and the network has a GELU.  Files have
 * 1 added to the weights of norms already. */
#include <math.h>

#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    b->p.embed_scale = (float)sqrt(b->p.dim);
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < b->p.nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_glu(b, l, KERN_GELU, BE_N, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_gemma = {"gemma", 0, build};
