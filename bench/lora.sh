#!/bin/sh
# llm-decode with an adapter of rank 16 on every matrix, in turns with none:
# BENCH_MODELS (default: smollm2-135m, if pulled), BENCH_ROUNDS (5),
# BENCH_THREADS (2).  With BENCH_ONLY, only where that says lora.
B=${B:-build}
export B
case " ${BENCH_ONLY:-lora} " in
*" lora "*) ;;
*) exit 0 ;;
esac
for m in ${BENCH_MODELS:-smollm2-135m}; do
    f=$B/bench/$m.gguf
    [ -f "$f" ] || f=$m
    [ -f "$f" ] || f=$("$B/bin/gguf-pull" --offline "$m" 2>/dev/null) || continue
    python3 bench/lora.py "$f" || exit
done
