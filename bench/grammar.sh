#!/bin/sh
# Masks of allowed tokens for a schema of 20 properties, ours and those of the
# peers that BENCH_PYTHON can import (llguidance, xgrammar; with them numpy and
# gguf).  BENCH_VOCAB: a GGUF with a large vocabulary, a byte-level BPE (default:
# smollm2-135m, if pulled).  With BENCH_ONLY, only where that says grammar.
B=${B:-build}
case " ${BENCH_ONLY:-grammar} " in
*" grammar "*) ;;
*) exit 0 ;;
esac
model=${BENCH_VOCAB:-$("$B/bin/gguf-pull" --offline smollm2-135m)} || exit 0
"${BENCH_PYTHON:-python3}" bench/grammar.py "$model" "$B/tools" "$B/bin"
