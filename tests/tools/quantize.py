#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quantize.py >tests/data/quantize_data.h - blocks as the Python package gguf
makes them (0.19), of weights that tests/unit/quantize.c makes alike.

Needs numpy and gguf; the tests need neither."""
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import quantize

BLOCKS = 24
TYPES = "F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 MXFP4".split()


def weights():
    s = 1
    out = np.zeros((BLOCKS, 32), np.float32)
    for b in range(BLOCKS):
        for i in range(32):
            s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
            u = (s >> 40) - 2**23
            x = np.float32(u) * np.float32(2.0**-23) * np.float32(2.0 ** -(b % 16))
            kind = b % 8
            if kind == 1:
                x = np.float32(x * abs(x))
            elif kind == 2:
                x = np.float32((u >> 20) / 8)
            elif kind == 3:
                x = abs(x)
            elif kind == 4:
                x = np.float32(0)
            elif kind == 5:
                x = x if i == 7 else np.float32(0)
            elif kind == 6:
                x = -abs(x)
            elif kind == 7:
                x = np.float32(x * np.float32(1000))
            out[b, i] = x
    return out


x = weights()
print("/* SPDX-License-Identifier: MIT */")
print("/* Written by tests/tools/quantize.py; do not edit. */")
print("#ifndef LLM_TESTS_QUANTIZE_DATA_H\n#define LLM_TESTS_QUANTIZE_DATA_H\n")
print("/* clang-format off */")
for name in TYPES:
    b = np.ascontiguousarray(quantize(x, T[name])).view(np.uint8).reshape(-1)
    print(f"static const unsigned char golden_{name.lower()}[{b.size}] = {{")
    for i in range(0, b.size, 16):
        print("    " + " ".join("%d," % v for v in b[i : i + 16]))
    print("};")
print("/* clang-format on */\n#endif")
