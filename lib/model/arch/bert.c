/* SPDX-License-Identifier: MIT
 * BERT, and what is built like it, as RoBERTa and XLM-RoBERTa (whose positions
 * the file has without those before the first): an encoder whose norms stand
 * behind the sums; positions are learned, all has biases. */
#include "model/block.h"

static void build(struct build *b)
{
    block_embed(b);
    block_types(b);
    block_positions(b);
    block_norm_stream(b, -1, "token_embd_norm");
    for (int l = 0; l < b->p.nlayer; l++) {
        block_qkv(b, l, BE_X);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);
        block_norm_stream(b, l, "attn_output_norm");

        block_mlp(b, l, KERN_GELU_ERF, BE_X);
        block_norm_stream(b, l, "layer_output_norm");
    }
    block_result(b, BE_X);
}

const struct arch arch_bert = {"bert", ARCH_LAYERNORM | ARCH_BOTH, build};
