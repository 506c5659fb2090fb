#!/bin/sh
# count.sh MODEL FILE...: how many tokens each file has, the largest first, on
# all processors.
model=$1
shift
printf '%s\0' "$@" |
    xargs -0 -P "$(nproc)" -n 1 sh -c \
        'printf "%8d %s\n" "$(tok-encode -c --no-bos "$0" "$1")" "$1"' "$model" |
    sort -rn
