# SPDX-License-Identifier: MIT
"""embed.py MODEL - texts a second that llm-embed makes vectors of, beside
llama.cpp's llama-embedding, in rounds that begin with another one each.  Of each
whole process the time of one that has a single text is taken off.  "ratio" is
the median of the rounds' ratios, "cpu_ratio" that of processor time (less is
better), "cosine" the least of two vectors of one text."""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("B", "build") + "/bin/"
PEER = os.environ.get("BENCH_LLAMA_EMBED")
THREADS = os.environ.get("BENCH_THREADS", "2")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
TEXTS = int(os.environ.get("BENCH_TEXTS", "256"))
WORDS = """the a of and to in that it was for on with as by at from this which not are have an had they you but
their one all would there when said if more who time people water number name year day house school river mountain
letter paper morning evening harbour engine garden window market winter summer doctor teacher language question
answer reason because between without during against through several common public early small large open green""".split()


def texts():
    """Short ones and long ones, the same each time."""
    r = random.Random(1)
    return [" ".join(r.choice(WORDS) for _ in range(r.choice((6, 12, 25, 50, 100, 200)))) for _ in range(TEXTS)]


def run(command, out):
    """Wall time and processor time."""
    with open(out, "wb") as f, tempfile.TemporaryFile() as err:
        a = time.perf_counter()
        p = subprocess.Popen(command, stdout=f, stderr=err)
        _, status, usage = os.wait4(p.pid, 0)
        b = time.perf_counter()
        p.returncode = status
        err.seek(0)
        if status:
            raise SystemExit(f"{command[0]}: {err.read().decode(errors='replace')}")
    return b - a, usage.ru_utime + usage.ru_stime


def ours(model, path, out):
    return run([BIN + "llm-embed", "-q", "-L", "-t", THREADS, "-f", "json", model, path], out)


def peer(model, path, out):
    return run([PEER, "-m", model, "-f", path, "-t", THREADS, "--embd-output-format", "array"] + pooling(model), out)


def pooling(model):
    """What llm-embed does, where the model does not say."""
    said = subprocess.run([BIN + "llm-embed", "-v", "-q", "-L", "-f", "json", model, os.devnull], capture_output=True,
                          text=True, check=True).stderr
    return ["--pooling", said.split("pooling: ")[1].split(",")[0]]


def vectors(path):
    with open(path) as f:
        said = f.read()
    if said.startswith("{"):
        return [r["v"] for r in map(json.loads, said.splitlines()) if r.get("t") == "embedding"]
    return json.loads(said[said.index("["):])


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def main(model):
    programs = {"llm-embed": ours, **({"llama.cpp": peer} if PEER else {})}
    got = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/one", "w") as f:
            f.write("the\n")
        with open(d + "/many", "w") as f:
            f.write("\n".join(texts()) + "\n")
        tokens = sum(int(n) for n in subprocess.run([BIN + "tok-encode", "-L", "-c", model, d + "/many"], check=True,
                                                    capture_output=True, text=True).stdout.split())
        for i in range(ROUNDS):
            for name in list(programs)[::1 if i % 2 else -1]:
                one = programs[name](model, d + "/one", d + "/none")
                many = programs[name](model, d + "/many", d + "/" + name)
                got[name].append([max(b - a, 1e-9) for a, b in zip(one, many)])
        median = statistics.median
        wall = median(w for w, _ in got["llm-embed"])
        line = {"test": "embed", "model": model.split("/")[-1], "threads": int(THREADS), "rounds": ROUNDS,
                "unit": "texts/s", "median": round(TEXTS / wall, 1), "texts": TEXTS, "tokens": tokens,
                "tokens_s": round(tokens / wall, 1), "cpu_s": round(median(c for _, c in got["llm-embed"]), 3)}
        if PEER:
            pairs = list(zip(got["llm-embed"], got["llama.cpp"]))
            line["llama.cpp"] = {
                "median": round(TEXTS / median(w for w, _ in got["llama.cpp"]), 1),
                "ratio": round(median(b[0] / a[0] for a, b in pairs), 2),
                "cpu_ratio": round(median(a[1] / b[1] for a, b in pairs), 2),
                "cosine": round(min(map(cosine, vectors(d + "/llm-embed"), vectors(d + "/llama.cpp"))), 6)}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
