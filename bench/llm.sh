#!/bin/sh
# How fast models run: llm.py says what is measured, llm_target.py what is
# wanted.  BENCH_ONLY: which of decode, prefill, decode-4k, decode-16k, share-4,
# first, busy, kernel and size (all); BENCH_MODELS: GGUFs, names of the
# catalogue, or llama-1b-q4_k_m and llama-1b-q8_0, of random weights, which are
# made in $B/bench (default: both small models, if pulled, and these two);
# BENCH_LLAMA, BENCH_IK: llama-bench of llama.cpp and of ik_llama.cpp, run in
# turns with ours; BENCH_LLAMA_CLI, BENCH_IK_CLI: their llama-completion or
# llama-cli, for first; BENCH_ROUNDS: how often (5); BENCH_THREADS (2);
# BENCH_READ_MB: read so much to measure the memory (four times the last cache).
B=${B:-build}
export B

chosen() {
    [ -z "$BENCH_ONLY" ] && return
    for t in $BENCH_ONLY; do
        for k; do
            [ "$t" != "$k" ] || return 0
        done
    done
    return 1
}

# A model of random weights, with the path that it gets.
shape() {
    f=$B/bench/$1.gguf
    if [ ! -f "$f" ]; then
        mkdir -p "$B/bench"
        echo "making $f" >&2
        "$B/tools/mkshape" llama-1b "${1#llama-1b-}" >"$f.part" && mv "$f.part" "$f" || exit
    fi
    echo "$f"
}

chosen decode prefill decode-4k decode-16k share-4 first busy kernel size || exit 0
models=
if chosen decode prefill decode-4k decode-16k share-4 first busy; then
    for m in ${BENCH_MODELS:-smollm2-135m gemma3-270m llama-1b-q4_k_m llama-1b-q8_0}; do
        case $m in
        llama-1b-q4_k_m | llama-1b-q8_0) m=$(shape "$m") || exit ;;
        *) [ -f "$m" ] || m=$("$B/bin/gguf-pull" --offline "$m") || continue ;;
        esac
        models="$models $m"
    done
fi
# shellcheck disable=SC2086 # a list of files
exec python3 bench/llm.py $models
