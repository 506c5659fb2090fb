/* SPDX-License-Identifier: MIT
 * Ministral 3: Llama, whose attention grows sharper beyond the positions that
 * it first learned. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    struct params *p = &b->p;

    p->temp_period = params_int(b, "rope.scaling.original_context_length",
                                p->context, 1, 1 << 30);
    p->temp_period = params_int(b, "attention.temperature_length",
                                p->temp_period, 1, 1 << 30);
    p->temp_scale =
        (float)params_num(b, "attention.temperature_scale", 0, 0, 1e6);
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
        block_glu(b, l, KERN_SILU, BE_N, BE_X);
    }
    block_head(b, false);
}

const struct arch arch_mistral3 = {"mistral3", ARCH_PAIRS, build};
