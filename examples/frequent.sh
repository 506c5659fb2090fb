#!/bin/sh
# frequent.sh MODEL [FILE]: the tokens that a text has most often, with their
# ids, from the stream's JSON form.
tok-encode -f json --no-bos "$@" |
    jq -r 'select(.t == "tokens") | .ids[]' |
    sort -n | uniq -c | sort -k 1,1nr -k 2,2n | head -n 10 |
    while read -r count id; do
        printf '%6d %6d  %s\n' "$count" "$id" "$(
            printf '{"t":"tokens","ids":[%d]}\n' "$id" |
                tok-decode -J --special -m "$1" | jq -c '.text // .text64'
        )"
    done
