#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speed of tok-encode beside other tokenizers, interleaved, on the same text.

    tok.py MODEL.gguf TEXT...

B names the build folder.  Peers that are not there are left out: Python's
tokenizers, tiktoken and quicktok (with the gguf package to read the
vocabulary), and llama.cpp, whose llama-tokenize BENCH_LLAMA_TOK names.  One JSON
line per text and program: median MB/s, one thread, and our ratio to it."""
import json, os, statistics, subprocess, sys, tempfile, time

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
PEER_MB = float(os.environ.get("BENCH_PEER_MB", "10"))
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

# The patterns by which the vocabularies that we measure split.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{%s}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPLITS = {
    "smollm": [r"\p{N}", GPT2], "starcoder": [r"\p{N}", GPT2], "gpt-2": [GPT2],
    "llama-bpe": [LLAMA3 % "1,3"], "qwen2": [LLAMA3 % "1"],
}


def timed(f):
    t = time.perf_counter()
    f()
    return time.perf_counter() - t


def documents(text):
    """About 10 KB each, cut at newlines: what the peers are fastest on."""
    out, at = [], 0
    while at < len(text):
        end = text.find("\n", at + 10000)
        end = len(text) if end < 0 else end + 1
        out.append(text[at:end])
        at = end
    return out


def vocabulary(path):
    import gguf
    r = gguf.GGUFReader(path)
    get = lambda k: r.fields[k].contents() if k in r.fields else None
    return (get("tokenizer.ggml.tokens"), get("tokenizer.ggml.merges"),
            get("tokenizer.ggml.pre"), get("tokenizer.ggml.token_type"))


def hugging_face(path):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    tokens, merges, pre, _ = vocabulary(path)
    t = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(tokens)},
                             merges=[tuple(m.split(" ")) for m in merges],
                             ignore_merges=pre == "llama-bpe"))
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(s), "isolated") for s in SPLITS[pre]] +
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return lambda docs: [t.encode(d, add_special_tokens=False).ids for d in docs]


def alphabet():
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in keep]
    return {**{chr(b): b for b in keep}, **{chr(256 + i): b for i, b in enumerate(other)}}


def tik_token(path):
    """Only where ranks are ids, which tiktoken takes for granted."""
    import tiktoken
    tokens, _, pre, types = vocabulary(path)
    if len(SPLITS[pre]) > 1:
        raise ValueError("two splits")
    a = alphabet()
    ranks = {bytes(a[c] for c in s): i for i, (s, k) in enumerate(zip(tokens, types))
             if k == 1 and all(c in a for c in s)}
    e = tiktoken.Encoding("bench", pat_str=SPLITS[pre][0], mergeable_ranks=ranks, special_tokens={})
    return lambda docs: [e.encode_ordinary(d) for d in docs]


def quick_tok(path):
    """It brings its vocabularies along."""
    import quicktok
    e = quicktok.get_encoding({"llama-bpe": "llama3", "qwen2": "qwen3"}[vocabulary(path)[2]])
    return lambda docs: [e.encode(d) for d in docs]


def ours(model, path, threads=1):
    def run():
        subprocess.run([os.environ.get("B", "build") + "/bin/tok-encode", "-t", str(threads), model, path],
                       stdout=subprocess.DEVNULL, check=True)
    return timed(run)


def llama(model, path, empty):
    """A whole process, less one that has nothing to encode."""
    def run(p):
        subprocess.run([os.environ["BENCH_LLAMA_TOK"], "-m", model, "-f", p, "--show-count", "--log-disable",
                        "--no-bos", "--no-parse-special"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    return timed(lambda: run(path)) - timed(lambda: run(empty))


def line(model, text, program, mb_s, ratio=None, **more):
    rec = {"bench": "tok", "model": os.path.basename(model), "text": os.path.basename(text),
           "program": program, "mb_s": round(mb_s, 2), **more}
    if ratio:
        rec["ours_is"] = round(ratio, 2)
    print(json.dumps(rec), flush=True)


def measure(model, text):
    data = open(text, "rb").read()
    size = len(data) / 1e6
    part = data[:int(PEER_MB * 1e6)].decode("utf-8", "ignore")
    tmp = tempfile.NamedTemporaryFile(suffix=".txt")
    tmp.write(part.encode())
    tmp.flush()
    empty = tempfile.NamedTemporaryFile(suffix=".txt")
    empty.write(b"a\n")
    empty.flush()
    mb, docs = len(part.encode()) / 1e6, documents(part)
    peers = {}
    for name, make in (("tokenizers", hugging_face), ("tiktoken", tik_token), ("quicktok", quick_tok)):
        try:
            enc = make(model)
            peers[name] = lambda enc=enc: timed(lambda: enc(docs))
        except Exception as e:  # a peer that is not there is no failure
            print(f"# {name}: {e}", file=sys.stderr)
    if "BENCH_LLAMA_TOK" in os.environ:
        peers["llama.cpp"] = lambda: llama(model, tmp.name, empty.name)
    got = {name: [] for name in peers}
    one, two, small = [], [], []
    for _ in range(ROUNDS):
        one.append(ours(model, text))
        two.append(ours(model, text, 2))
        small.append(ours(model, tmp.name))
        for name, run in peers.items():
            got[name].append(run())
    m = statistics.median
    line(model, text, "tok-encode", size / m(one), threads=1, mb=round(size, 1))
    line(model, text, "tok-encode", size / m(two), threads=2, scale=round(m(a / b for a, b in zip(one, two)), 2))
    for name, t in got.items():
        line(model, text, name, mb / m(t), m(b / a for a, b in zip(small, t)), mb=round(mb, 1))


if __name__ == "__main__":
    for path in sys.argv[2:]:
        measure(sys.argv[1], path)
