"""llm.py MODEL - speed of llm-decode, beside llama-bench when BENCH_LLAMA names
it: one JSON line for each kind of work, medians over interleaved rounds, and
the median of the rounds' ratios."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

model = sys.argv[1]
bin_dir = os.environ["B"] + "/bin/"
threads = os.environ.get("BENCH_THREADS", "2")
rounds = int(os.environ.get("BENCH_ROUNDS", "5"))
peer = os.environ.get("BENCH_LLAMA")
PROMPT, NEW = 512, 128


def stream(path, lengths):
    """Sequences of pseudo-random ids, none a beginning of another."""
    seed = 12345
    with open(path, "w") as f:
        for s, n in enumerate(lengths):
            ids = []
            for _ in range(n):
                seed = (seed * 1103515245 + 12345) % 2**31
                ids.append(100 + seed % 20000)
            f.write(json.dumps({"t": "tokens", "s": s, "ids": ids}) + "\n")
            f.write(json.dumps({"t": "end", "s": s, "why": "input"}) + "\n")


def cpu():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def decode(path, new):
    """The last sequence's end record, and CPU seconds of the whole process."""
    before = cpu()
    out = subprocess.run(
        [bin_dir + "llm-decode", "-q", "-t", threads, "--temp", "0", "-n", str(new), "--ignore-eos",
         "--timings", "-f", "json", model, path],
        check=True, capture_output=True).stdout
    end = [r for r in map(json.loads, out.splitlines()) if r.get("t") == "end"][-1]
    return end, cpu() - before


def ours(d):
    # The first sequence packs the weights; the second is measured.
    end, used = decode(d + "/two", NEW)
    first, total = end["time"]["first"], end["time"]["total"]
    return {"prefill": PROMPT / first, "decode": (NEW - 1) / (total - first), "cpu": used}


def theirs():
    out = subprocess.run(
        [peer, "-m", model, "-t", threads, "-p", str(PROMPT), "-n", str(NEW), "-r", "1", "-o", "json"],
        check=True, capture_output=True).stdout
    r = json.loads(out)
    return {"prefill": next(x["avg_ts"] for x in r if x["n_prompt"]),
            "decode": next(x["avg_ts"] for x in r if x["n_gen"])}


def start(d):
    a = time.perf_counter()
    decode(d + "/five", 1)
    return time.perf_counter() - a


with tempfile.TemporaryDirectory() as d:
    stream(d + "/two", [32, PROMPT])
    stream(d + "/five", [5])
    ours(d)
    rows, peers, starts = [], [], []
    for _ in range(rounds):
        rows.append(ours(d))
        if peer:
            peers.append(theirs())
        starts.append(start(d))
    base = {"model": model.split("/")[-1], "threads": int(threads), "rounds": rounds}
    for k in ("prefill", "decode"):
        r = {"test": k, **base, "median": round(statistics.median(x[k] for x in rows), 1)}
        if peer:
            r["llama.cpp"] = round(statistics.median(x[k] for x in peers), 1)
            r["ratio"] = round(statistics.median(x[k] / y[k] for x, y in zip(rows, peers)), 2)
        print(json.dumps(r), flush=True)
    print(json.dumps({"test": "first", **base, "median": round(1e3 * statistics.median(starts), 1)}))
