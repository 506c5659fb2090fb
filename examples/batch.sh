#!/bin/sh
# batch.sh MODEL REQUESTS.jsonl: the same requests answered twice, by a process
# for each, as many at a time as there are processors, and by one process that
# continues 16 of them together.  The answers, one to a line, must be the same;
# the seconds are on standard error.
#
# A request is an object with "prompt".  One that is not greedy has its own
# "seed" and "temp": then its draws don't depend on where it stands.
set -e
model=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
now() { date +%s%N; }
took() { echo "$1 $2 $3" | awk '{ printf "%-16s %6.2f s\n", $1, ($3 - $2) / 1e9 }' >&2; }

split -l 1 -a 4 "$2" "$tmp/r."
from=$(now)
# shellcheck disable=SC2016 # the inner shell's
printf '%s\n' "$tmp"/r.???? | xargs -P "$(nproc)" -n 1 sh -c '
    tok-encode -J "$0" "$1" | llm-decode -q -t 1 --temp 0 -n 32 "$0" |
        tok-decode -L -e >"$1.answer"' "$model"
took xargs "$from" "$(now)"
cat "$tmp"/*.answer >"$tmp/one-by-one"

from=$(now)
tok-encode -J "$model" "$2" | llm-decode -q -b 16 --temp 0 -n 32 "$model" |
    tok-decode -L -e >"$tmp/together"
took 'llm-decode-b-16' "$from" "$(now)"

cmp "$tmp/one-by-one" "$tmp/together"
cat "$tmp/together"
