#!/bin/sh
# prefix-cache.sh MODEL PREFIX QUESTIONS: continues the text of the file PREFIX
# with each line of QUESTIONS, each time in a new process.  All but the first
# find the prefix in a cache; a line says how many tokens of the prompt that
# were, and when the first token of the answer came.  Whole pages of 64 tokens
# are kept, so the prefix should have more than that.
set -e
model=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

while read -r question; do
    { cat "$2"; printf '%s\n' "$question"; } | tok-encode "$model" |
        llm-decode -q --cache "$tmp/cache" --timings --temp 0 -n 16 \
            -f json "$model" >"$tmp/answer"
    jq -r --arg q "$question" 'select(.t == "end") |
        "\(.usage.reused // 0) of \(.usage.prompt) tokens reused, first after \(
        .time.first * 1000 | round) ms: \($q)"' "$tmp/answer"
    tok-decode -L "$tmp/answer"
done <"$3"
