#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a model expected at each place of a text, and how surprised it was.

    tok-encode M text | llm-prefill --all-logits --no-kv M | top.py [count]

A line for each token of the text: its id, its probability after those before
it, and the ids and probabilities of the COUNT (3) most probable ones.  The last
line is the perplexity.  Needs only cbor2.
"""
import math
import sys

from stream import numbers, records


def log_sum(scores):
    """The logarithm of the sum of exp(score)."""
    most = max(scores)
    return most + math.log(math.fsum(map(math.exp,
                                         (x - most for x in scores))))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    ids, where, total, n = [], 0, 0.0, 0
    for record in records(sys.stdin.buffer):
        if record.get("t") == "tokens":
            ids += numbers(record["ids"])
        elif record.get("t") == "error":
            raise ValueError(record.get("msg"))
        elif record.get("t") == "logits":
            scores = numbers(record["v"])
            where = record.get("pos", where) + 1    # what they predict
            base = log_sum(scores)
            best = sorted(range(len(scores)), key=scores.__getitem__,
                          reverse=True)[:count]
            top = " ".join("%d:%.3f" % (i, math.exp(scores[i] - base))
                           for i in best)
            if where < len(ids):
                lp = scores[ids[where]] - base
                total, n = total - lp, n + 1
                print("%6d %.3f  %s" % (ids[where], math.exp(lp), top))
            else:
                print("  next        %s" % top)
    if n:
        print("perplexity %.3f of %d tokens" % (math.exp(total / n), n))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit("top.py: %s" % error)
