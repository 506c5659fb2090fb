# SPDX-License-Identifier: MIT
"""lora.py MODEL - decoding, and a prompt of 512, with an adapter of rank 16 on
every matrix of every layer, in halves: medians of rounds, and the median of
their ratios to none.  Its second matrices are 0, so that both do the same."""
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

import llm_ours as ours

RANK, NEW, PROMPT, PARTS = 16, 128, 512, 4
THREADS = os.environ.get("BENCH_THREADS", "2")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def key(name, value):
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    return text(name) + struct.pack("<If", 6, value)


def adapter(path, model):
    """Written to PATH, for the matrices of the file MODEL."""
    info = json.loads(subprocess.run([ours.BIN + "gguf-inspect", "-f", "json", model], check=True,
                                     capture_output=True).stdout)
    keys = [key("general.type", "adapter"), key("adapter.type", "lora"), key("adapter.lora.alpha", 16.0),
            key("general.architecture", info["keys"]["general.architecture"]["value"])]
    dice = random.Random(7)
    table, data = [], []
    at = 0
    for t in info["tensors"]:
        if not t["name"].startswith("blk.") or len(t["shape"]) != 2 or "_inp" in t["name"]:
            continue
        n_in, n_out = t["shape"]
        # Halves between 1/64 and 1/32.
        low = b"".join(struct.pack("<H", 0x2400 | dice.getrandbits(10)) for _ in range(n_in)) * RANK
        for name, shape, bytes_ in ("lora_a", (n_in, RANK), low), ("lora_b", (RANK, n_out), bytes(2 * RANK * n_out)):
            table.append(text(f"{t['name']}.{name}") + struct.pack("<IQQIQ", 2, *shape, 1, at))
            data.append(bytes_ + bytes(-len(bytes_) % 32))
            at += len(data[-1])
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(table), len(keys)) + b"".join(keys + table)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + b"".join(data))
    return at


def prefill(model, *options):
    """Tokens a second, of prompts behind a first one."""
    prompts = [ours.ids(model, PROMPT, 99 + i) for i in range(PARTS)]
    ends, _, _ = ours.run(model, THREADS, prompts, 1, *options)
    return PROMPT / statistics.median(ends[s]["time"]["first"] for s in range(1, PARTS))


def decode(model, *options):
    ends, out, series = ours.run(model, THREADS, [ours.ids(model, 1)], NEW, *options)
    return ours.rate(ends[0], out, series, NEW)["rate"]


def main():
    model = ours.Model(sys.argv[1])
    with tempfile.TemporaryDirectory() as d:
        size = adapter(d + "/adapter.gguf", sys.argv[1])
        for test, run in ("lora", decode), ("lora-prefill", prefill):
            rows = []
            for i in range(ROUNDS):
                got = {}
                for with_ in ((True, False) if i % 2 else (False, True)):
                    got[with_] = run(model, *(["--lora", d + "/adapter.gguf"] if with_ else []))
                rows.append(got)
            print(json.dumps({
                "test": test, "model": model.name, "threads": int(THREADS), "rounds": ROUNDS, "rank": RANK,
                "adapter_mb": round(size / 1e6, 1),
                "rate": round(statistics.median(r[True] for r in rows), 2),
                "without": round(statistics.median(r[False] for r in rows), 2),
                "ratio": round(statistics.median(r[True] / r[False] for r in rows), 3)}), flush=True)


main()
