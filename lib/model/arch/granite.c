/* SPDX-License-Identifier: MIT
 * Granite 3: Llama with a multiplier for embeddings, residuals, scores and
 * logits. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    struct params *p = &b->p;

    p->embed_scale = (float)params_num(b, "embedding_scale", 1, 1e-6, 1e6);
    p->residual_scale = (float)params_num(b, "residual_scale", 1, 1e-6, 1e6);
    p->logit_scale =
        (float)(1 / params_num(b, "logit_scale", PARAMS_REQUIRED, 1e-6, 1e6));
    rope_read(b, 10000, 0, true);
    /* This is how files say that positions are not used. */
    for (int l = 0; l < p->nlayer; l++)
        if (!params_bool(b, "rope.scaling.finetuned", true))
            p->layer[l].rope = -1;

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
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

const struct arch arch_granite = {"granite", ARCH_PAIRS, build};
