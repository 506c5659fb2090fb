/* SPDX-License-Identifier: MIT
 * Nomic BERT: an encoder whose norms stand behind the sums; positions turn,
 * the network has a gate, and only norms have biases. */
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    rope_read(b, 1000, 0, true);

    block_embed(b);
    block_types(b);
    block_norm_stream(b, -1, "token_embd_norm");
    for (int l = 0; l < b->p.nlayer; l++) {
        block_qkv(b, l, BE_X);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);
        block_norm_stream(b, l, "attn_output_norm");

        block_glu(b, l, KERN_SILU, BE_X, BE_X);
        block_norm_stream(b, l, "layer_output_norm");
    }
    block_result(b, BE_X);
}

const struct arch arch_nomic_bert = {
    "nomic-bert", ARCH_LAYERNORM | ARCH_FEW_BIASES | ARCH_BOTH, build};
