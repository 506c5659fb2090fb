#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Render the templates of tests/data/jinja.txt with Python's jinja2, set up as
the package transformers does, for tests/unit/jinja.c.

usage: mkjinja.py <tests/data/jinja.txt >tests/data/jinja.json

A template is a line; \\n in it is a newline, and # begins a comment.
"""
import json
import sys
from datetime import datetime

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTEXT = {
    "s": "Hello World", "e": "", "u": "Zürich 😀 ñ", "n": 7, "z": 0, "neg": -3, "f": 2.5,
    "t": True, "no": None, "l": [3, 1, 2], "ls": ["b", "a", "C"], "el": [],
    "d": {"b": 1, "a": "x", "c": [1, {"k": None}]},
    "m": [{"role": "user", "content": "hi", "n": 1},
          {"role": "assistant", "content": "yo", "n": 2, "tool_calls": [{"name": "f", "arguments": {"x": 1}}]},
          {"role": "user", "content": "bye", "n": 3}],
    "html": "<b>\"q\" & 'r'</b>", "nl": "a\nb\n\nc", "words": "the quick brown fox jumps over",
}


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(lineno)

    def _render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda form: datetime(2026, 3, 5, 7, 8, 9).strftime(form)

cases = []
for line in sys.stdin:
    line = line.rstrip("\n")
    if not line or line.startswith("# "):
        continue
    source = line.replace("\\n", "\n").replace("\\\n", "\\n")
    case = {"t": source}
    try:
        case["expect"] = env.from_string(source).render(**CONTEXT)
    except Exception as e:  # whatever Python raises is the expected value
        case["error"] = f"{type(e).__name__}: {e}"
    cases.append(case)
print('{"source": "jinja2 %s, by tests/tools/mkjinja.py",' % jinja2.__version__)
print('"context": ' + json.dumps(CONTEXT, ensure_ascii=False) + ",")
print('"cases": [')
print(",\n".join(json.dumps(c, ensure_ascii=False) for c in cases))
print("]}")
