#!/bin/sh
# llm-spec beside llm-decode, in turns: texts that repeat and one that does not,
# by drafter.  BENCH_MODELS: GGUFs or names of the catalogue (default:
# smollm2-135m, if pulled); BENCH_DRAFT: a smaller model for the drafter
# "model" (the model itself); BENCH_ROUNDS (5), BENCH_THREADS (2).  With
# BENCH_ONLY, only where that says spec.
B=${B:-build}
export B
case " ${BENCH_ONLY:-spec} " in
*" spec "*) ;;
*) exit 0 ;;
esac
for m in ${BENCH_MODELS:-smollm2-135m}; do
    [ -f "$m" ] || m=$("$B/bin/gguf-pull" --offline "$m" 2>/dev/null) || continue
    python3 bench/spec.py "$m" || exit
done
