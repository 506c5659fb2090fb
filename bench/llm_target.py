# SPDX-License-Identifier: MIT
"""llm_target.py - what each line of the measurements should reach."""

# Architecture, layers, width and general.file_type of models of which something
# is wanted.
KINDS = {
    ("llama", 30, 576, 3): "smollm2",  # Q4_1
    ("gemma3", 18, 640, 15): "gemma",  # Q4_K_M
    ("llama", 16, 2048, 15): "1b-q4_k_m",
    ("llama", 16, 2048, 7): "1b-q8_0",
}

# Per test and model: at least so often a peer's rate ("better": that of the
# faster one), or at least such a part of a limit.  "first" and "memory" are at
# most such a part of llama.cpp's time and memory.
DECODE = {
    "smollm2": {"ik": 1.8, "llama.cpp": 2.6, "read": 0.85},
    "gemma": {"ik": 1.15, "llama.cpp": 1.6, "read": 0.90},
    "1b-q4_k_m": {"ik": 1.4, "read": 0.85},
    "1b-q8_0": {"ik": 1.15, "read": 0.90},
}
PREFILL = {
    "smollm2": {"ik": 1.7},
    "gemma": {"ik": 1.9},
    "1b-q4_k_m": {"ik": 1.7},
    "1b-q8_0": {"ik": 1.5},
}
TILES = {"better": 2.0}  # prefill, with AMX
OTHER = {
    "decode-4k": {"better": 1.5},
    "decode-16k": {"better": 1.5},
    "share-4": {"one": 3.0},
    "first": {"time": 0.25, "memory": 0.6},
    "busy": {"better": 2.0},
    "kernel": {"int8": 0.7},
    "size": {"bytes": 5e6},
}
AT_MOST = ("time", "memory", "bytes")


def target(test, model, tiles):
    if test == "decode":
        return DECODE.get(model, {})
    if test == "prefill":
        return TILES if tiles else PREFILL.get(model, {})
    if test == "kernel" and tiles:
        return {}
    return OTHER.get(test, {})


def speculation(text, drafter):
    """Guesses that are right pay; where they are not, they cost next to nothing."""
    if text == "plain":
        return {"ratio": 0.97}
    return {"ratio": 2.0} if drafter == "ngram" else {}


def judge(line, wanted, got):
    """Add to a line what was WANTED of it, and whether what it GOT, by the same
    names, is enough.  What could not be measured, as when a peer is not there,
    is not judged; with nothing to judge "met" is null."""
    line["target"] = wanted
    line["reached"] = {k: round(got[k], 3) for k in wanted if got.get(k) is not None}
    bad = [k for k, v in line["reached"].items() if (v > wanted[k] if k in AT_MOST else v < wanted[k])]
    line["missed"] = bad
    line["met"] = not bad if line["reached"] else None
    return line
