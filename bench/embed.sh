#!/bin/sh
# llm-embed, and in turns with it llama.cpp's llama-embedding, which
# BENCH_LLAMA_EMBED names.  BENCH_EMBED: GGUFs that embed (default: those of
# BENCH_MODELS, or smollm2-135m, if pulled, by the last token); BENCH_ROUNDS (5),
# BENCH_THREADS (2).  With BENCH_ONLY, only where that says embed.
B=${B:-build}
export B
case " ${BENCH_ONLY:-embed} " in
*" embed "*) ;;
*) exit 0 ;;
esac
for m in ${BENCH_EMBED:-${BENCH_MODELS:-smollm2-135m}}; do
    [ -f "$m" ] || m=$("$B/bin/gguf-pull" --offline "$m" 2>/dev/null) || continue
    python3 bench/embed.py "$m" || exit
done
