/* SPDX-License-Identifier: MIT
 * ModernBERT: an encoder whose norms stand before the blocks; two of three
 * layers see a window, with a rope base of their own.  The first layer has the
 * norm of the embeddings for its own. */
#include "model/bind.h"
#include "model/block.h"
#include "model/rope.h"

static void build(struct build *b)
{
    static const char *const words[] = {"gelu", "silu", NULL};
    enum kern_unary act = params_word(b, "hidden_activation", words, 0)
                              ? KERN_SILU
                              : KERN_GELU_ERF;

    params_windows(b, 3, 0);
    rope_read(b, 160000, 10000, true);

    block_embed(b);
    block_norm_stream(b, -1, "token_embd_norm");
    for (int l = 0; l < b->p.nlayer; l++) {
        bool normed = l || bind_has_layer(b, 0, "attn_norm.weight");

        if (normed)
            block_norm(b, l, "attn_norm", BE_X, BE_N);
        block_qkv(b, l, normed ? BE_N : BE_X);
        block_rope(b, l);
        block_attend(b, l);
        block_attn_out(b, l, BE_X);

        block_norm(b, l, "ffn_norm", BE_X, BE_N);
        block_glu_fused(b, l, act);
    }
    block_head(b, false);
}

const struct arch arch_modern_bert = {
    "modern-bert",
    ARCH_LAYERNORM | ARCH_FEW_BIASES | ARCH_BOTH | ARCH_FIRST_GLOBAL, build};
