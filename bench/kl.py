#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kl.py MODEL TEXT PROGRAM... - how far programs' logits are from exact ones.

    B=build python3 bench/kl.py m.gguf text ours './theirs $MODEL $TOKENS'

The model (llama or gemma3) is evaluated in float64 from the file's own
weights, dequantised, over windows of 1024 tokens of TEXT (4 of them).  Each
PROGRAM is a shell command that reads the tokens of a window from the file
named by $TOKENS (int32) and writes float32 logits of every position; "ours"
means llm-prefill from $B/bin, "ours OPTION..." with options.  Prints, per
program, the mean KL divergence from the exact distribution, its standard error,
how often the most probable token is the same, and the perplexity beside the
exact one.

Needs numpy, gguf and cbor2.  A tool for measuring, not a test: it takes minutes.
"""
import json, os, subprocess, sys, tempfile
import cbor2
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

WINDOW, COUNT = 1024, int(os.environ.get("WINDOWS", "4"))
B = os.environ.get("B", "build")


class Model:
    def __init__(self, path):
        r = GGUFReader(path)
        self.t = {t.name: t for t in r.tensors}
        def key(k, d=None):
            f = r.fields.get(k)
            if f is None:
                return d
            return f.contents()
        self.arch = a = key("general.architecture")
        self.layers = key(a + ".block_count")
        self.heads = key(a + ".attention.head_count")
        self.kv = key(a + ".attention.head_count_kv", self.heads)
        self.dim = key(a + ".embedding_length")
        self.hd = key(a + ".attention.key_length", self.dim // self.heads)
        self.eps = key(a + ".attention.layer_norm_rms_epsilon")
        self.base = key(a + ".rope.freq_base", 10000.0)
        self.window = key(a + ".attention.sliding_window", 0)
        self.bos = key("tokenizer.ggml.bos_token_id")
        self.cache = {}

    def w(self, name):
        if name not in self.t:
            return None
        t = self.t[name]
        x = dequantize(t.data, t.tensor_type).astype(np.float64)
        return x.reshape([int(n) for n in reversed(t.shape)])

    def norm(self, x, w):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * w

    def rope(self, x, base, neox):
        n, h, d = x.shape
        f = base ** (-np.arange(0, d, 2) / d)
        ang = np.arange(n)[:, None] * f[None]
        c, s = np.cos(ang)[:, None], np.sin(ang)[:, None]
        y = np.empty_like(x)
        if neox:
            a, b = x[..., : d // 2], x[..., d // 2 :]
            y[..., : d // 2], y[..., d // 2 :] = a * c - b * s, a * s + b * c
        else:
            a, b = x[..., 0::2], x[..., 1::2]
            y[..., 0::2], y[..., 1::2] = a * c - b * s, a * s + b * c
        return y

    def hidden(self, tok):
        gemma = self.arch == "gemma3"
        n = len(tok)
        emb = self.t["token_embd.weight"]
        x = dequantize(emb.data[tok], emb.tensor_type).astype(np.float64)
        if gemma:
            x *= np.sqrt(self.dim)
        i = np.arange(n)
        for l in range(self.layers):
            p = f"blk.{l}."
            h = self.norm(x, self.w(p + "attn_norm.weight"))
            q = (h @ self.w(p + "attn_q.weight").T).reshape(n, self.heads, self.hd)
            k = (h @ self.w(p + "attn_k.weight").T).reshape(n, self.kv, self.hd)
            v = (h @ self.w(p + "attn_v.weight").T).reshape(n, self.kv, self.hd)
            mask = i[:, None] >= i[None]
            base = self.base
            if gemma:
                q = self.norm(q, self.w(p + "attn_q_norm.weight"))
                k = self.norm(k, self.w(p + "attn_k_norm.weight"))
                if (l + 1) % 6:
                    base = 10000.0
                    mask &= i[:, None] - i[None] < self.window
            q, k = self.rope(q, base, gemma), self.rope(k, base, gemma)
            g = self.heads // self.kv
            o = np.empty((n, self.heads, self.hd))
            for j in range(self.heads):
                s = q[:, j] @ k[:, j // g].T / np.sqrt(self.hd)
                s[~mask] = -np.inf
                s -= s.max(-1, keepdims=True)
                np.exp(s, out=s)
                o[:, j] = (s / s.sum(-1, keepdims=True)) @ v[:, j // g]
            o = o.reshape(n, -1) @ self.w(p + "attn_output.weight").T
            if gemma:
                o = self.norm(o, self.w(p + "post_attention_norm.weight"))
            x = x + o
            h = self.norm(x, self.w(p + "ffn_norm.weight"))
            a = h @ self.w(p + "ffn_gate.weight").T
            if gemma:
                a = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))
            else:
                a = a / (1 + np.exp(-a))
            o = (a * (h @ self.w(p + "ffn_up.weight").T)) @ self.w(p + "ffn_down.weight").T
            if gemma:
                o = self.norm(o, self.w(p + "post_ffw_norm.weight"))
            x = x + o
        return self.norm(x, self.w("output_norm.weight"))

    def head(self):
        if "head" not in self.cache:
            t = self.t.get("output.weight", self.t["token_embd.weight"])
            self.cache["head"] = dequantize(t.data, t.tensor_type)
        return self.cache["head"]


def log_softmax(z):
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def ours(options, path, tok, out):
    """llm-prefill's logits of all positions, as raw floats, to the file OUT."""
    p = subprocess.Popen([B + "/bin/llm-prefill", "--all-logits", "--no-kv", "-q", "-f", "cbor", *options, path],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdin.write(cbor2.dumps({"t": "tokens", "s": 0, "ids": [int(i) for i in tok]}))
    p.stdin.close()
    d = cbor2.CBORDecoder(p.stdout)
    while True:
        try:
            r = d.decode()
        except cbor2.CBORDecodeEOF:
            break
        if isinstance(r, dict) and r.get("t") == "logits":
            out.write(r["v"].value)
    if p.wait():
        sys.exit("llm-prefill failed")


def main():
    path, text, progs = sys.argv[1], sys.argv[2], sys.argv[3:]
    m = Model(path)
    line = subprocess.run(f"head -c 60000 '{text}' | {B}/bin/tok-encode --no-bos -f json '{path}'",
                          shell=True, check=True, capture_output=True).stdout.splitlines()
    ids = [i for r in map(json.loads, line) if r.get("t") == "tokens" for i in r["ids"]]
    bos = [m.bos] if m.arch == "gemma3" else []
    step = WINDOW - len(bos)
    kl = {p: [] for p in progs}
    same = {p: 0 for p in progs}
    nll = {p: [] for p in ["exact"] + progs}
    for k in range(COUNT):
        tok = np.array(bos + ids[k * step : (k + 1) * step], dtype=np.int32)
        with tempfile.TemporaryDirectory() as d:
            tf = os.path.join(d, "tokens")
            tok.tofile(tf)
            env = dict(os.environ, TOKENS=tf, MODEL=path)
            out = {}
            for p in progs:
                f = os.path.join(d, "out%d" % len(out))
                with open(f, "wb") as fh:
                    if p.split()[0] == "ours":
                        ours(p.split()[1:], path, tok, fh)
                    else:
                        subprocess.run(p, shell=True, check=True, env=env, stdout=fh)
                out[p] = np.memmap(f, dtype=np.float32, mode="r").reshape(len(tok), -1)
            h = m.hidden(tok)
            head = m.head()
            nv = head.shape[0]
            for a in range(0, len(tok), 64):
                z = np.empty((min(64, len(tok) - a), nv))
                for b in range(0, nv, 32768):
                    z[:, b : b + 32768] = h[a : a + 64] @ head[b : b + 32768].astype(np.float64).T
                lp = log_softmax(z)
                pr = np.exp(lp)
                rows = np.arange(len(z))
                nxt = tok[a + 1 : a + 1 + len(z)]
                nll["exact"] += list(-lp[rows[: len(nxt)], nxt])
                for p in progs:
                    lq = log_softmax(out[p][a : a + 64].astype(np.float64))
                    kl[p] += list((pr * (lp - lq)).sum(-1))
                    same[p] += int((lq.argmax(-1) == lp.argmax(-1)).sum())
                    nll[p] += list(-lq[rows[: len(nxt)], nxt])
            del out
        print(f"window {k + 1} of {COUNT}", file=sys.stderr)
    n = len(kl[progs[0]])
    exact = float(np.exp(np.mean(nll["exact"])))
    for p in progs:
        a = np.array(kl[p])
        print(json.dumps({"program": p, "tokens": n, "kl": float(a.mean()),
                          "kl_se": float(a.std() / np.sqrt(n)), "top1": same[p] / n,
                          "ppl": float(np.exp(np.mean(nll[p]))), "ppl_exact": exact}))


main()
