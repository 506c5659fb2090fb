# SPDX-License-Identifier: MIT
"""llm_ours.py - our programs at each kind of work, and what a model is."""
import json
import os
import re
import subprocess
import tempfile

from llm_target import KINDS
from llm_watch import CONTEXT, records, used, watch, whole

B = os.environ.get("B", "build")
BIN = B + "/bin/"


class Model:
    """A file; for each token the bytes that must be read, and products."""

    def __init__(self, path):
        self.path, self.name = path, path.split("/")[-1]
        out = subprocess.run([BIN + "gguf-inspect", "-f", "json", path], check=True, capture_output=True).stdout
        info = json.loads(out)
        config = info["config"]
        self.layers = config["layer"]
        self.kind = KINDS.get((config["architecture"], config["layers"], config["embedding"],
                               info["keys"].get("general.file_type", {}).get("value")))
        self.vocab = info["keys"]["tokenizer.ggml.tokens"]["n"]
        t = {x["name"]: x for x in info["tensors"]}
        head = t.get("output.weight", t["token_embd.weight"])
        part = config["experts_used"] / config["experts"] if config["experts"] else 1

        def share(x):
            return part if "_exps" in x["name"] else 1

        layers = [x for x in info["tensors"] if x["name"].startswith("blk.")]
        self.layer_weights = sum(x["elements"] * share(x) for x in layers if len(x["shape"]) > 1)
        self.head_weights = head["elements"]
        self.token_bytes = sum(x["bytes"] * share(x) for x in layers) + head["bytes"]

    def kv_bytes(self, depth):
        """K and V of what a token at this position sees, as 16-bit floats."""
        return sum(2 * x["kv_heads"] * (x["key_length"] + x["value_length"]) * min(x["window"] or depth, depth)
                   for x in self.layers if x["kv"])

    def prefill_ops(self, n):
        return 2 * (self.layer_weights * n + self.head_weights)

    def decode_ops(self):
        return 2 * (self.layer_weights + self.head_weights)


def stream(path, sequences):
    """A file of prompts."""
    with open(path, "w") as f:
        for s, ids in enumerate(sequences):
            f.write(json.dumps({"t": "tokens", "s": s, "ids": ids}) + "\n")
            f.write(json.dumps({"t": "end", "s": s, "why": "input"}) + "\n")


def ids(model, n, seed=12345):
    """Pseudo-random ones of ordinary tokens."""
    out = []
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) % 2**31
        out.append(100 + seed % min(20000, model.vocab - 200))
    return out


def run(model, threads, prompts, new, *options):
    """End records by sequence, what was written, and the clock's series."""
    with tempfile.TemporaryDirectory() as d:
        stream(d + "/in", prompts)
        out, series = watch([BIN + "llm-decode", "-q", "-t", threads, "--temp", "0", "-n", str(new), "--ignore-eos",
                             "--timings", "-f", "json", *options, model.path, d + "/in"])
    return {r["s"]: r for r in records(out) if r.get("t") == "end"}, out, series


def rate(end, out, series, new):
    """Tokens after the first one: with it, the weights are packed, or the state
    read."""
    seconds = end["time"]["total"] - end["time"]["first"]
    cpu = used(series, len(out), seconds)
    return {"rate": (new - 1) / seconds, "cpu": cpu and cpu / (new - 1)}


def decode(model, threads, new):
    ends, out, series = run(model, threads, [ids(model, 1)], new)
    return rate(ends[0], out, series, new)


def prefill(model, threads, n):
    """The first sequence packs the weights; the second is measured."""
    ends, out, series = run(model, threads, [ids(model, 32), ids(model, n, 7)], 1)
    seconds = ends[1]["time"]["first"]
    cpu = used(series, len(out), seconds)
    return {"rate": n / seconds, "cpu": cpu and cpu / n}


def state(model, threads, depth):
    """A state of so many positions, made once for each build."""
    path = f"{B}/bench/{model.name}-{depth}.kv"
    made = os.path.getmtime(path) if os.path.exists(path) else 0
    if made < max(os.path.getmtime(BIN + "llm-prefill"), os.path.getmtime(model.path)):
        os.makedirs(B + "/bench", exist_ok=True)
        with tempfile.TemporaryDirectory() as d:
            stream(d + "/in", [ids(model, depth)])
            watch([BIN + "llm-prefill", "-q", "-t", threads, "-c", str(depth + 512), "--kv-out", path,
                   model.path, d + "/in"])
    return path


def deep(model, threads, new, depth):
    ends, out, series = run(model, threads, [ids(model, depth)], new, "-c", str(depth + 512),
                            "--kv-in", state(model, threads, depth))
    return rate(ends[0], out, series, new)


def shared(model, threads, new, prompt, n):
    """N sequences together, whose prompt is one: the sum of their rates."""
    ends, _, _ = run(model, threads, [ids(model, prompt)] * n, new, "-b", str(n), "--unordered")
    return sum((new - 1) / (e["time"]["total"] - e["time"]["first"]) for e in ends.values())


def first(model, threads, text):
    """Text in, text out: a pipe of three programs, and their memory together."""
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(text)
        f.flush()
        seconds, memory = whole([
            [BIN + "tok-encode", model.path, f.name],
            [BIN + "llm-decode", "-q", "-t", threads, "--temp", "0", "-n", "1", "--ignore-eos", "-c", CONTEXT,
             model.path],
            [BIN + "tok-decode"]])
    return {"rate": 1e3 * seconds, "memory": sum(memory)}


def kernels(types):
    """Gop/s of one thread, tiles of many columns, with the best instructions:
    (type, instructions, Gop/s)."""
    out = subprocess.run([B + "/unit/checkkern", "--bench", *types], check=True, capture_output=True).stdout.decode()
    best = {}
    for line in out.splitlines():
        m = re.match(r"(\w+) +(\w+) .*: ([\d.]+) Gop/s$", line)
        if m and (m[1] not in best or float(m[3]) > best[m[1]][2]):
            best[m[1]] = (m[1], m[2], float(m[3]))
    return list(best.values())


def stripped():
    """Bytes of all programs together, without symbols; some are one file."""
    total = 0
    with tempfile.TemporaryDirectory() as d:
        for name in sorted(x.name for x in os.scandir(BIN) if not x.is_symlink()):
            subprocess.run([os.environ.get("STRIP", "strip"), "-o", d + "/x", BIN + name], check=True)
            total += os.path.getsize(d + "/x")
    return total
