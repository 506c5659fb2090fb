# SPDX-License-Identifier: MIT
"""schema_random.py PROGRAM SEED SCHEMAS WALKS: random JSON Schemas, as
tests/tools/schema.c compiles them, against the jsonschema package.

Of each schema WALKS texts are taken from the grammar at random: all must be
valid.  And values that look like the schema are made without the grammar: those
that are valid, and no others, must be taken in every spelling of json.dumps.
Ends with counts; exit status 1 where anything is wrong."""
import importlib.metadata
import json
import random
import subprocess
import sys
from collections import Counter

from jsonschema import Draft202012Validator

SPELLINGS = [dict(ensure_ascii=a, separators=s)
             for a in (True, False) for s in (None, (",", ":"))]
# Before, it took members for unevaluated that additionalProperties evaluates.
VERSION = tuple(int(n) for n in
                importlib.metadata.version("jsonschema").split(".")[:2])
UNEVALUATED = VERSION >= (4, 20)
# No text ends in a line feed, before which Python's $ would match, too.
WORDS = ["", "a", "b", "ab", "abc", "x", "foo", "bar", "7", "42", "a b", "é",
         "日本", "\U0001f600", "\t", 'say "hi"', "back\\slash", "a/b",
         "long text here", "aaaaaaaa", "ABC", "zz9", "a-1"]
KEYS = ["a", "b", "c", "id", "name", "é", 'q"', "x1", "x2", "kind"]
PATTERNS = ["^a", "b$", "^[a-z]+$", "^[0-9]{1,3}$", "a|b", "^x[0-9]$", "o{2}",
            "^(foo|bar)$", "^.{2,4}$", "[^a]", "^[A-Z]{2,}$", "a.c", "\\/", "é"]
FORMATS = {"date": ["2024-02-29", "2023-02-29", "1999-12-31"],
           "time": ["12:30:00Z", "23:59:59.5+01:00", "24:00:00Z"],
           "date-time": ["2024-02-29T01:02:03Z", "2024-02-30T01:02:03Z"],
           "ipv4": ["127.0.0.1", "256.1.1.1"],
           "ipv6": ["::1", "1::2::3", "2001:db8::7"],
           "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08"],
           "email": ["joe@example.org", "joe"]}
CHECKER = Draft202012Validator.FORMAT_CHECKER
FORMATS = {k: v for k, v in FORMATS.items() if k in CHECKER.checkers}
ANNOTATIONS = [("title", "T"), ("description", "D"), ("default", 1),
               ("examples", [1, "x"]), ("$comment", "c"), ("deprecated", True)]


