/* SPDX-License-Identifier: MIT
 * Gemma 3: five of six layers see a window, with a rope base of their own and
 * none of its scaling; heads of Q and K are normed. */
#include <math.h>

#include "model/arch/gemma3.h"
#include "model/block.h"
#include "model/rope.h"

enum { LAYERS_27B = 62 };

void gemma3_build(struct build *b)
{
    struct params *p = &b->p;

    p->embed_scale = (float)sqrt(p->dim);
    /* Files do not say what Q is divided by: of the largest model it is not
     * the size of a head. */
    if (p->nlayer == LAYERS_27B && !params_has(b, "attention.scale"))
        p->attn_scale = (float)(1 / sqrt((double)p->dim / p->layer[0].heads));
    p->softcap = (float)params_num(b, "final_logit_softcapping", 0, 0, 1e6);
    params_windows(b, 6, 0);
    rope_read(b, 1e6, 10000, false);

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_qk_norm(b, l, BLOCK_EACH_HEAD);
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

const struct arch arch_gemma3 = {"gemma3", 0, gemma3_build};
