/* SPDX-License-Identifier: MIT
 * Gemma 2: every other layer sees a window, scores and logits are capped, and
 * what a block gives is normed, too. */
#include <math.h>

#include "model/block.h"
#include "model/rope.h"

enum { LAYERS_27B = 46 };

static void build(struct build *b)
{
    struct params *p = &b->p;

    p->embed_scale = (float)sqrt(p->dim);
    /* Files do not say what Q is divided by: of the largest model it is not
     * the size of a head. */
    if (p->nlayer == LAYERS_27B && !params_has(b, "attention.scale"))
        p->attn_scale = (float)(1 / sqrt((double)p->dim / p->layer[0].heads));
    p->attn_softcap =
        (float)params_num(b, "attn_logit_softcapping", 50, 0, 1e6);
    p->softcap = (float)params_num(b, "final_logit_softcapping", 30, 0, 1e6);
    params_windows(b, 2, 4096);
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_TMP);
        block_norm(b, l, "post_attention_norm", BE_TMP, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_glu(b, l, KERN_GELU, BE_N, BE_TMP);
        block_norm(b, l, "post_ffw_norm", BE_TMP, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_gemma2 = {"gemma2", 0, build};