class Maker:
    """Random schemas, and values for them."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.defs = []

    def maybe(self, p):
        return self.r.random() < p

    # ---- schemas ----

    def number(self):
        r = self.r
        return r.choice([r.randrange(-20, 20), r.randrange(-1000, 1000),
                         r.randrange(-8, 8) / 2, r.randrange(-40, 40) / 10,
                         r.random(), 10 ** r.randrange(0, 19), 1e16, -1e-7,
                         0, 1.0, 2 ** 53 + 2])

    def numeric(self):
        s = {"type": self.r.choice(["integer", "number"])}
        for key in ("minimum", "exclusiveMinimum"):
            if self.maybe(.3):
                s[key] = self.number()
        for key in ("maximum", "exclusiveMaximum"):
            if self.maybe(.3):
                s[key] = self.number()
        if self.maybe(.2):
            s["multipleOf"] = self.r.choice([1, 2, 3, 5, 7, 10, .5, 2.5, 1.0])
        return s

    def string(self):
        s = {"type": "string"}
        k = self.r.randrange(6)
        if k == 0:
            s["format"] = self.r.choice(list(FORMATS))
        elif k < 3:
            s["pattern"] = self.r.choice(PATTERNS)
        if self.maybe(.3):
            s["minLength"] = self.r.randrange(4)
        if self.maybe(.3):
            s["maxLength"] = s.get("minLength", 0) + self.r.randrange(20)
        return s

    def array(self, depth):
        s = {"type": "array"}
        if self.maybe(.3):
            s["prefixItems"] = [self.schema(depth - 1)
                                for _ in range(self.r.randrange(1, 4))]
        if self.maybe(.7):
            s["items"] = self.schema(depth - 1)
        if self.maybe(.3):
            s["minItems"] = self.r.randrange(4)
        if self.maybe(.4):
            s["maxItems"] = s.get("minItems", 0) + self.r.randrange(4)
        if self.maybe(.2):
            s["contains"] = self.r.choice([{"const": 1}, {"type": "string"},
                                           self.scalar()])
            if self.maybe(.5):
                s["minContains"] = self.r.randrange(3)
            if self.maybe(.3):
                s["maxContains"] = s.get("minContains", 1) + self.r.randrange(2)
        if self.maybe(.15):
            s["uniqueItems"] = True
            s.pop("prefixItems", None)
            s.pop("contains", None)
            s["items"] = {"enum": self.r.sample(WORDS, 4) + [1, None, 2.5]}
        if self.maybe(.1) and "items" not in s and UNEVALUATED:
            s["unevaluatedItems"] = False
        return s

    def object(self, depth):
        s = {"type": "object"}
        keys = self.r.sample(KEYS, self.r.randrange(5))
        if self.maybe(.9):
            s["properties"] = {k: self.schema(depth - 1) for k in keys}
        if self.maybe(.5):
            s["required"] = [k for k in keys if self.maybe(.5)]
        if self.maybe(.5):
            s["additionalProperties"] = (False if self.maybe(.6)
                                         else self.schema(depth - 1))
        if self.maybe(.15):
            s["patternProperties"] = {self.r.choice(PATTERNS):
                                      self.schema(depth - 1)}
        if self.maybe(.1):
            s["propertyNames"] = self.r.choice(
                [{"pattern": "^[a-z]"}, {"maxLength": 2}, {"enum": KEYS[:4]},
                 {"not": {"const": "a"}}])
        if self.maybe(.15):
            s["minProperties"] = self.r.randrange(3)
        if self.maybe(.15):
            s["maxProperties"] = s.get("minProperties", 0) + self.r.randrange(4)
        if self.maybe(.1):
            s["dependentRequired"] = {self.r.choice(KEYS):
                                      self.r.sample(KEYS, 2)}
        if self.maybe(.1):
            s["dependentSchemas"] = {self.r.choice(KEYS): self.narrow(depth - 1)}
        if self.maybe(.1) and UNEVALUATED:
            s["unevaluatedProperties"] = False
            s["anyOf"] = [self.narrow(depth - 1), self.narrow(depth - 1)]
        return s

    def narrow(self, depth):
        """A schema of an object that says little."""
        k = self.r.choice(KEYS)
        s = {"properties": {k: self.schema(min(depth, 0))}}
        if self.maybe(.6):
            s["required"] = [k]
        return s

    def scalar(self):
        k = self.r.randrange(8)
        if k == 0:
            return {"enum": [self.value(1) for _ in range(self.r.randrange(1, 6))]}
        if k == 1:
            return {"const": self.value(1)}
        if k == 2:
            return {"type": self.r.choice(["null", "boolean", "string"])}
        if k == 3:
            return {"type": self.r.sample(["null", "boolean", "string",
                                           "integer", "number"], 2)}
        return self.numeric() if k < 6 else self.string()

    def logic(self, depth):
        k = self.r.randrange(7)
        some = [self.schema(depth - 1) for _ in range(self.r.randrange(1, 4))]
        if k == 0:
            return {"anyOf": some}
        if k == 1:
            return {"oneOf": some}
        if k == 2:
            return {"allOf": [self.scalar() if self.maybe(.5)
                              else self.narrow(depth - 1) for _ in range(2)]}
        if k == 3:
            return {**self.scalar(), "not": self.scalar()}
        if k == 4:
            return {"if": self.narrow(depth - 1) if self.maybe(.5)
                    else self.scalar(),
                    "then": some[0], "else": some[-1]}
        if k == 5:
            tag = self.r.choice(KEYS)
            return {"oneOf": [{"type": "object", "required": [tag],
                               "properties": {tag: {"const": i},
                                              "v": self.schema(depth - 2)}}
                              for i in range(len(some))]}
        return {"allOf": [self.object(depth - 1), self.narrow(depth - 1)]}

    def schema(self, depth):
        r = self.r.random()
        if depth <= 0 or r < .35:
            s = self.scalar()
        elif r < .5:
            s = self.array(depth)
        elif r < .78:
            s = self.object(depth)
        elif r < .92:
            s = self.logic(depth)
        elif r < .96 and self.defs:
            s = {"$ref": "#/$defs/" + self.r.choice(self.defs)}
        elif r < .98:
            return True
        else:
            s = {}
        if self.maybe(.1):
            k, v = self.r.choice(ANNOTATIONS)
            s[k] = v
        return s

    def whole(self):
        self.defs = ["n%d" % i for i in range(self.r.randrange(3))]
        s = self.schema(3)
        if self.defs and isinstance(s, dict):
            s["$defs"] = {k: self.schema(2) for k in self.defs}
            # A list of themselves, so that there is recursion.
            s["$defs"]["n0"] = {
                "type": "object", "additionalProperties": False,
                "properties": {"next": {"$ref": "#/$defs/n0"},
                               "v": self.scalar()}}
        return s

    # ---- values ----

    def value(self, depth):
        k = self.r.randrange(8 if depth > 0 else 6)
        if k == 0:
            return self.r.choice([None, True, False])
        if k < 3:
            return self.number()
        if k < 6:
            return self.r.choice(WORDS)
        if k == 6:
            return [self.value(depth - 1) for _ in range(self.r.randrange(4))]
        return {self.r.choice(KEYS): self.value(depth - 1)
                for _ in range(self.r.randrange(4))}

    def like(self, s, root, depth):
        """A value that may satisfy S."""
        r = self.r
        if depth <= 0 or not isinstance(s, dict) or self.maybe(.03):
            return self.value(1)
        if "$ref" in s:
            return self.like(root["$defs"].get(s["$ref"][8:], True), root,
                             depth - 1)
        if "const" in s:
            return s["const"]
        if "enum" in s:
            return r.choice(s["enum"])
        parts = [s.get("then"), s.get("else")]
        for key in ("anyOf", "oneOf"):
            if key in s:
                parts.append(r.choice(s[key]))
        parts += s.get("allOf", []) + [s.get("if")]
        for part in s.get("dependentSchemas", {}).values():
            parts.append(part)
        parts = [p for p in parts if isinstance(p, dict)]
        values = [self.like(p, root, depth - 1) for p in parts if self.maybe(.7)]
        t = s.get("type", None)
        if isinstance(t, list):
            t = r.choice(t)
        if t is None and values and self.maybe(.7):
            if all(isinstance(v, dict) for v in values):
                values.append(self.members(s, root, depth))
                return {k: v for d in values for k, v in d.items()}
            return r.choice(values)
        if t is None:
            t = r.choice(["object", "array"]) if (
                "properties" in s or "items" in s) else None
        if t == "object":
            out = {k: v for d in values if isinstance(d, dict)
                   for k, v in d.items()}
            out.update(self.members(s, root, depth))
            return out
        if t == "array":
            prefix = s.get("prefixItems", [])
            n = min(s.get("minItems", 0) + r.randrange(4),
                    s.get("maxItems", 99))
            if s.get("uniqueItems") and "enum" in s.get("items", {}):
                few = s["items"]["enum"]
                return r.sample(few, min(n, len(few)))
            out = [self.like(prefix[i] if i < len(prefix)
                             else s.get("items", True), root, depth - 1)
                   for i in range(n)]
            if out and "contains" in s:
                for _ in range(s.get("minContains", 1)):
                    out[r.randrange(n)] = self.like(s["contains"], root,
                                                    depth - 1)
            return out
        if t in ("integer", "number"):
            return self.near(s, t)
        if t == "string":
            return self.text(s)
        return {"null": None, "boolean": self.maybe(.5)}.get(t, self.value(1))

    def members(self, s, root, depth):
        r = self.r
        out = {}
        for k, v in s.get("properties", {}).items():
            if k in s.get("required", []) or self.maybe(.5):
                out[k] = self.like(v, root, depth - 1)
        for k in s.get("required", []):
            if k not in out:
                out[k] = self.value(1)
        rest = s.get("additionalProperties", True)
        if rest is not False and self.maybe(.3):
            out[r.choice(KEYS + WORDS)] = self.like(rest, root, depth - 1)
        for v in s.get("patternProperties", {}).values():
            out[r.choice(WORDS + ["x1"])] = self.like(v, root, depth - 1)
        keys = list(out)
        r.shuffle(keys)
        return {k: out[k] for k in keys}

    def near(self, s, t):
        r = self.r
        bounds = [s[k] for k in ("minimum", "maximum", "exclusiveMinimum",
                                 "exclusiveMaximum") if k in s] or [0]
        v = r.choice(bounds) + r.choice([0, 1, -1, .5, -.5, .1, 3, r.random()])
        if "multipleOf" in s and self.maybe(.8):
            v = round(v / s["multipleOf"]) * s["multipleOf"]
        if t == "integer" and self.maybe(.9):
            v = round(v)
            if abs(v) < 1e15 and self.maybe(.2):
                v = float(v)
        return v

    def text(self, s):
        r = self.r
        if "format" in s:
            return r.choice(FORMATS[s["format"]])
        n = r.randrange(s.get("minLength", 0), s.get("maxLength", 12) + 1)
        return r.choice([r.choice(WORDS), "".join(r.choice("abcxo01Aé/")
                                                  for _ in range(n)),
                         "".join(r.choice(WORDS) for _ in range(2))[:n]])


def exact(value, schema):
    """Is a validator that computes in doubles right about these?"""
    if isinstance(value, (list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return all(exact(v, schema) for v in inner)
    return not (isinstance(value, (int, float)) and abs(value) >= 1e15 and
                "multipleOf" in schema)


def main():
    program = sys.argv[1]
    seed, schemas, walks = (int(a) for a in sys.argv[2:5])
    run = subprocess.Popen([program], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    count = Counter()
    refused = Counter()
    slow = []
    for i in range(schemas):
        m = Maker(seed * 1000003 + i)
        schema = m.whole()
        text = json.dumps(schema)
        check = Draft202012Validator(schema, format_checker=CHECKER)
        root = schema if isinstance(schema, dict) else {}
        values = [m.like(schema, root, 5) for _ in range(30)]
        tries = [(v, json.dumps(v, **m.r.choice(SPELLINGS))) for v in values
                 if exact(v, text)]
        ask = {"schema": text, "try": [t for _, t in tries], "walk": walks,
               "seed": i}
        run.stdin.write(json.dumps(ask) + "\n")
        run.stdin.flush()
        answer = json.loads(run.stdout.readline())

        def wrong(why):
            count["wrong"] += 1
            if not count[i] and count["shown"] < 10:
                count["shown"] += 1
                print(f"schema {i}: {text}\n    {why}")
            count[i] += 1

        if "refers to itself" in answer.get("error", ""):
            continue
        if answer.get("code") == "unsupported":
            count["refused"] += 1
            refused[answer["error"].split(": ", 1)[0].rsplit("/", 1)[-1] + ": " +
                    answer["error"].split(": ", 1)[-1][:60]] += 1
            continue
        nothing = "no value satisfies" in answer.get("error", "")
        if "error" in answer and not nothing:
            wrong(answer["error"])
            continue
        count["accepted"] += 1
        took = [False] * len(tries) if nothing else answer["try"]
        slow.append(answer.get("ms", 0))
        for (value, spelled), is_in in zip(tries, took):
            valid = check.is_valid(value)
            count["valid" if valid else "invalid"] += 1
            if valid != is_in:
                wrong(f"{spelled}: {is_in}, not {valid}")
        for out in answer.get("walk", []):
            if out is None:
                wrong("a walk without an end")
                continue
            value = json.loads(out)
            if not exact(value, text):
                continue
            count["walks"] += 1
            if ":60" not in out and not check.is_valid(value):
                wrong(f"made {out}")
    run.stdin.close()
    if "-v" in sys.argv:
        for what, n in refused.most_common():
            print(f"# {n} {what}")
        slow.sort()
        print(f"# ms: median {slow[len(slow) // 2]}, most {slow[-1]}")
    print(f"{count['accepted']} schemas, {count['refused']} refused by name: "
          f"{count['valid']} valid values, {count['invalid']} others, "
          f"{count['walks']} texts made, {count['wrong']} wrong")
    return run.wait() or count["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
