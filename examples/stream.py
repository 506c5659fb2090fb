#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read and write token streams in Python; llm-stream(5) describes them.

    stream.py [file]              a line for each record
    stream.py --text [file]       the text alone
    stream.py --write [id ...]    a stream of one sequence with these tokens;
                                  ids are read from standard input, if none
        --text-of TEXT            ... and this text
        --vocab DIGEST            ... under this vocabulary

It needs only the public package cbor2, and nothing of llmutils: a stream is
CBOR, and its arrays of numbers are tagged as RFC 8746 says.
"""
import argparse
import array
import struct
import sys

import cbor2

# The typed arrays of RFC 8746 that are little-endian or of single bytes, and
# what array calls their elements.  It knows no 16-bit floats (84).
TYPED = {64: "B", 69: "H", 70: "I", 71: "Q", 72: "b", 77: "h", 78: "i",
         79: "q", 85: "f", 86: "d"}
SELF_DESCRIBED = 55799


def numbers(value):
    """The list of numbers in a typed or a plain array."""
    if not isinstance(value, cbor2.CBORTag):
        return list(value)
    if value.tag == 84:
        return list(struct.unpack("<%de" % (len(value.value) // 2),
                                  value.value))
    a = array.array(TYPED[value.tag], value.value)
    if sys.byteorder == "big":
        a.byteswap()
    return a.tolist()


def typed(tag, values):
    """A typed array of these numbers; tag is 70 for ids, 85 for floats."""
    a = array.array(TYPED[tag], values)
    if sys.byteorder == "big":
        a.byteswap()
    return cbor2.CBORTag(tag, a.tobytes())


def records(fp):
    """Each record of the buffered binary file FP as a dict."""
    # A clean end is one before a record, not inside it.
    while fp.peek(1):
        try:
            record = cbor2.load(fp)
        except cbor2.CBORDecodeEOF as e:
            raise ValueError("the stream ends inside a record") from e
        if isinstance(record, cbor2.CBORTag) and record.tag == SELF_DESCRIBED:
            record = record.value
        # Inside a tag some versions of cbor2 make maps that cannot change.
        if not hasattr(record, "keys") or not {"t", "llm"} & record.keys():
            raise ValueError("not a record: %.60r" % (record,))
        yield dict(record)


def write(fp, record, header=False):
    """Write one record, in the deterministic encoding."""
    if header:
        record = cbor2.CBORTag(SELF_DESCRIBED, record)
    fp.write(cbor2.dumps(record, canonical=True))
    fp.flush()


def show(record):
    """One line for people."""
    if "llm" in record:
        model = record.get("model", {})
        return "header: version %s, by %s, model %s, vocabulary %s" % (
            record["llm"], record.get("by"),
            model.get("name", model.get("path")), model.get("vocab"))
    kind, seq = record["t"], record.get("s", 0)
    if kind == "tokens":
        text = record.get("text")
        return "%s %s: %s %r" % (kind, seq, numbers(record["ids"]), text)
    if kind == "logits":
        v = numbers(record["v"])
        best = max(range(len(v)), key=v.__getitem__) if v else None
        return "%s %s: position %s, %d scores, best %s" % (
            kind, seq, record.get("pos"), len(v), best)
    rest = {k: v for k, v in record.items() if k not in ("t", "s")}
    return "%s %s: %s" % (kind, seq, rest)


def main():
    arg = argparse.ArgumentParser(
        description="read and write token streams (llm-stream(5))")
    arg.add_argument("--write", action="store_true",
                     help="make a stream from token ids")
    arg.add_argument("--text", action="store_true",
                     help="write the text alone")
    arg.add_argument("--text-of", metavar="TEXT",
                     help="with --write: the tokens' text")
    arg.add_argument("--vocab", metavar="DIGEST",
                     help="with --write: the vocabulary's digest")
    arg.add_argument("what", nargs="*", help="a file, or token ids")
    opt = arg.parse_args()

    if opt.write:
        ids = [int(i) for i in opt.what or sys.stdin.read().split()]
        out = sys.stdout.buffer
        model = {"vocab": opt.vocab} if opt.vocab else {}
        write(out, {"llm": 1, "by": "stream.py", "model": model}, True)
        record = {"t": "tokens", "s": 0, "ids": typed(70, ids)}
        if opt.text_of is not None:
            record["text"] = opt.text_of.encode("utf-8", "surrogateescape")
        write(out, record)
        write(out, {"t": "end", "s": 0, "why": "input",
                    "usage": {"tokens": len(ids)}})
        return
    fp = open(opt.what[0], "rb") if opt.what else sys.stdin.buffer
    for record in records(fp):
        if not opt.text:
            print(show(record), flush=True)
        elif record.get("t") == "tokens":
            sys.stdout.buffer.write(record.get("text", b""))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, OverflowError) as error:
        sys.exit("stream.py: %s" % error)
