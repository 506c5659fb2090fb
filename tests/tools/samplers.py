#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samplers.py LLM_SAMPLE [CASES [SEED]] - every sampler, alone and in random
chains, against the textbook in float64.

llm-sample draws from seeded logits, and tells of each draw the whole
distribution that it was made from; that distribution must be the one that is
computed here, and the token one that it has.  Where a decision hangs on the
last digits of a float (a cut between two tokens, say), the case is passed over,
and few may be.
"""
import json
import math
import random
import struct
import subprocess
import sys

INF = math.inf
DEFAULT_ORDER = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p",
                 "min_p", "xtc", "temperature", "adaptive_p"]
OFF = {"temp": 1, "dynatemp-range": 0, "dynatemp-exp": 1, "top-k": 0,
       "top-p": 1, "min-p": 0, "typical": 1, "top-n-sigma": -1,
       "xtc-probability": 0, "xtc-threshold": 0.1, "repeat-penalty": 1,
       "presence-penalty": 0, "frequency-penalty": 0, "repeat-last-n": 64,
       "dry-multiplier": 0, "dry-base": 1.75, "dry-allowed-length": 2,
       "dry-penalty-last-n": 64, "mirostat": 0, "mirostat-ent": 5,
       "mirostat-lr": 0.1, "adaptive-target": -1, "adaptive-decay": 0.9,
       "min-keep": 0}


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class Close(Exception):
    """Rounding may decide otherwise."""


def apart(a, b):
    if a != b and abs(a - b) <= 2e-5 * max(abs(a), abs(b), 1e-3):
        raise Close
    return True


# ---- random numbers: Philox4x32-10, words 2 and 3 ----

def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xffffffff,
             a >> 32 ^ c[3] ^ k[1], a & 0xffffffff]
        k = [(k[0] + 0x9e3779b9) & 0xffffffff, (k[1] + 0xbb67ae85) & 0xffffffff]
    return c


def units(seed, seq, pos):
    lo, hi = lambda x: x & 0xffffffff, lambda x: x >> 32
    r = philox([lo(pos), hi(pos), lo(seq), hi(seq)], [lo(seed), hi(seed)])
    return [((r[i + 1] << 32 | r[i]) >> 11) * 2.0 ** -53 for i in (0, 2)]


# ---- the samplers, on a dictionary from ids to scores ----

def ranked(s):
    return sorted(s, key=lambda i: (-s[i], i))


def probs(s):
    top = max(s.values())
    w = {i: math.exp(x - top) for i, x in s.items()}
    z = math.fsum(w.values())
    return {i: v / z for i, v in w.items()}


def entropy(p):
    return -math.fsum(v * math.log(v) for v in p.values() if v > 0)


def only(s, ids):
    return {i: s[i] for i in ids}


def at_least(o):
    return max(1, o["min-keep"])


def window(hist, last):
    return hist if last < 0 else hist[len(hist) - min(last, len(hist)):]


def penalties(s, o, hist, _):
    recent = window(hist, o["repeat-last-n"])
    for i in set(recent) & set(s):
        x = s[i]
        x = x / o["repeat-penalty"] if x > 0 else x * o["repeat-penalty"]
        x -= recent.count(i) * o["frequency-penalty"] + o["presence-penalty"]
        s[i] = x
    return s


def dry(s, o, hist, _):
    h = window(hist, o["dry-penalty-last-n"])
    longest = {}
    if not o["dry-multiplier"]:
        return s
    for j in range(len(h) - 1):
        n = 0
        while n <= j and h[j - n] == h[len(h) - 1 - n]:
            n += 1
        if n >= o["dry-allowed-length"] and len(h) > o["dry-allowed-length"]:
            longest[h[j + 1]] = max(longest.get(h[j + 1], 0), n)
    for i, n in longest.items():
        if i in s:
            s[i] -= o["dry-multiplier"] * \
                o["dry-base"] ** (n - o["dry-allowed-length"])
    return s


def top_n_sigma(s, o, *_):
    if o["top-n-sigma"] <= 0:
        return s
    mean = math.fsum(s.values()) / len(s)
    dev = math.sqrt(math.fsum((x - mean) ** 2 for x in s.values()) / len(s))
    border = max(s.values()) - o["top-n-sigma"] * dev
    ids = ranked(s)
    n = sum(1 for i in ids if apart(s[i], border) and s[i] >= border)
    return only(s, ids[:max(n, at_least(o))])


def top_k(s, o, *_):
    return only(s, ranked(s)[:o["top-k"]]) if o["top-k"] > 0 else s


def typ_p(s, o, *_):
    if o["typical"] >= 1:
        return s
    p = probs(s)
    h = entropy(p)
    far = {i: abs(-math.log(v) - h) if v > 0 else INF for i, v in p.items()}
    ids = sorted(s, key=lambda i: (far[i], i))
    have, n = 0, 0
    for i in ids:
        have += p[i]
        n += 1
        if have > o["typical"] and n >= at_least(o):
            break
    apart(have, o["typical"])
    apart(have - p[ids[n - 1]], o["typical"])
    for a, b in zip(ids, ids[1:]):
        if s[a] != s[b] and far[b] < INF and abs(far[a] - far[b]) < 1e-4:
            raise Close
    return only(s, ids[:n])


def top_p(s, o, *_):
    if o["top-p"] >= 1:
        return s
    p, ids = probs(s), ranked(s)
    have, n = 0, 0
    for i in ids:
        have += p[i]
        n += 1
        apart(have, o["top-p"])
        if have >= o["top-p"] and n >= at_least(o):
            break
    return only(s, ids[:n])


def min_p(s, o, *_):
    if o["min-p"] <= 0:
        return s
    p, ids = probs(s), ranked(s)
    border = p[ids[0]] * o["min-p"]
    n = sum(1 for i in ids if apart(p[i], border) and p[i] >= border)
    return only(s, ids[:max(n, at_least(o))])


def xtc(s, o, _, chance):
    if o["xtc-threshold"] > 0.5 or chance >= o["xtc-probability"]:
        return s
    p, ids = probs(s), ranked(s)
    n = sum(1 for i in ids if apart(p[i], o["xtc-threshold"])
            and p[i] >= o["xtc-threshold"])
    if n < 2 or len(ids) - (n - 1) < at_least(o):
        return s
    return only(s, ids[n - 1:])


def temperature(s, o, *_):
    t, r = o["temp"], o["dynatemp-range"]
    if r > 0:
        if len(s) < 2:
            return s
        part = entropy(probs(s)) / math.log(len(s))
        low = max(0, t - r)
        t = low + (t + r - low) * min(1, max(0, part)) ** o["dynatemp-exp"]
        if t < 1e-3:
            raise Close
    return {i: x / t for i, x in s.items()}


SAMPLERS = {"penalties": penalties, "dry": dry, "top_n_sigma": top_n_sigma,
            "top_k": top_k, "typ_p": typ_p, "top_p": top_p, "min_p": min_p,
            "xtc": xtc, "temperature": temperature}


def mirostat_1(s, n_vocab, mu):
    ids = ranked(s)
    xs = [s[i] for i in ids[:100]]
    if len(xs) < 2:
        return only(s, ids[:1])
    t = [math.log((i + 2) / (i + 1)) for i in range(len(xs) - 1)]
    b = [xs[i] - xs[i + 1] for i in range(len(xs) - 1)]
    slope = sum(x * y for x, y in zip(t, b)) / sum(x * x for x in t)
    e = slope - 1
    k = (e * 2 ** mu / (1 - n_vocab ** -e)) ** (1 / slope)
    apart(k, round(k))
    return only(s, ids[:min(max(1, int(k)), len(ids))])


def mirostat_2(s, mu):
    p, ids = probs(s), ranked(s)
    n = sum(1 for i in ids if p[i] > 0 and apart(-math.log2(p[i]), mu)
            and -math.log2(p[i]) <= mu)
    return only(s, ids[:max(n, 1)])


class State:
    """What a sequence learns."""

    def __init__(self, o):
        self.mu = 2 * o["mirostat-ent"]
        self.weight = 1 / (1 - o["adaptive-decay"])
        self.sum = o["adaptive-target"] * self.weight
        self.before = None

    def learn(self, o, i, p):
        if o["mirostat"]:
            self.mu -= o["mirostat-lr"] * (-math.log2(p) - o["mirostat-ent"])
        elif self.before:
            self.sum = self.before[i] + o["adaptive-decay"] * self.sum
            self.weight = 1 + o["adaptive-decay"] * self.weight


def adaptive(s, o, state):
    p = probs(s)
    target = 2 * o["adaptive-target"] - state.sum / state.weight
    target = min(1, max(0, target))
    far = {i: abs(v - target) / 0.3 for i, v in p.items()}
    state.before = p
    return {i: 5 - 10 * d * d / (1 + d) for i, d in far.items()}


def chain(case, logits, hist, state, pos):
    """Token to probability, as it is drawn."""
    o, order = case["o"], case["order"]
    s = dict(enumerate(logits))
    for i, add in case["bias"]:
        s[i] += add
    s = {i: x for i, x in s.items() if x > -INF and i not in case["never"]}
    chance = units(o["seed"], 0, pos)[1]
    greedy = o["temp"] <= 0 and o["dynatemp-range"] <= 0
    for name in order:
        if name == "adaptive_p" or \
           (greedy and name not in ("penalties", "dry")) or \
           (o["mirostat"] and
                name not in ("penalties", "dry", "temperature")):
            continue
        s = SAMPLERS[name](s, o, hist, chance)
    if greedy:
        ids = ranked(s)
        if len(ids) > 1:
            apart(s[ids[0]], s[ids[1]])
        return {ids[0]: 1.0}
    if o["mirostat"] == 1:
        s = mirostat_1(s, len(logits), state.mu)
    elif o["mirostat"] == 2:
        s = mirostat_2(s, state.mu)
    elif o["adaptive-target"] >= 0 and "adaptive_p" in order:
        s = adaptive(s, o, state)
    return probs(s)


# ---- cases ----

def some_logits(r, n):
    kind = r.random()
    if kind < 0.15:                     # a few values, many equal
        return [float(r.randrange(-3, 4)) for _ in range(n)]
    if kind < 0.3:                      # one that leads
        x = [f32(r.gauss(0, 1)) for _ in range(n)]
        x[r.randrange(n)] = 9.0
        return x
    spread = r.choice([0.3, 1, 3])
    x = [f32(r.gauss(0, spread)) for _ in range(n)]
    if kind < 0.5:                      # some ruled out
        x = [-INF if r.random() < 0.3 and i else v for i, v in enumerate(x)]
    return x


RANDOM = {
    "temp": lambda r: r.choice([0, 0.3, 0.7, 1.4, 3]),
    "dynatemp-range": lambda r: r.uniform(0.1, 1.5),
    "dynatemp-exp": lambda r: r.uniform(0.5, 2),
    "top-k": lambda r: r.randrange(1, 60),
    "top-p": lambda r: r.uniform(0, 1),
    "min-p": lambda r: r.uniform(0, 0.5),
    "typical": lambda r: r.uniform(0, 1),
    "top-n-sigma": lambda r: r.uniform(0.1, 3),
    "xtc-probability": lambda r: r.choice([0.5, 1]),
    "xtc-threshold": lambda r: r.uniform(0.01, 0.3),
    "repeat-penalty": lambda r: r.uniform(0.5, 2),
    "presence-penalty": lambda r: r.uniform(-1, 2),
    "frequency-penalty": lambda r: r.uniform(-0.5, 1),
    "repeat-last-n": lambda r: r.randrange(-1, 40),
    "dry-multiplier": lambda r: r.uniform(0.1, 3),
    "dry-base": lambda r: r.uniform(1, 2),
    "dry-allowed-length": lambda r: r.randrange(0, 4),
    "dry-penalty-last-n": lambda r: r.randrange(-1, 60),
    "mirostat": lambda r: r.choice([1, 2]),
    "mirostat-ent": lambda r: r.uniform(0.5, 6),
    "mirostat-lr": lambda r: r.uniform(0.05, 0.5),
    "adaptive-target": lambda r: r.uniform(0, 1),
    "adaptive-decay": lambda r: r.uniform(0, 0.99),
    "min-keep": lambda r: r.randrange(0, 8),
}
# What says that a sampler is used, and what else it has.
ALONE = [["temp"], ["temp", "dynatemp-range"], ["dynatemp-range", "dynatemp-exp"],
         ["top-k"], ["top-p"], ["top-p", "min-keep"], ["min-p"],
         ["min-p", "min-keep"], ["typical"], ["typical", "min-keep"],
         ["top-n-sigma"], ["top-n-sigma", "min-keep"],
         ["xtc-probability", "xtc-threshold"],
         ["xtc-probability", "xtc-threshold", "min-keep"],
         ["repeat-penalty"], ["presence-penalty"],
         ["frequency-penalty", "repeat-last-n"],
         ["dry-multiplier"], ["dry-multiplier", "dry-base"],
         ["dry-multiplier", "dry-allowed-length", "dry-penalty-last-n"],
         ["mirostat"], ["mirostat", "mirostat-ent", "mirostat-lr"],
         ["mirostat", "mirostat-ent", "temp", "repeat-penalty"],
         ["adaptive-target"], ["adaptive-target", "adaptive-decay"],
         ["adaptive-target", "adaptive-decay", "min-p", "temp"]]


def make_case(r, number):
    o = dict(OFF)
    order = list(DEFAULT_ORDER)
    names = ALONE[number % (2 * len(ALONE))] \
        if number % (2 * len(ALONE)) < len(ALONE) \
        else [k for k in RANDOM if r.random() < 0.35]
    n = r.randrange(1, 200)
    case = {"bias": [], "never": []}
    for k in names:
        o[k] = RANDOM[k](r)
    o = {k: f32(v) if isinstance(v, float) else v for k, v in o.items()}
    o["seed"] = r.randrange(1 << 48)
    if number % 3 == 2:
        r.shuffle(order)
        order = order[:r.randrange(len(order) + 1)] + r.sample(order, 2)
    if n > 9 and r.random() < 0.3:
        case["bias"] = [[i, f32(r.uniform(-3, 3))]
                        for i in r.sample(range(n), 3)]
        case["never"] = r.sample(range(1, n), 3)
    few = r.randrange(1, n + 1) if r.random() < 0.5 else min(n, 3)
    case.update(o=o, order=order, n=n,
                hist=[r.randrange(few) for _ in range(r.randrange(60))],
                steps=[some_logits(r, n) for _ in
                       range(8 if o["mirostat"] or o["adaptive-target"] >= 0
                             else 2)])
    return case


def put_case(case, number):
    out = {"t": "set", "s": number, "logprobs": 1024, "logprobs-of": "sampled",
           "samplers": ";".join(case["order"]), "dry-sequence-breaker": "none",
           "logit-bias": case["bias"], "suppress": case["never"], **case["o"]}
    yield out
    if case["hist"]:
        yield {"t": "tokens", "s": number, "ids": case["hist"]}
    for pos, x in enumerate(case["steps"]):
        yield {"t": "logits", "s": number, "pos": pos,
               "v": ["-Infinity" if v == -INF else v for v in x]}


def compare(want, rec):
    """The worst error of a logarithm; INF when tokens are others."""
    got = dict(map(tuple, rec["top"][0]))
    if rec["ids"][0] not in got or abs(rec["lp"][0] - got[rec["ids"][0]]) > 1e-5:
        return INF
    want = {i: math.log(p) for i, p in want.items() if p > 1e-30}
    got = {i: x for i, x in got.items() if x > math.log(1e-30)}
    if set(want) != set(got):
        return INF
    return max(abs(want[i] - got[i]) / (1 + abs(want[i])) for i in want)


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 520
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 11)
    cases = [make_case(r, i) for i in range(count)]
    text = "".join(json.dumps(rec) + "\n" for i, c in enumerate(cases)
                   for rec in put_case(c, i))
    out = subprocess.run([program, "-f", "json"], input=text, text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    drawn = [[] for _ in cases]
    for line in out.splitlines():
        rec = json.loads(line)
        if rec["t"] == "tokens":
            drawn[rec["s"]].append(rec)
    worst = draws = close = bad = 0
    for i, case in enumerate(cases):
        state, hist = State(case["o"]), list(case["hist"])
        if len(drawn[i]) != len(case["steps"]):
            sys.exit(f"case {i}: {len(drawn[i])} draws")
        for pos, rec in enumerate(drawn[i]):
            try:
                want = chain(case, case["steps"][pos], hist, state, pos)
            except Close:
                close += 1
                break
            error = compare(want, rec)
            worst = max(worst, error)
            draws += 1
            if error > 1e-4:
                bad += 1
                changed = {k: v for k, v in case["o"].items()
                           if v != OFF.get(k)}
                print(f"case {i}, draw {pos}: error {error}: {changed}, "
                      f"order {case['order']}, {case['n']} tokens",
                      file=sys.stderr)
                break
            token = rec["ids"][0]
            state.learn(case["o"], token, want[token])
            hist.append(token)
    print(f"{count} chains, {draws} distributions, {bad} wrong, "
          f"{close} too close to tell; the worst error is {worst:.1e}")
    if bad or close > count / 5 or draws < count:
        sys.exit(1)


main()
