#!/bin/sh
# gguf-quantize beside cp, and beside llama.cpp's llama-quantize where
# BENCH_LLAMA_QUANTIZE names it: BENCH_MODELS (default: llama-1b-q8_0, random
# weights, if it was made), BENCH_ROUNDS (5), BENCH_THREADS (2).  With
# BENCH_ONLY, only where that says quantize.
B=${B:-build}
export B
case " ${BENCH_ONLY:-quantize} " in
*" quantize "*) ;;
*) exit 0 ;;
esac
for m in ${BENCH_MODELS:-llama-1b-q8_0}; do
    f=$B/bench/$m.gguf
    [ -f "$f" ] || f=$m
    [ -f "$f" ] || f=$("$B/bin/gguf-pull" --offline "$m" 2>/dev/null) || continue
    python3 bench/quantize.py "$f" || exit
done
