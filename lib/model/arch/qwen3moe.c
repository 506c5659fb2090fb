/* SPDX-License-Identifier: MIT
 * Qwen 3 with experts. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    struct params *p = &b->p;

    if (!p->experts)
        arch_fail(b, ERR_FORMAT, "key 'qwen3moe.expert_count' must be above 0");
    p->ff_expert = params_int(b, "expert_feed_forward_length", PARAMS_REQUIRED,
                              1, 1 << 24);
    p->norm_experts = params_bool(b, "expert_weights_norm", true);
    rope_read(b, 10000, 0, true);

    block_embed(b);
    for (int l = 0; l < p->nlayer; l++) {
        block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, BE_N);
        block_qk_norm(b, l, BLOCK_EACH_HEAD);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_experts(b, l);
    }
    block_head(b, false);
}

const struct arch arch_qwen3moe = {"qwen3moe", ARCH_EXPERTS, build};
