/* SPDX-License-Identifier: MIT
 * Llama 1 to 3, and what is built like it: Mistral, Mixtral, SmolLM,
 * distilled DeepSeek-R1. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    struct params *p = &b->p;

    p->norm_experts = params_bool(b, "expert_weights_norm", true);
    p->ff_expert =
        params_int(b, "expert_feed_forward_length", p->layer[0].ff, 1, 1 << 24);
    params_windows(b, 0, 0);
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        if (p->experts)
            block_experts(b, l);
        else
            block_glu(b, l, KERN_SILU, BE_N, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_llama = {"llama", ARCH_PAIRS | ARCH_EXPERTS, build};
