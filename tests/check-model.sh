#!/bin/bash
# shellcheck disable=SC2094 # cmp reads what it compares with
# Tests on real models, which gguf-pull fetches into its cache: their files are
# sound; tokens are those that Hugging Face's tokenizers and Google's
# sentencepiece make (tests/data/model-tokens.jsonl); text comes through the
# pipe unchanged; scores and answers are as near to golden ones as tests/tools/
# oracle.py says, and the same bits however they are computed.  MODELS are those
# to test.  The last line is "N passed, N failed".
B=${B:-build}
PATH=$PWD/$B/bin:$PATH
set -o pipefail
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
pass=0 fail=0

# The figures that a check prints begin with "# ".
check() {
    local name=$1
    shift
    if "$@" >"$tmp/out" 2>&1; then
        echo "ok - $name"
        grep '^# ' "$tmp/out"
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

# The prompt of 68 tokens whose answer is golden, and more of that answer.
golden() { jq -c "{prompt: (.tokens + .greedy[:$2])}" "tests/data/$1.json"; }
python=python3
"$python" -c 'import cbor2' 2>/dev/null || python=/usr/bin/python3
oracle() {
    golden "$1" 24 | tok-encode -J "$1" |
        llm-prefill -q --all-logits --no-kv "$1" >"$tmp/logits" &&
        golden "$1" 6 | tok-encode -J "$1" |
        llm-decode -q --temp 0 -n 18 -f json "$1" >"$tmp/answer" &&
        "$python" tests/tools/oracle.py "tests/data/$1.json" "$tmp/logits" "$tmp/answer" |
        sed 's/^/# /'
}

# What prefill makes of the prompt: logits, and K and V of every layer.
state() {
    golden "$1" 24 | tok-encode -J "$1" | llm-prefill -q "${@:2}" "$1"
}
same_state() { state "$@" | cmp - "$tmp/state"; }
same_level() { LLM_CPU=$2 same_state "$1"; }
# From the state of the first 40 tokens, in a file, to that of all.
restored() {
    golden "$1" 24 | jq -c '{prompt: .prompt[:40]}' | tok-encode -J "$1" |
        llm-prefill -q --kv-out "$tmp/part" "$1" >"$tmp/none" &&
        kv-dump --check "$tmp/part" &&
        kv-dump --zstd "$tmp/part" | kv-dump --no-zstd | cmp - "$tmp/part" &&
        golden "$1" 24 | tok-encode -J "$1" |
        llm-prefill --kv-in "$tmp/part" "$1" 2>"$tmp/notes" | cmp - "$tmp/state" &&
        grep '40 of 92 tokens reused' "$tmp/notes" &&
        kv-dump --cut 40 "$tmp/state" | kv-dump --diff "$tmp/part"
}
piped() {
    golden "$1" 6 | tok-encode -J "$1" | llm-prefill -q --zstd "$1" |
        llm-decode -q --temp 0 -n 18 -f json "$1" | cmp - "$tmp/answer"
}
circle() {
    sh examples/loop.sh "$1" 16 5 <"$tmp/prompt" >"$tmp/circle" &&
        tok-encode "$1" "$tmp/prompt" | llm-decode -q -n 16 -s 5 "$1" |
        tok-decode | cmp - "$tmp/circle"
}
# 20 requests, half of them drawn, 16 together and one by one.
batch() {
    sh examples/batch.sh "$1" "$tmp/requests" 2>"$tmp/times" >"$tmp/answers" &&
        sed 's/^/# /' "$tmp/times" && [ "$(sort -u "$tmp/answers" | wc -l)" -gt 10 ]
}

echo 'The capital of France is' >"$tmp/prompt"
seq 20 | jq -c '{prompt: "The number \(.) is"} +
    if . % 2 == 0 then {seed: ., temp: 1} else {} end' >"$tmp/requests"
levels=ref
case $(uname -m) in
x86_64) levels='ref avx2 avx512' ;;
aarch64) levels='ref neon dotprod' ;;
esac
# sentencepiece takes U+2581 in text for a space.
jq -r '.text | select(contains("\u2581") | not)' "$expected" >"$tmp/mixed"
cat cmd/*/*.c lib/*/*.c >"$tmp/code"
# SmolLM2 has no token for some bytes that no character has, such as \377.
printf 'caf\303 \200\200 \342\202 \360\237\232\n' >"$tmp/malformed"
for m in ${MODELS:-smollm2-135m gemma3-270m}; do
    check "$m is fetched" gguf-pull "$m"
    check "$m: its file is sound" gguf-inspect --check -q "$m"
    check "$m: tokens of $(wc -l <"$expected") strings" tokens "$m"
    check "$m: how many they are" counts "$m"
    for f in README.md "$tmp/mixed" "$tmp/code" "$tmp/malformed"; do
        check "$m: ${f##*/} comes back" text "$m" "$f"
    done
    check "$m: tok-decode needs no model" away "$m"
    check "$m: perplexity, scores and answer beside golden ones" oracle "$m"
    state "$m" >"$tmp/state"
    check "$m: the state is whole" kv-dump --check "$tmp/state"
    for n in 1 2 3; do
        check "$m: the same logits and state with $n threads" same_state "$m" -t $n
    done
    for n in 1 7 64; do
        check "$m: ... read in parts of $n" same_state "$m" --chunk $n
    done
    for l in $levels; do
        check "$m: ... with the instructions of $l" same_level "$m" "$l"
    done
    check "$m: ... from the weights as the file has them" same_state "$m" --no-pack
    check "$m: ... from a state in a file" restored "$m"
    check "$m: the same answer from a state in a pipe" piped "$m"
    check "$m: ... from separate programs" circle "$m"
    check "$m: the same answers from 16 at once and one by one" batch "$m"
done
echo "$pass passed, $fail failed"
[ "$fail" -eq 0 ]
