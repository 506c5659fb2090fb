#!/bin/sh
# probabilities.sh MODEL [FILE]: continues a text with the most probable tokens,
# one to a line: id, text, its probability, and the one that came second.  Then
# the perplexity of the answer, exp of the mean of -log p.
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

tok-encode "$@" |
    llm-decode -q --temp 0 -n "${COUNT:-16}" --logprobs 2 -f json "$1" >"$tmp/out" ||
    exit

# The stream has the ids of second tokens, not their text: each becomes a
# sequence of its own, which tok-decode makes a line of.
jq -nc '[inputs | select(.t == "tokens").top[0][1][0]] |
    to_entries[] | {t: "tokens", s: .key, ids: [.value]}' "$tmp/out" |
    tok-decode -J --special -m "$1" >"$tmp/second"
jq -rn --slurpfile out "$tmp/out" --slurpfile second "$tmp/second" '
    def cell: (.text // .text64) | tojson;
    def percent: exp * 1000 | round / 10 | tostring + "%";
    [$out[] | select(.t == "tokens")] | to_entries[] |
    .key as $i | .value |
    [.ids[0], cell, (.lp[0] | percent),
     ($second[$i] | cell), (.top[0][1][1] | percent)] | join("\t")'
jq -rs 'map(select(.t == "tokens").lp[]) |
    "perplexity \(-(add / length) | exp * 1000 | round / 1000)"' "$tmp/out"
