# SPDX-License-Identifier: MIT
"""llm.py MODEL... - speed of llm-decode, beside the peers that are given (see
llm_peers.py), in rounds: in each the machine's limits, then ours, then theirs.
One JSON line for each kind of work and model: medians, and the median of the
rounds' ratios (ours to theirs).  bench/llm.sh says what can be chosen."""
import json
import os
import statistics
import subprocess
import sys

import llm_ours as ours
from llm_peers import peers
from llm_target import judge, target
from llm_watch import Busy, Failed

THREADS = os.environ.get("BENCH_THREADS", "2")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
PROMPT, SHARED = 512, 1024
TEXT = "Three things that every sailor knows:"
# The small model of few heads, and one whose weights outweigh its context; at
# 16k a round of the peers takes minutes.
DEEP = {4096: (None, "smollm2", "1b-q4_k_m"), 16384: (None, "smollm2")}
TESTS = ("decode", "prefill", "decode-4k", "decode-16k", "share-4", "first", "busy", "kernel", "size")


def probe(mb=0):
    out = subprocess.run([ours.B + "/tools/probe", THREADS, f"{mb:.0f}", *os.environ.get("BENCH_READ_MB", "").split()],
                         check=True, capture_output=True).stdout
    return json.loads(out)


def median(rows, *keys):
    """Of the rounds' values under a path of keys; None where one has none."""
    values = []
    for r in rows:
        for k in keys:
            r = r.get(k) if r else None
        if r is None:
            return None
        values.append(r)
    return statistics.median(values)


def rounds(count, model, runs):
    """COUNT rounds of {name: function}, each beginning with another one, and
    with the limits before them.  A peer that fails is left out from there on,
    and its message comes with the rest."""
    rows, failed = [], {}
    names = list(runs)
    for i in range(count):
        row = {"probe": probe(model.token_bytes / 1e6)}
        for name in names[i % len(names):] + names[:i % len(names)]:
            try:
                row[name] = runs[name]() if name not in failed else None
            except Failed as e:
                if name == "ours":
                    raise
                failed[name] = str(e)
        rows.append(row)
    for row in rows:
        for name in failed:
            row.pop(name, None)
    return rows, failed


def put(line):
    print(json.dumps({k: v for k, v in line.items() if v is not None or k == "met"}), flush=True)


def figure(x):
    return None if x is None else float(f"{x:.4g}")


def summary(test, model, rows, failed, unit="tokens/s"):
    """The line, and what was reached of what may be wanted."""
    line = {"test": test, "model": model.name, "threads": int(THREADS), "rounds": len(rows), "unit": unit,
            "median": figure(median(rows, "ours", "rate"))}
    if unit == "tokens/s":
        line["wall_s"] = figure(1 / median(rows, "ours", "rate"))
        line["cpu_s"] = figure(median(rows, "ours", "cpu"))
    line["peers_failed"] = failed or None
    got = {}
    for p in [k for k in rows[0] if k not in ("probe", "ours")]:
        got[p] = statistics.median(r["ours"]["rate"] / r[p]["rate"] for r in rows)
        line[p] = {"median": figure(median(rows, p, "rate")), "ratio": figure(got[p]), "way": rows[0][p].get("way"),
                   "commit": rows[0][p].get("commit"), "cpu_s": figure(median(rows, p, "cpu"))}
    best = [statistics.median(r["ours"]["rate"] / max(v["rate"] for k, v in r.items() if k not in ("probe", "ours"))
                              for r in rows)] if got else [None]
    got["better"] = best[0]
    for k in ("read_gb_s", "near_gb_s", "int8_gop_s", "vector_gop_s"):
        line[k] = median(rows, "probe", k)
    line["int8"] = rows[0]["probe"].get("int8")
    return line, got


def limits(line, got, rows, token_bytes, token_ops):
    """What part of the limits is reached, by bytes and products of a token."""
    for name, unit, work, scale in (("read", "read_gb_s", token_bytes, 1e9), ("near", "near_gb_s", token_bytes, 1e9),
                                    ("int8", "int8_gop_s", token_ops, 1e9),
                                    ("vector", "vector_gop_s", token_ops, 1e9)):
        if not work or rows[0]["probe"].get(unit) is None:
            continue
        got[name] = statistics.median(r["ours"]["rate"] * work / scale / r["probe"][unit] for r in rows)
        line[name + "_pct"] = round(100 * got[name], 1)


