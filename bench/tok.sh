#!/bin/sh
# Tokenizing speed.  BENCH_MODEL: a GGUF (default: smollm2-135m, if pulled);
# BENCH_TEXT: files (default: 10 MB of this machine's documentation);
# BENCH_PYTHON: a python with the peers; BENCH_LLAMA_TOK: llama.cpp's
# llama-tokenize.  With BENCH_ONLY, only where that says tok.
B=${B:-build}
export B
case " ${BENCH_ONLY:-tok} " in
*" tok "*) ;;
*) exit 0 ;;
esac
model=${BENCH_MODEL:-$("$B/bin/gguf-pull" --offline smollm2-135m)} || exit 0
text=$BENCH_TEXT
if [ -z "$text" ]; then
    text=$(mktemp)
    trap 'rm -f "$text"' EXIT
    find /usr/share/doc /usr/share/perl /usr/lib/python3 -type f \
        \( -name '*.txt' -o -name '*.pod' -o -name '*.py' -o -name copyright \) \
        -exec cat {} + | head -c 10000000 >"$text"
fi
# shellcheck disable=SC2086 # several files
"${BENCH_PYTHON:-python3}" bench/tok.py "$model" $text

# A whole process: open the vocabulary, encode five words.
words=$(mktemp)
echo 'one two three four five' >"$words"
python3 - "$B/bin/tok-encode" "$model" "$words" <<'P'
import json, statistics, subprocess, sys, time
t = []
for _ in range(30):
    a = time.perf_counter()
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
    t.append(1e3 * (time.perf_counter() - a))
print(json.dumps({"bench": "tok-start", "model": sys.argv[2].split("/")[-1], "ms": round(statistics.median(t), 2)}))
P
rm -f "$words"
