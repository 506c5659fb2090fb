"""Masks of allowed tokens: a schema of 20 properties, instances of it, and the
time each token's mask takes; ours, and llguidance's and xgrammar's where they
can be imported.  Arguments: a GGUF with the vocabulary, the folder of tools and
that of programs."""
import importlib.metadata
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1, "maximum": 99999},
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "email": {"type": "string", "pattern": "^[a-z0-9.]+@[a-z0-9]+\\.(com|org)$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "active": {"type": "boolean"},
        "role": {"enum": ["admin", "editor", "author", "reader", "guest"]},
        "score": {"type": "number"},
        "bio": {"type": "string", "maxLength": 400},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
        "address": {
            "type": "object",
            "properties": {
                "street": {"type": "string"},
                "city": {"type": "string"},
                "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            },
            "required": ["street", "city"],
            "additionalProperties": False,
        },
        "phone": {"type": "string", "pattern": "^\\+?[0-9 ]{6,18}$"},
        "created": {"type": "string", "format": "date-time"},
        "updated": {"type": "string", "format": "date"},
        "parent": {"type": ["integer", "null"]},
        "scores": {"type": "array", "items": {"type": "number"}},
        "language": {"enum": ["en", "de", "fr", "es", "zh", "ja"]},
        "note": {"type": "string"},
        "title": {"type": "string", "maxLength": 120},
        "url": {"type": "string", "pattern": "^https?://[a-z0-9./-]+$"},
        "links": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"rel": {"type": "string"}, "to": {"type": "integer"}},
                "required": ["rel", "to"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["id", "name", "email", "age", "active", "role"],
    "additionalProperties": False,
}
WORDS = ("the of and to in is it that was for on are with as his they at be this from have or by one had not but what "
         "all were when we there can an your which their said if do will each about how up out them then she many some "
         "so these would other into has more her two like him see time could no make than first been its who now "
         "people my made over did down only way find use may water long little very after words called just where "
         "naïve 你好 größer \"quoted\" back\\slash new\nline émile 😀").split(" ")


def text(r, n):
    return " ".join(r.choice(WORDS) for _ in range(n))


def instance(r):
    v = {
        "id": r.randint(1, 99999), "name": text(r, 3), "email": "%s.%d@mail.org" % (r.choice("anna ben carl".split()), r.randint(1, 99)),
        "age": r.randint(0, 150), "active": r.random() < 0.5, "role": r.choice(SCHEMA["properties"]["role"]["enum"]),
        "score": round(r.uniform(-1e3, 1e3), 3), "bio": text(r, 30)[:300], "tags": [text(r, 1) for _ in range(r.randint(0, 5))],
        "address": {"street": text(r, 2), "city": text(r, 1), "zip": "%05d" % r.randint(0, 99999)},
        "phone": "+49 30 %06d" % r.randint(0, 999999), "created": "2026-%02d-%02dT%02d:30:00Z" % (r.randint(1, 12), r.randint(1, 28), r.randint(0, 23)),
        "updated": "2026-%02d-%02d" % (r.randint(1, 12), r.randint(1, 28)), "parent": r.choice([None, 7, 1234]),
        "scores": [r.randint(0, 100) / 4 for _ in range(r.randint(0, 6))], "language": r.choice(["en", "de", "zh"]),
        "note": text(r, 20), "title": text(r, 6)[:100], "url": "https://example.org/%s/%d" % (r.choice("a/b-c x y.z".split()), r.randint(1, 999)),
        "links": [{"rel": text(r, 1), "to": r.randint(0, 99)} for _ in range(r.randint(0, 3))],
    }
    for k in list(v):
        if k not in SCHEMA["required"] and r.random() < 0.3:
            del v[k]
    return v


def quantiles(us):
    us = sorted(us)
    return {"tokens": len(us), "median_us": round(statistics.median(us), 2), "mean_us": round(sum(us) / len(us), 2),
            "p90_us": round(us[len(us) * 9 // 10], 2), "p99_us": round(us[len(us) * 99 // 100], 2), "max_us": round(us[-1], 1)}


def vocabulary(path):
    """The bytes of each token, of a byte-level BPE; None: control."""
    import gguf

    fields = gguf.GGUFReader(path).fields
    tokens, types = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte = {chr(b): b for b in printable}
    byte.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in printable)})
    out = []
    for i, k in zip(tokens.data, types.data):
        s = bytes(tokens.parts[i]).decode()
        out.append(None if types.parts[k][0] != 1 else bytes(byte[c] for c in s))
    eos = int(fields["tokenizer.ggml.eos_token_id"].parts[fields["tokenizer.ggml.eos_token_id"].data[0]][0])
    return out, eos


def llguidance(tokens, eos, lines):
    import llguidance as llg
    import llguidance.numpy as mask

    class Wrapped:
        def __init__(self):
            self.eos_token_id, self.bos_token_id = eos, None
            self.tokens = [t if t is not None else b"<%d>" % i for i, t in enumerate(tokens)]
            self.special_token_ids = [i for i, t in enumerate(tokens) if t is None]

        def __call__(self, s):
            return []

    t = llg.LLTokenizer(llg.TokenizerWrapper(Wrapped()), n_vocab=len(tokens))
    a = time.perf_counter()
    grammar = llg.LLMatcher.grammar_from_json_schema(SCHEMA)
    first = llg.LLMatcher(t, grammar)
    compile_ms = 1e3 * (time.perf_counter() - a)
    bits = mask.allocate_token_bitmask(1, len(tokens))
    us = []
    for ids in lines:
        m = first.deep_copy()
        for i in ids:
            a = time.perf_counter()
            mask.fill_next_token_bitmask(m, bits)
            us.append(1e6 * (time.perf_counter() - a))
            if not m.consume_token(i):
                raise ValueError(m.get_error())
    return {"engine": "llguidance", "version": importlib.metadata.version("llguidance"), "compile_ms": round(compile_ms, 2)} | quantiles(us)


def xgrammar(tokens, eos, lines):
    import numpy as np
    import xgrammar as xg

    info = xg.TokenizerInfo([t if t is not None else b"<%d>" % i for i, t in enumerate(tokens)],
                            vocab_type=xg.VocabType.RAW, stop_token_ids=[eos])
    a = time.perf_counter()
    g = xg.GrammarCompiler(info, max_threads=1).compile_json_schema(json.dumps(SCHEMA), any_whitespace=True)
    compile_ms = 1e3 * (time.perf_counter() - a)
    try:
        bits = xg.allocate_token_bitmask(1, len(tokens))
    except Exception:
        bits = np.full((1, (len(tokens) + 31) // 32), -1, dtype=np.int32)
    us, refused = [], 0  # it takes no escapes where a string has a length: those instances end there
    for ids in lines:
        m = xg.GrammarMatcher(g)
        for i in ids:
            a = time.perf_counter()
            m.fill_next_token_bitmask(bits)
            us.append(1e6 * (time.perf_counter() - a))
            if not m.accept_token(i):
                refused += 1
                break
    return {"engine": "xgrammar", "version": importlib.metadata.version("xgrammar"), "compile_ms": round(compile_ms, 2),
            "refused": refused} | quantiles(us)


def main():
    model, tools, bins = sys.argv[1:4]
    r = random.Random(1)
    texts = [json.dumps(instance(r), ensure_ascii=False) for _ in range(60)]
    out = subprocess.run([bins + "/tok-encode", "-L", "-f", "json", "--no-bos", model], input="\n".join(texts).encode() + b"\n",
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    by = {}
    for rec in map(json.loads, out.splitlines()):
        if rec.get("t") == "tokens":
            by.setdefault(rec["s"], []).extend(rec["ids"])
    lines = [by[s] for s in sorted(by)]
    name = model.split("/")[-1]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(SCHEMA, f)
        f.flush()
        ids = "".join(" ".join(map(str, x)) + "\n" for x in lines)
        ours = subprocess.run([tools + "/maskspeed", model, f.name], input=ids.encode(), stdout=subprocess.PIPE, check=True).stdout
    print(json.dumps({"model": name, "engine": "llmutils"} | json.loads(ours)), flush=True)
    try:
        tokens, eos = vocabulary(model)
    except (ImportError, KeyError) as e:
        print("grammar: no peers: %s" % e, file=sys.stderr)
        return
    for peer in llguidance, xgrammar:
        try:
            print(json.dumps({"model": name} | peer(tokens, eos, lines)), flush=True)
        except ImportError as e:
            print("grammar: %s: %s" % (peer.__name__, e), file=sys.stderr)
        except Exception as e:
            print("grammar: %s: %s" % (peer.__name__, e), file=sys.stderr)


main()
