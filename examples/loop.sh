#!/bin/sh
# loop.sh MODEL [COUNT [SEED]]: continues the text on standard input by separate
# programs.  One has the model and turns tokens into logits, one draws a token
# from each, and tee hands it back to the first through a FIFO.  The text is
# that of
#
#     tok-encode MODEL | llm-decode -n COUNT -s SEED MODEL | tok-decode
#
# and each program of the circle may be replaced by another one.  A FIFO opened
# for both does not wait for its reader, who may have failed.
set -e
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkfifo "$tmp/back"

tok-encode "$1" |
    llm-prefill -q --follow "$tmp/back" "$1" |
    llm-sample -n "${2:-32}" -s "${3:-1}" |
    tee /dev/fd/3 3<>"$tmp/back" |
    tok-decode -m "$1"
