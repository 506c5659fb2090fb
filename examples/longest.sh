#!/bin/sh
# longest.sh MODEL REQUESTS.jsonl: which of many requests has the longest
# prompt.  Each line of REQUESTS.jsonl is an object with "prompt".
tok-encode -J -f json "$1" <"$2" |
    jq -s 'map(select(.t == "tokens")) | group_by(.s) |
           map({line: (.[0].s + 1), tokens: (map(.ids | length) | add)}) |
           max_by(.tokens)' -c
