#!/bin/sh
# search.sh MODEL QUERY FILE...: the lines of files that are nearest to a query,
# each after how near it is.  Vectors of lines are kept beside their file, as
# bytes, until the file changes.  TOP (5) is how many lines to tell; PREFIX and
# QUERY_PREFIX are what the model wants before a line and before the query.
model=$1 query=$2
shift 2
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT

for f in "$@"; do
    [ -n "$(find "$f.vec" -newer "$f" 2>/dev/null)" ] ||
        llm-embed -q -L --prefix "$PREFIX" --dtype int8 -o "$f.vec" "$model" "$f" || exit
done
awk 1 "$@" >"$lines"
for f in "$@"; do
    set -- "$@" "$f.vec"
    shift
done
llm-embed -q -f text --query-prefix "$QUERY_PREFIX" --similar "$query" \
    --top "${TOP:-5}" "$model" "$@" |
    while read -r near index; do
        printf '%.3f  ' "$near"
        sed -n "$((index + 1))p" "$lines"
    done
