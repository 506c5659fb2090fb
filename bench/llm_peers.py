# SPDX-License-Identifier: MIT
"""llm_peers.py - llama.cpp and ik_llama.cpp, where their programs are given:
BENCH_LLAMA and BENCH_IK name their llama-bench, BENCH_LLAMA_CLI and
BENCH_IK_CLI what answers a prompt."""
import json
import os
import shutil

from llm_watch import CONTEXT, Failed, used, watch, whole

# Memory of malloc() in 2 MB pages, which with a file that is read, not mapped,
# holds the weights.
LARGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
WAYS = {"as it is": ([], {}), "2 MB pages": (["-mmp", "0"], LARGE)}
# Flash attention, which both have on, is their faster way at the beginning of a
# context; behind 4,096 tokens llama.cpp is twice as fast without, ik 1.3 times.
FLASH = {"-fa 0": ["-fa", "0"], "-fa 1": ["-fa", "1"]}


class Peer:
    def __init__(self, name, bench, cli, ways, deep, cli_options, cli_ways):
        self.name, self.bench, self.cli, self.ways = name, bench, cli, ways
        self.deep, self.cli_options, self.cli_ways = deep, cli_options, cli_ways
        self.best = {}

    def fastest(self, key, ways, run):
        """Of its ways, by one run of each; those that fail are none."""
        if key not in self.best:
            tried, failed = {}, None
            for w in ways:
                try:
                    tried[w] = run(w)
                except Failed as e:
                    failed = e
            if not tried:
                raise failed
            self.best[key] = max(tried, key=tried.get)
        return self.best[key]

    def run(self, model, threads, way, args, unit):
        """Tokens/s, and seconds of the processor per token, of UNIT tokens."""
        options, env = self.ways[way]
        out, series = watch([self.bench, "-m", model, "-t", threads, "-r", "1", "-o", "json", *options, *args], env)
        r = json.loads(out[out.index(b"["):])[-1]
        # What comes after the result is a bracket.
        cpu = used(series, len(out.rstrip(b"]\n \t")), r["avg_ns"] * 1e-9)
        return {"rate": r["avg_ts"], "cpu": cpu and cpu / unit, "way": way, "commit": r.get("build_commit")}

    def way(self, model, threads, test):
        args, unit = (["-p", "512", "-n", "0"], 512) if test == "prefill" else (["-p", "0", "-n", "48"], 48)
        return self.fastest((model, threads, test == "prefill"), self.ways,
                            lambda w: self.run(model, threads, w, args, unit)["rate"])

    def decode(self, model, threads, new, depth=0):
        way = self.way(model, threads, "decode")
        if not depth:
            return self.run(model, threads, way, ["-p", "0", "-n", str(new)], new)

        def behind(d, n, flash):
            return self.run(model, threads, way, [*self.deep(d, n), *FLASH[flash]], n)

        flash = self.fastest((model, threads, "deep"), FLASH, lambda f: behind(min(depth, 4096), 16, f)["rate"])
        r = behind(depth, new, flash)
        return {**r, "way": f"{way}, {flash}"}

    def prefill(self, model, threads, n):
        return self.run(model, threads, self.way(model, threads, "prefill"), ["-p", str(n), "-n", "0"], n)

    def first(self, model, threads, text):
        def run(way):
            seconds, memory = whole([[self.cli, "-m", model, "-t", threads, "-p", text, "-n", "1", "--temp", "0",
                                      "-c", CONTEXT, *self.cli_options, *self.cli_ways[way]]])
            return {"rate": 1e3 * seconds, "memory": memory[0], "way": way}

        return run(self.fastest((model, threads, "first"), self.cli_ways, lambda w: -run(w)["rate"]))


def peers():
    """Those that are given; a name without a program is an error."""
    found = []
    for name, var, ways, deep, options, cli_ways in (
            ("llama.cpp", "LLAMA", WAYS, lambda d, n: ["-p", "0", "-n", str(n), "-d", str(d)],
             ["--no-warmup", "-no-cnv"], {"as it is": [], "--no-repack": ["--no-repack"]}),
            ("ik", "IK", {**WAYS, "-rtr 1": (["-rtr", "1"], LARGE)},
             lambda d, n: ["-p", "0", "-n", "0", "-gp", f"{d},{n}"], ["--no-warmup"], {"as it is": []})):
        bench, cli = (os.environ.get(f"BENCH_{var}{s}") or None for s in ("", "_CLI"))
        for p in (bench, cli):
            if p and not shutil.which(p):
                raise Failed(f"{p}: there is no such program")
        if bench or cli:
            found.append(Peer(name, bench, cli, ways, deep, options, cli_ways))
    return found
