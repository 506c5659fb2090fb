# SPDX-License-Identifier: MIT
"""quantize.py MODEL - how long gguf-quantize takes, in rounds that begin with
another program each: a JSON line for each recipe.  "seconds" are medians of
wall time, of "ours", "cp" (the model, to the same folder) and "llama" where
BENCH_LLAMA_QUANTIZE is llama.cpp's llama-quantize; "ratio" is the median of the
rounds' ratios of ours to each other's, "cpu" the processor seconds, "rss" the
most memory in MB, of which pages of mapped files are a part.  Ours has its file
on disk when it ends, the others do not."""
import json
import os
import statistics
import sys
import tempfile
import time

BIN = os.environ.get("B", "build") + "/bin/"
THREADS = os.environ.get("BENCH_THREADS", "2")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
PEER = os.environ.get("BENCH_LLAMA_QUANTIZE")
RECIPES = ("Q8_0", "Q4_0", "Q4_K_M")


def run(command):
    """Wall and processor seconds, and memory."""
    start = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, use = os.wait4(pid, 0)
    if status:
        sys.exit("%s: failed" % command[0])
    return time.monotonic() - start, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def commands(model, recipe, out):
    yield "ours", [BIN + "gguf-quantize", "-q", "-t", THREADS, "--allow-requantize", "--fallback", "-o", out, model, recipe]
    yield "cp", ["cp", model, out]
    if PEER:
        yield "llama", [PEER, "--allow-requantize", model, out, recipe, THREADS]


def measure(model, recipe, folder):
    out = os.path.join(folder, "out.gguf")
    all_of = dict(commands(model, recipe, out))
    got = {name: [] for name in all_of}
    size = {}
    for r in range(ROUNDS + 1):
        names = list(all_of)
        for name in names[r % len(names):] + names[:r % len(names)]:
            once = run(all_of[name])
            size[name] = os.path.getsize(out)
            os.unlink(out)
            if r:  # the first is to warm up
                got[name].append(once)
    wall = {name: [x[0] for x in v] for name, v in got.items()}
    print(json.dumps({
        "model": os.path.basename(model), "recipe": recipe, "threads": int(THREADS), "rounds": ROUNDS,
        "seconds": {n: round(statistics.median(v), 2) for n, v in wall.items()},
        "ratio": {n: round(statistics.median(a / b for a, b in zip(wall["ours"], v)), 3) for n, v in wall.items() if n != "ours"},
        "cpu": {n: round(statistics.median(x[1] for x in v), 2) for n, v in got.items()},
        "rss": {n: round(max(x[2] for x in v)) for n, v in got.items()},
        "bytes": size, "load": round(os.getloadavg()[0], 2)}), flush=True)


base = os.path.join(os.environ.get("B", "build"), "bench")
os.makedirs(base, exist_ok=True)
with tempfile.TemporaryDirectory(dir=base) as d:
    for name in RECIPES:
        measure(sys.argv[1], name, d)
