#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quantmodels.py LOGITS DIR [TYPE...]: how well quantised models agree.

For every model of DIR (../shared/oracle/tiny) that LOGITS (build/tools/logits)
can run, quantise its matrices to each TYPE, run it, and compare the next token
of each position with that of the model as it is.  Beside it stands the same
from weights that were quantised and turned back to F32, so that what remains
is our arithmetic, not the loss of bits.  Needs the Python packages gguf and
numpy."""
import json
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = ["F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"]


def convert(src, dst, kind, back):
    """Copy a model with its matrices as KIND; BACK: as F32 again."""
    r = gguf.GGUFReader(src)
    arch = r.fields["general.architecture"].contents()
    w = gguf.GGUFWriter(dst, arch)
    for f in r.fields.values():
        if f.name.startswith("GGUF.") or f.name == "general.architecture":
            continue
        sub = f.types[1] if len(f.types) > 1 else None
        w.add_key_value(f.name, f.contents(), f.types[0], sub)
    q = gguf.GGMLQuantizationType[kind]
    for t in r.tensors:
        a = np.array(t.data, dtype=np.float32).reshape(t.shape[::-1])
        if a.ndim < 2 or a.shape[-1] % gguf.GGML_QUANT_SIZES[q][0]:
            w.add_tensor(t.name, a)
            continue
        b = gguf.quants.quantize(a, q)
        if back:
            w.add_tensor(t.name, gguf.quants.dequantize(b, q))
        else:
            w.add_tensor(t.name, b, raw_dtype=q)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def run(logits, model, tokens):
    p = subprocess.run([logits, model, "1", "f32"], capture_output=True,
                       input=" ".join(map(str, tokens)).encode())
    if p.returncode:
        return None
    return np.frombuffer(p.stdout, np.float32).reshape(len(tokens), -1)


def main():
    logits, root, *types = sys.argv[1:]
    types = types or TYPES
    total = {k: [0, 0, 0, 0.0] for k in types}
    for name in sorted(os.listdir(root)):
        src = os.path.join(root, name, "model.gguf")
        if not os.path.exists(src):
            continue
        with open(os.path.join(root, name, "tokens.json")) as f:
            tokens = json.load(f)["tokens"]
        if not isinstance(tokens, list):
            continue
        whole = run(logits, src, tokens)
        if whole is None:
            continue
        for kind in types:
            with tempfile.TemporaryDirectory() as d:
                a, b = os.path.join(d, "a.gguf"), os.path.join(d, "b.gguf")
                convert(src, a, kind, False)
                convert(src, b, kind, True)
                x, y = run(logits, a, tokens), run(logits, b, tokens)
            if x is None or y is None:
                sys.exit(f"{name} {kind}: does not run")
            s = total[kind]
            s[0] += len(tokens)
            s[1] += int((x.argmax(1) == whole.argmax(1)).sum())
            s[2] += int((x.argmax(1) == y.argmax(1)).sum())
            s[3] = max(s[3], float(np.abs(x - y).max()))
            print(f"{name:16} {kind:5} "
                  f"{(x.argmax(1) == whole.argmax(1)).mean():.3f} "
                  f"{(x.argmax(1) == y.argmax(1)).mean():.3f} "
                  f"{np.abs(x - y).max():.2g}")
    for kind, (n, a, b, d) in total.items():
        print(f"{'all':16} {kind:5} {a / n:.4f} of the F32 model's next tokens, "
              f"{b / n:.4f} of those of the same weights in F32 "
              f"(logits within {d:.2g})")


main()
