#!/bin/bash
# shellcheck disable=SC2094 # cmp reads what it compares with
# Tests on real models, which gguf-pull fetches into its cache: their files are
# sound; tokens are those that Hugging Face's tokenizers and Google's
# sentencepiece make (tests/data/model-tokens.jsonl); text comes through the
# pipe unchanged.  The last line is "N passed, N failed".
B=${B:-build}
PATH=$PWD/$B/bin:$PATH
set -o pipefail
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
pass=0 fail=0

check() {
    local name=$1
    shift
    if "$@" >"$tmp/out" 2>&1; then
        echo "ok - $name"
        pass=$((pass + 1))
    else
        echo "not ok - $name"
        head -n 20 "$tmp/out"
        fail=$((fail + 1))
    fi
}

expected=tests/data/model-tokens.jsonl
tokens() {
    jq -c --arg m "$1" '.[$m]' "$expected" >"$tmp/want"
    jq -c '{prompt: .text}' "$expected" |
        tok-encode -J -f json --no-bos "$1" |
        jq -sc '[.[] | select(.t == "tokens")] | group_by(.s)[] | map(.ids) | add' \
            >"$tmp/got"
    diff "$tmp/want" "$tmp/got"
}
counts() {
    jq -r --arg m "$1" '.[$m] | length' "$expected" >"$tmp/want"
    jq -c '{prompt: .text}' "$expected" | tok-encode -J -c --no-bos "$1" >"$tmp/got"
    diff "$tmp/want" "$tmp/got"
}
text() { tok-encode "$1" <"$2" | tok-decode | cmp - "$2"; }
away() {
    # Where there is no model, and no path to one.
    tok-encode "$1" <README.md |
        (cd "$tmp" && LLM_CACHE=$tmp/none tok-decode) | cmp - README.md
}

# sentencepiece takes U+2581 in text for a space.
jq -r '.text | select(contains("\u2581") | not)' "$expected" >"$tmp/mixed"
cat cmd/*/*.c lib/*/*.c >"$tmp/code"
# SmolLM2 has no token for some bytes that no character has, such as \377.
printf 'caf\303 \200\200 \342\202 \360\237\232\n' >"$tmp/malformed"
for m in smollm2-135m gemma3-270m; do
    check "$m is fetched" gguf-pull "$m"
    check "$m: its file is sound" gguf-inspect --check -q "$m"
    check "$m: tokens of $(wc -l <"$expected") strings" tokens "$m"
    check "$m: how many they are" counts "$m"
    for f in README.md "$tmp/mixed" "$tmp/code" "$tmp/malformed"; do
        check "$m: ${f##*/} comes back" text "$m" "$f"
    done
    check "$m: tok-decode needs no model" away "$m"
done
echo "$pass passed, $fail failed"
[ "$fail" -eq 0 ]