def speed(test, model, found, mine, theirs, token_bytes, token_ops, count=ROUNDS):
    runs = {"ours": mine}
    for p in found:
        if p.bench:
            runs[p.name] = lambda p=p: theirs(p)
    rows, failed = rounds(count, model, runs)
    line, got = summary(test, model, rows, failed)
    limits(line, got, rows, token_bytes, token_ops)
    put(judge(line, target(test, model.kind, rows[0]["probe"].get("int8") == "tdpbssd"), got))


def new_tokens(model):
    return 128 if model.token_bytes < 4e8 else 64


def decode(model, found):
    n = new_tokens(model)
    speed("decode", model, found, lambda: ours.decode(model, THREADS, n),
          lambda p: p.decode(model.path, THREADS, n), model.token_bytes, model.decode_ops())


def prefill(model, found):
    speed("prefill", model, found, lambda: ours.prefill(model, THREADS, PROMPT),
          lambda p: p.prefill(model.path, THREADS, PROMPT), model.token_bytes / PROMPT,
          model.prefill_ops(PROMPT) / PROMPT)


def deep(test, depth):
    def run(model, found):
        if model.kind not in DEEP[depth]:
            return
        size = model.token_bytes + model.kv_bytes(depth + 32)
        ours.state(model, THREADS, depth)
        speed(test, model, found, lambda: ours.deep(model, THREADS, 64, depth),
              lambda p: p.decode(model.path, THREADS, 64, depth), size, None,
              ROUNDS if depth < 10000 else min(ROUNDS, 3))
    return run


def share(model, _):
    n = new_tokens(model)

    def four():
        one, all4 = (ours.shared(model, THREADS, n, SHARED, k) for k in (1, 4))
        return {"rate": all4, "one": one}
    rows, failed = rounds(ROUNDS, model, {"ours": four})
    line, got = summary("share-4", model, rows, failed)
    line["one"] = figure(median(rows, "ours", "one"))
    got["one"] = statistics.median(r["ours"]["rate"] / r["ours"]["one"] for r in rows)
    put(judge(line, target("share-4", model.kind, False), got))


def first(model, found):
    """Whole processes, the files in the page cache."""
    runs = {"ours": lambda: ours.first(model, THREADS, TEXT)}
    for p in found:
        if p.cli:
            runs[p.name] = lambda p=p: p.first(model.path, THREADS, TEXT)
    rounds(1, model, runs)
    rows, failed = rounds(ROUNDS, model, runs)
    line, got = summary("first", model, rows, failed, "ms")
    line["mb"] = figure(median(rows, "ours", "memory") / 1e6)
    for p in [k for k in rows[0] if k not in ("probe", "ours")]:
        line[p]["mb"] = figure(median(rows, p, "memory") / 1e6)
        if p == "llama.cpp":
            got["time"] = got[p]
            got["memory"] = statistics.median(r["ours"]["memory"] / r[p]["memory"] for r in rows)
    put(judge(line, target("first", model.kind, False), got))


def busy(model, found):
    n = new_tokens(model) // 2

    def theirs(p):
        p.way(model.path, THREADS, "decode")
        return beside(lambda: p.decode(model.path, THREADS, n))

    def beside(f):
        with Busy():
            return f()
    speed("busy", model, found, lambda: beside(lambda: ours.decode(model, THREADS, n)), theirs, None, None)


def kernel():
    """The matrix kernels alone, one thread."""
    limit = probe()
    for name, isa, rate in ours.kernels(["q4_1", "q5_0", "q8_0", "q4_k", "q6_k"]):
        tiles = isa == "amx"
        peak = limit.get("vector_one" if "vector_one" in limit and not tiles else "int8_one")
        line = {"test": "kernel", "model": name, "threads": 1, "rounds": 1, "unit": "Gop/s", "median": rate,
                "with": isa, "int8_gop_s": peak, "int8_pct": peak and round(100 * rate / peak, 1)}
        put(judge(line, target("kernel", None, tiles), {"int8": peak and rate / peak}))


def size():
    n = ours.stripped()
    put(judge({"test": "size", "unit": "bytes", "median": n}, target("size", None, False), {"bytes": n}))


WORK = {"decode": decode, "prefill": prefill, "decode-4k": deep("decode-4k", 4096),
        "decode-16k": deep("decode-16k", 16384), "share-4": share, "first": first, "busy": busy}


def main():
    only = os.environ.get("BENCH_ONLY", "").split() or list(TESTS)
    found = peers()
    models = [ours.Model(path) for path in sys.argv[1:]]
    for test in TESTS:
        if test not in only:
            continue
        for m in models if test in WORK else ():
            WORK[test](m, found)
        if test == "kernel":
            kernel()
        if test == "size":
            size()


try:
    main()
except Failed as e:
    sys.exit(f"llm.py: {e}")
