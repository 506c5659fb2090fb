#!/bin/sh
# Decode, prefill and start, on real models: whole processes, two threads.
# BENCH_MODELS: GGUFs or names of the catalogue (default: both small models, if
# pulled); BENCH_LLAMA: llama.cpp's llama-bench, run in turns with ours;
# BENCH_ROUNDS: how often (5); BENCH_THREADS (2).
B=${B:-build}
export B
for m in ${BENCH_MODELS:-smollm2-135m gemma3-270m}; do
    [ -f "$m" ] || m=$("$B/bin/gguf-pull" --offline "$m") || continue
    python3 bench/llm.py "$m" || exit
done
