# SPDX-License-Identifier: MIT
"""spec.py MODEL - speed of llm-spec beside llm-decode's, in rounds that begin
with another one each: a JSON line for each text and drafter.  "ratio" is the
median of the rounds' ratios of tokens a second, "cpu_ratio" that of processor
time (less is better), "guessed" how many guesses were run, "right" the part of
them that were right, "places" the same of the first guess of a step, the second
and so on, "load" what else ran on the machine.  llm_target.py says what is
wanted: on texts that repeat twice the speed by repetitions, and on one that does
not at least 0.97 times of it, whoever guesses."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from llm_target import judge, speculation
from llm_watch import records

BIN = os.environ.get("B", "build") + "/bin/"
THREADS = os.environ.get("BENCH_THREADS", "2")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
TOKENS = "200"

CODE = """def average(values):
    total = 0
    count = 0
    for value in values:
        if value is None:
            continue
        total += value
        count += 1
    if count == 0:
        return None
    return total / count


def median(values):
    ordered = sorted(value for value in values if value is not None)
    count = len(ordered)
    if count == 0:
        return None
    middle = count // 2
    if count % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
"""
REPORT = """The harbour of Varnholm was closed for nine days in March after the old crane fell into the basin. The harbour
master, Ingrid Solberg, said that nobody was hurt because the crew had left for lunch ten minutes earlier. The crane,
built in 1931, had been inspected twice in the last year, and both reports recommended that it should be replaced before
the winter. The town council had postponed the decision, since a new crane costs more than the harbour earns in four
years. Fishermen had to land their catch in the next town, forty kilometres to the north, and two of the smaller boats
stayed at home altogether."""

# Name, prompt, options, and whether it repeats.
TEXTS = (
    ("edit", "The file stats.py before the change:\n```python\n" + CODE + "```\n\nThe file stats.py after the change, in "
     "which total is called result:\n```python\ndef average(values):\n    result = 0\n", ["--temp", "0"]),
    ("quote", "Report:\n" + REPORT + "\n\nThe whole report again, sentence by sentence, each in quotes:\n1. \"The harbour "
     "of Varnholm was closed for nine days", ["--temp", "0"]),
    ("plain", "Three things that every sailor knows about the sea, the weather and the stars, told by an old captain to "
     "his grandchildren on a winter evening:\n", ["--temp", "1"]),
)
# By its last two tokens: what followed them last time.
PROCESS = """
import json, sys
seen = {}
for line in sys.stdin:
    r = json.loads(line)
    if r.get("t") != "tokens":
        continue
    known, text = seen.setdefault(r["s"], ({}, []))
    for i in r["ids"]:
        if len(text) > 1:
            known[tuple(text[-2:])] = i
        text.append(i)
    out, last = [], text[-2:]
    while len(out) < 15 and tuple(last) in known:
        out.append(known[tuple(last)])
        last = [last[-1], out[-1]]
    print(json.dumps({"t": "tokens", "s": r["s"], "ids": out}), flush=True)
"""


def run(prog, model, prompt, options):
    """Tokens a second after the first, processor seconds, the stream's tokens, and
    its record of guesses."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen([BIN + prog, "-q", "-t", THREADS, "-n", TOKENS, "--ignore-eos", "-s", "5", "--timings",
                              "-f", "json", *options, model, prompt], stdout=out, stderr=err)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        out.seek(0)
        err.seek(0)
        said, got = err.read().decode(), list(records(out.read()))
    if status:
        raise SystemExit(f"{prog}: {said}")
    end = [r for r in got if r.get("t") == "end"][-1]
    return {"rate": (end["usage"]["tokens"] - 1) / (end["time"]["total"] - end["time"]["first"]),
            "cpu": usage.ru_utime + usage.ru_stime, "ids": [r["ids"] for r in got if r.get("t") == "tokens"],
            "drafts": [r for r in got if r.get("t") == "drafts"]}


def guesses(rows):
    """Of all rounds, by place: guesses that were run, and that were right."""
    run, right = [0] * 15, [0] * 15
    for r in rows:
        for d in r["drafts"][0]["drafters"]:
            for i, (n, k) in enumerate(zip(d["run"], d["right"])):
                run[i] += n
                right[i] += k
    return run, right


def part(n, of):
    return round(n / of, 3) if of else None


def main(model):
    name = model.split("/")[-1]
    with tempfile.TemporaryDirectory() as d:
        corpus, process = d + "/corpus.txt", d + "/process.py"
        with open(corpus, "w") as f:
            f.write(CODE.replace("total", "result") + REPORT)
        with open(process, "w") as f:
            f.write(PROCESS)
        drafters = {"ngram": [], "corpus": ["--no-ngram", "--corpus", corpus],
                    "process": ["--no-ngram", "--draft-cmd", f"exec {sys.executable} {process}"]}
        # Without a smaller one, the model itself is asked seldom, as it cannot pay.
        drafters["model"] = ["--no-ngram", "--draft", os.environ.get("BENCH_DRAFT") or model]
        for text, prompt, options in TEXTS:
            with open(d + "/prompt", "wb") as f:
                subprocess.run([BIN + "tok-encode", model], input=prompt.encode(), stdout=f, check=True)
            for drafter, more in drafters.items():
                rows = []
                for i in range(ROUNDS):
                    pair = {}
                    for prog in ("llm-decode", "llm-spec")[::1 if i % 2 else -1]:
                        pair[prog] = run(prog, model, d + "/prompt",
                                         options + (more + ["--stats"] if prog == "llm-spec" else []))
                    if pair["llm-decode"]["ids"] != pair["llm-spec"]["ids"]:
                        raise SystemExit(f"{text}, {drafter}: not the same tokens")
                    rows.append((pair["llm-decode"], pair["llm-spec"]))
                run_by, right_by = guesses([b for _, b in rows])
                ratio = statistics.median(b["rate"] / a["rate"] for a, b in rows)
                line = {
                    "test": "spec-" + text, "drafter": drafter, "model": name, "threads": int(THREADS),
                    "rounds": ROUNDS, "unit": "tokens/s",
                    "median": round(statistics.median(b["rate"] for _, b in rows), 1),
                    "decode": round(statistics.median(a["rate"] for a, _ in rows), 1),
                    "ratio": round(ratio, 3),
                    "cpu_s": round(statistics.median(b["cpu"] for _, b in rows), 3),
                    "cpu_ratio": round(statistics.median(b["cpu"] / a["cpu"] for a, b in rows), 3),
                    "guessed": sum(run_by), "right": part(sum(right_by), sum(run_by)),
                    "places": [part(k, n) for n, k in zip(run_by, right_by) if n],
                    "load": round(os.getloadavg()[0], 1)}
                print(json.dumps(judge(line, speculation(text, drafter), {"ratio": ratio})), flush=True)


main(sys.argv[1])
