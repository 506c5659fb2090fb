#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""encoder.py DIR >tests/data/encoder.json: golden numbers of small encoders.

DIR has the files that build/unit/encoder DIR writes.  Their weights become
models of transformers; a few rows of what these make of the tokens of
model_naive.h, in float64, and the mean of all are printed.  Needs the Python packages gguf, numpy, torch, transformers."""
import json
import re
import sys

import gguf
import numpy as np
import torch
import transformers as hf

NTOK, VOCAB = 20, 40
TOKENS = [(i * 7 + i * i * 3 + 1) % VOCAB for i in range(NTOK)]
TYPES = [int(i > NTOK // 2) for i in range(NTOK)]
ROWS = [0, 10, 19]
SIZES = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 6,
         "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 128}
BERT = {"layer_norm_eps": 1e-5, "type_vocab_size": 2, **SIZES}


def rope(full, windows):
    return {"full_attention": {"rope_type": "default", "rope_theta": full},
            "sliding_attention": {"rope_type": "default",
                                  "rope_theta": windows}}


def models():
    yield ("bert", hf.BertConfig(hidden_act="gelu", **BERT),
           lambda c: hf.BertModel(c, add_pooling_layer=False))
    yield ("nomic-bert",
           hf.NomicBertConfig(hidden_act="silu", head_dim=8, rope_parameters={
               "rope_type": "default", "rope_theta": 10000.0}, **BERT),
           lambda c: hf.NomicBertModel(c, add_pooling_layer=False))
    yield ("modern-bert",
           hf.ModernBertConfig(norm_eps=1e-5, local_attention=5,
                               global_attn_every_n_layers=3,
                               rope_parameters=rope(10000.0, 1000.0),
                               pad_token_id=0, bos_token_id=1, eos_token_id=2,
                               cls_token_id=1, sep_token_id=2, **SIZES),
           hf.ModernBertModel)
    yield ("gemma-embedding",
           hf.Gemma3TextConfig(rms_norm_eps=1e-5, head_dim=8, sliding_window=8,
                               num_key_value_heads=2, query_pre_attn_scalar=8,
                               use_bidirectional_attention=True,
                               layer_types=["sliding_attention"] * 5 +
                               ["full_attention"],
                               rope_parameters=rope(10000.0, 1000.0), **SIZES),
           hf.Gemma3TextModel)


# What the files call it; the longer names first.
NAMES = [
    ("post_attention_layernorm", {"nomic-bert": "attn_output_norm",
                                  "": "post_attention_norm"}),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("post_mlp_layernorm", "layer_output_norm"),
    ("output.LayerNorm", "layer_output_norm"),
    ("input_layernorm", "attn_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("mlp_norm", "ffn_norm"),
    ("attn_norm", "attn_norm"),
    ("attention.self.query", "attn_q"), ("q_proj", "attn_q"),
    ("attention.self.key", "attn_k"), ("k_proj", "attn_k"),
    ("attention.self.value", "attn_v"), ("v_proj", "attn_v"),
    ("attention.output.dense", "attn_output"), ("o_proj", "attn_output"),
    ("Wqkv", "attn_qkv"), ("attn.Wo", "attn_output"),
    ("q_norm", "attn_q_norm"), ("k_norm", "attn_k_norm"),
    ("intermediate.dense", "ffn_up"), ("up_proj", "ffn_up"),
    ("mlp.Wi", "ffn_up"), ("gate_proj", "ffn_gate"),
    ("output.dense", "ffn_down"), ("down_proj", "ffn_down"),
    ("mlp.Wo", "ffn_down"),
    ("position_embeddings", "position_embd"),
    ("token_type_embeddings", "token_types"),
    ("embeddings.LayerNorm", "token_embd_norm"),
    ("embeddings.norm", "token_embd_norm"),
    ("word_embeddings", "token_embd"), ("tok_embeddings", "token_embd"),
    ("embed_tokens", "token_embd"),
    ("final_norm", "output_norm"), ("norm", "output_norm"),
]


def file_name(key, arch):
    layer = re.search(r"layers?\.(\d+)\.", key)
    end = key.rsplit(".", 1)[1]
    name = next(v for k, v in NAMES if f"{k}.{end}" in key)
    if not isinstance(name, str):
        name = name.get(arch, name[""])
    return f"blk.{layer[1]}.{name}.{end}" if layer else f"{name}.{end}"


def load(model, path, arch):
    """Every weight of MODEL from the file, by its name there."""
    have = {t.name: np.array(t.data).reshape(t.shape[::-1])
            for t in gguf.GGUFReader(path).tensors}
    for key, p in model.named_parameters():
        w = have.pop(file_name(key, arch)).astype(np.float64)
        if arch.startswith("gemma") and "norm" in key:
            w = w - 1
        p.data = torch.tensor(w.reshape(p.shape))
    if have:
        sys.exit(f"{arch}: nobody has {sorted(have)}")


def main():
    out = {"source": f"transformers {hf.__version__}, in float64, of the files "
                     "of build/unit/encoder: rows of the last hidden state, "
                     "and the mean of all"}
    torch.set_default_dtype(torch.float64)
    for name, config, make in models():
        config._attn_implementation = "eager"
        model = make(config).eval()
        load(model, f"{sys.argv[1]}/{name}.gguf", name)
        more = {}
        if "type_vocab_size" in config.to_dict():
            more["token_type_ids"] = torch.tensor([TYPES])
        with torch.no_grad():
            h = model(input_ids=torch.tensor([TOKENS]),
                      attention_mask=torch.ones(1, NTOK, dtype=torch.long),
                      **more).last_hidden_state[0]
        out[name] = {str(r): [round(float(x), 6) for x in h[r]] for r in ROWS}
        out[name]["mean"] = [round(float(x), 6) for x in h.mean(0)]
    print("{" + ",\n".join(
        f'{json.dumps(k)}: ' + (json.dumps(v) if isinstance(v, str) else
                                "{" + ",\n  ".join(f'"{r}": {json.dumps(x)}'
                                                   for r, x in v.items()) + "}")
        for k, v in out.items()) + "}")


main()
