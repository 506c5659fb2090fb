#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold what llm-prefill and llm-decode say of a real model to golden numbers.

    oracle.py NUMBERS LOGITS ANSWER

NUMBERS (tests/data/MODEL.json) has a text's tokens, their negative log
likelihoods, the 8 highest scores after each, and the greedy answer, all from
the weights as the file has them, by transformers in float32.  LOGITS is what
llm-prefill --all-logits makes of the tokens and the greedy answer, ANSWER what
llm-decode --temp 0 -f json makes of them without the answer's last 18.

Products of quantised weights have quantised activations, here as in llama.cpp,
whose scores differ from these numbers by 0.23 (root of the mean square) and by
1.4 at most.  So picks may differ where two tokens are that near to each other.
"""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples"))
from stream import numbers, records  # noqa: E402

PPL = 0.005     # of the perplexity, relative
NLL = 0.6       # of one token
RMS = 0.23      # of scores
GAP = 0.5       # between the best score and that of a pick


def main():
    with open(sys.argv[1], encoding="utf-8") as fp:
        want = json.load(fp)
    text, greedy = want["tokens"], want["greedy"]
    ids = text + greedy
    with open(sys.argv[2], "rb") as fp:
        streams = [r for r in records(fp) if r.get("t") == "logits"]
    with open(sys.argv[3], encoding="utf-8") as fp:
        lines = [json.loads(line) for line in fp]
    answer = [i for r in lines if r.get("t") == "tokens" for i in r["ids"]]

    nll, squares, picks, near, bad = [], [], 0, [], []
    worst = 0.0
    first = len(greedy)     # where the greedy answer may change
    for i, record in enumerate(streams):
        v = numbers(record["v"])
        best = max(v)
        pick = v.index(best)
        if i < len(text) - 1:
            total = math.fsum(math.exp(x - best) for x in v)
            nll.append(math.log(total) + best - v[ids[i + 1]])
        if i < len(text):
            top = dict(want["top"][i])
            squares += [(v[k] - x) ** 2 for k, x in top.items()]
            gap = max(top.values()) - top.get(pick, -math.inf)
            worst = max(worst, gap)
            picks += gap == 0
        if len(text) - 1 <= i < len(ids) - 1 and pick != ids[i + 1]:
            near.append(best - v[ids[i + 1]])
            first = min(first, i + 1 - len(text))
    if len(streams) != len(ids):
        sys.exit("%d logits, not %d" % (len(streams), len(ids)))

    def bound(name, value, most):
        print("%-48s %8.4f  (at most %g)" % (name, value, most))
        if not value <= most:
            bad.append(name)

    ppl = math.exp(math.fsum(nll) / len(nll))
    golden = math.exp(math.fsum(want["nll"]) / len(nll))
    print("perplexity %.4f, golden %.4f" % (ppl, golden))
    bound("perplexity, relative difference", abs(ppl / golden - 1), PPL)
    bound("NLL of a token, greatest difference",
          max(abs(a - b) for a, b in zip(nll, want["nll"])), NLL)
    bound("the 8 highest scores, RMS difference",
          math.sqrt(math.fsum(squares) / len(squares)), RMS)
    print("%d of %d picks are the golden ones" % (picks, len(text)))
    bound("a pick's golden score below the best", worst, GAP)
    print("%d of %d greedy tokens, each after the golden ones, are golden" %
          (len(greedy) - len(near), len(greedy)))
    bound("a golden token's score below the pick's", max(near, default=0), GAP)

    # llm-decode goes its own way, but not before the first of these.
    same = 0
    for a, b in zip(answer, greedy[-18:]):
        if a != b:
            break
        same += 1
    print("%d of 18 tokens of llm-decode are golden" % same)
    if same != min(18, first - len(greedy) + 18):
        bad.append("llm-decode")
    if bad:
        sys.exit("out of bounds: " + ", ".join(bad))


if __name__ == "__main__":
    main()
